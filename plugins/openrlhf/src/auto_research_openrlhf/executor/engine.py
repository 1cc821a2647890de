"""The engine's token-level generation, called from the thread of a chain."""

from __future__ import annotations

import asyncio
import concurrent.futures
import copy
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from auto_research.errors import AutoResearchError


class EngineFault(AutoResearchError):
    """The engine failed or gave no reply in time; the episode cannot go on."""


@dataclass(frozen=True, slots=True)
class Reply:
    """What the engine generated. `ids` are as they came; `log_probs` has one entry for each.

    `cut`: the reply reached its limit.
    """

    ids: tuple[int, ...]
    text: str
    log_probs: tuple[float, ...]
    cut: bool


@dataclass(frozen=True)
class Engine:
    """One prompt's view of the engine, which lives in the event loop `loop`.

    `params` are shared by all siblings and so never changed: each call takes a copy. `seconds` is
    how long one reply may take.
    """

    loop: asyncio.AbstractEventLoop
    engine: Any
    params: Any
    seconds: float = 600.0

    @property
    def wants_log_probs(self) -> bool:
        """Whether the trainer asked for the log-probabilities of the rollout."""
        return getattr(self.params, "logprobs", None) is not None

    def generate(self, ids: Sequence[int], limit: int) -> Reply:
        """At most `limit` tokens after `ids`. Not for the loop's own thread.

        Raises EngineFault.
        """
        params = copy.deepcopy(self.params)
        params.max_tokens = limit
        asked = asyncio.run_coroutine_threadsafe(self.engine.generate(list(ids), params), self.loop)
        try:
            output = asked.result(self.seconds).outputs[0]
            found = tuple(int(i) for i in output.token_ids)
            return Reply(
                ids=found,
                text=output.text,
                log_probs=_log_probs(found, output.logprobs),
                cut=output.finish_reason == "length",
            )
        except concurrent.futures.TimeoutError:
            asked.cancel()
            raise EngineFault(f"the engine gave no reply in {self.seconds:.0f} seconds") from None
        except (Exception, concurrent.futures.CancelledError) as error:
            raise EngineFault(f"the engine failed: {type(error).__name__}: {error}") from error


def _log_probs(ids: Sequence[int], told: Any) -> tuple[float, ...]:
    """Of each token, as the engine tells them by token; 0 where it does not."""
    if told is None:
        return (0.0,) * len(ids)
    found = (step.get(i) if step else None for i, step in zip(ids, told, strict=True))
    return tuple(0.0 if entry is None else float(entry.logprob) for entry in found)
