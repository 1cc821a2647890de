"""What happens in an attempt, as it goes: the plan, what showed something, uses, the transcript."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from auto_research.agent_research.agents.search.advice import Counsel
from auto_research.agent_research.agents.search.forward import Searcher
from auto_research.agent_research.operators import Use
from auto_research.agent_research.rows import TranscriptLine
from auto_research.benchmarks.base import Json
from auto_research.pddl import Atom, Problem, Step


@dataclass
class Story:
    """What happened in an attempt at `problem`, as it goes."""

    problem: Problem
    plan: list[Step] = field(default_factory=list)
    segments: list[dict[str, Json]] = field(default_factory=list)
    uses: list[Use] = field(default_factory=list)
    lines: list[TranscriptLine] = field(default_factory=list)
    flags: set[str] = field(default_factory=set)
    counsel: Counsel = field(default_factory=Counsel)
    searchers: list[Searcher] = field(default_factory=list)
    payload: dict[str, Json] = field(default_factory=dict)

    def tried(self) -> dict[str, int]:
        """By action, how many states it has led to in all searches."""
        found = sum((Counter(searcher.tried) for searcher in self.searchers), Counter[str]())
        return dict(sorted(found.items()))

    def tell(self, at: str, text: str) -> None:
        self.lines.append(TranscriptLine(at, text))


def segment(begin: int, end: int, goal: Sequence[Atom]) -> dict[str, Json]:
    """The stretch of a plan, by its steps from `begin` to before `end`, that reached `goal`."""
    return {"from": begin, "to": end, "goal": [list(a) for a in goal]}
