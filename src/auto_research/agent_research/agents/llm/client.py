"""Asks the model: retries with backoff, charges every attempt, records and replays.

A reply is charged alike whether it comes from the server or from a record.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

from auto_research.agent_research.agents.llm.context import Message, estimate
from auto_research.agent_research.agents.llm.options import Options
from auto_research.agent_research.agents.llm.record import (
    Answer,
    Failure,
    Record,
    Request,
    key_of,
)
from auto_research.agent_research.agents.llm.server import Failed, ModelServer, Refused
from auto_research.agent_research.budget import Meter
from auto_research.errors import BudgetExceeded, RunStopped

RESUME = "the same command with --resume goes on from the last finished episodes"


class Asks(Protocol):
    """What the agent asks: the `Client` of a server, or an engine in this process."""

    def ask(self, messages: Sequence[Message], seed: int, meter: Meter) -> Answer:
        """The model's answer, charged to `meter`. Raises BudgetExceeded."""

    def close(self) -> None:
        """Let go of what it holds; it is opened again when needed."""


@dataclass(frozen=True, slots=True)
class Patience:
    """How often a request is sent and how long to wait in between: `first` seconds, then double."""

    attempts: int = 6
    first: float = 1.0
    longest: float = 60.0
    sleep: Callable[[float], None] = time.sleep

    def wait(self, failures: int, after: float | None) -> None:
        """Wait before the next attempt: as long as the server asks, within `longest`."""
        wanted = self.first * 2.0 ** (failures - 1) if after is None else after
        self.sleep(min(wanted, self.longest))


@dataclass
class Client:
    """Asks one model."""

    options: Options
    server: ModelServer
    patience: Patience = field(default_factory=Patience)
    record: Record | None = None

    def ask(self, messages: Sequence[Message], seed: int, meter: Meter) -> Answer:
        """The model's answer; every attempt that it took is charged.

        Raises BudgetExceeded before anything is sent; RunStopped if no attempt brings a reply, the
        server refuses, or a replayed file does not hold the request.
        """
        request: Request = {
            "model": self.options.model,
            "messages": [dict(message) for message in messages],
            "temperature": self.options.temperature,
            "max_tokens": self.options.max_tokens,
            "seed": seed,
        }
        afford(meter, estimate(messages) + self.options.max_tokens)
        key = key_of(request)
        answer = self.record.get(key) if self.record is not None else None
        if answer is not None:
            for failure in answer.failures:
                charge(meter, failure.tokens)
            charge(meter, answer.tokens, answer.generated)
            return answer
        if self.options.replay is not None:
            raise RunStopped(
                "the file holds no reply to a request of this run",
                where=str(self.options.replay),
                mend="replay with the command, plugins and version that recorded it",
            )
        answer = self._asked(request, messages, meter)
        if self.record is not None:
            self.record.add(key, answer)
        return answer

    def close(self) -> None:
        """Let go of the connection; it is opened again when needed."""
        self.server.close()

    def _asked(self, request: Request, messages: Sequence[Message], meter: Meter) -> Answer:
        failures: list[Failure] = []
        for number in range(1, self.patience.attempts + 1):
            try:
                answer = self.server.ask(request)
            except Failed as error:
                why = error.why
                if error.sent:  # a call that no server ever heard is none
                    failures.append(Failure(why, estimate(messages) if error.reached else 0))
                    charge(meter, failures[-1].tokens)
                if number < self.patience.attempts:
                    self.patience.wait(number, error.after)
                continue
            except Refused as error:
                charge(meter, 0)
                raise RunStopped(
                    f"the model server refuses: {error}", where=self.options.server(), mend=RESUME
                ) from None
            if answer.estimated:
                spoken = estimate([{"role": "assistant", "content": answer.text}])
                answer = replace(answer, tokens=estimate(messages) + spoken, generated=spoken)
            charge(meter, answer.tokens, answer.generated)
            return replace(answer, failures=tuple(failures))
        raise RunStopped(
            f"the model server gave no reply in {self.patience.attempts} attempts: {why}",
            where=self.options.server(),
            mend=RESUME,
        )


def afford(meter: Meter, tokens: int) -> None:
    """Raises BudgetExceeded if a call of so many tokens, prompt and reply, might pass a cap."""
    caps = meter.budget.caps()
    for resource, amount in (("model_calls", 1), ("tokens", tokens)):
        spent = meter.totals[resource]
        if resource in caps and spent + amount > caps[resource]:
            raise BudgetExceeded(resource, amount, spent, caps[resource])


def charge(meter: Meter, tokens: int, generated: int = 0) -> None:
    """One call; where an estimate was too low, or a call had to be repeated, up to the caps."""
    caps = meter.budget.caps()
    for resource, amount in (("model_calls", 1), ("tokens", tokens), ("generated", generated)):
        left = caps.get(resource, 10**12) - meter.totals[resource]
        meter.totals[resource] += min(amount, left)
