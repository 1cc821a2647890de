"""The agent `llm` over an engine: what the model reads and says in an attempt, token by token.

An attempt is one sequence: the opening, then reply and answer in turn, each reply verbatim. So
nothing of it is ever left out; where its context is full, it ends.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from auto_research.agent_research.agents.base import Attempt, Session
from auto_research.agent_research.agents.llm.agent import LlmAgent
from auto_research.agent_research.agents.llm.client import afford, charge
from auto_research.agent_research.agents.llm.context import Message
from auto_research.agent_research.agents.llm.options import Limits, Options
from auto_research.agent_research.agents.llm.record import Answer
from auto_research.agent_research.budget import Meter
from auto_research.agent_research.operators import EditRequest
from auto_research.agent_research.skill import Skill
from auto_research.benchmarks.base import Environment, Task
from auto_research.errors import BudgetExceeded
from auto_research_openrlhf.executor.chat import Chat
from auto_research_openrlhf.executor.engine import Engine, EngineFault, Reply

_NEVER_TRIMMED = 10**9  # tokens: the agent's own estimate of what fits is not asked


@dataclass
class Talk:
    """One attempt's tokens. `ranges` are the places of the replies, each from start to end.

    `log_probs` has one entry a token, 0 for those that were not sampled. `full`: it ended because
    its context was full, or in a reply that reached its limit. `refused` is a prompt that was too
    long to be asked.
    """

    ids: list[int] = field(default_factory=list)
    ranges: list[tuple[int, int]] = field(default_factory=list)
    log_probs: list[float] = field(default_factory=list)
    full: bool = False
    refused: list[int] = field(default_factory=list)

    def add(self, prompt: Sequence[int], reply: Reply) -> None:
        """Take in a reply to `prompt`, which goes on from what there is."""
        told = len(prompt) - len(self.ids)
        self.ids = [*prompt, *reply.ids]
        self.log_probs += [0.0] * told + list(reply.log_probs)
        self.full = reply.cut
        if reply.ids:
            self.ranges.append((len(prompt), len(self.ids)))

    @property
    def last(self) -> list[int]:
        """The last reply."""
        start, end = self.ranges[-1] if self.ranges else (0, 0)
        return self.ids[start:end]


class TalkClient:
    """Asks the engine for one chain, and keeps what is said in its attempts, by meter's stream.

    What is asked outside of an attempt, to write a skill, is answered and charged but not kept.
    """

    def __init__(self, engine: Engine, chat: Chat, context: int, per_turn: int) -> None:
        self._engine, self._chat = engine, chat
        self._context, self._per_turn = context, per_turn
        self.talks: dict[str, Talk] = {}
        self._talk: Talk | None = None

    @contextmanager
    def attempt(self, stream: str) -> Iterator[None]:
        """Inside, all that is asked belongs to the attempt of that name."""
        self._talk = self.talks[stream] = Talk()
        try:
            yield
        finally:
            self._talk = None

    def ask(self, messages: Sequence[Message], seed: int, meter: Meter) -> Answer:
        """The engine's reply. Chance is the engine's own: `seed` is not used.

        Raises BudgetExceeded where the context is full or a cap is reached, and EngineFault.
        """
        talk = self._talk
        prompt = self._prompt(messages, talk)
        room = self._context - len(prompt)
        if room < 1:
            if talk is not None:
                talk.full, talk.refused = True, prompt
            raise BudgetExceeded("tokens of context", 1, len(prompt), self._context)
        limit = min(self._per_turn, room)
        afford(meter, len(prompt) + limit)
        try:
            reply = self._engine.generate(prompt, limit)
        except EngineFault:
            charge(meter, len(prompt))
            raise
        charge(meter, len(prompt) + len(reply.ids), len(reply.ids))
        if talk is not None:
            talk.add(prompt, reply)
        text = self._chat.words(reply.text).encode(errors="replace").decode()
        return Answer(text, len(prompt) + len(reply.ids), len(reply.ids), cut=reply.cut)

    def close(self) -> None:
        """The engine is not this client's."""

    def _prompt(self, messages: Sequence[Message], talk: Talk | None) -> list[int]:
        if talk is None or not talk.ids:
            return self._chat.opening(messages)
        return [*talk.ids, *self._chat.after(messages, talk.last)]


class TalkAgent:
    """The agent `llm` with its attempts kept as tokens."""

    name = "llm"
    reads_answers = False

    def __init__(self, client: TalkClient, limits: Limits) -> None:
        self._client = client
        options = Options(model="engine", context_tokens=_NEVER_TRIMMED)
        self._llm = LlmAgent(options, limits, client=client)

    def session(self, task: Task, meter: Meter) -> Session:
        """Begin work on a task."""
        return _Kept(self._llm.session(task, meter), self._client, meter.stream)

    def close(self) -> None:
        """End the sandbox, if there was need of one."""
        self._llm.close()


@dataclass(frozen=True)
class _Kept:
    inner: Session
    client: TalkClient
    stream: str

    def fit(self, skill: Skill) -> float:
        return self.inner.fit(skill)

    def attempt(self, skills: Sequence[Skill], world: Environment | None = None) -> Attempt:
        with self.client.attempt(self.stream):
            return self.inner.attempt(skills, world)

    def write(self, request: EditRequest) -> Sequence[Skill]:
        return self.inner.write(request)
