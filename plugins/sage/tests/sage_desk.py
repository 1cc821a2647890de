"""A real but small context for SAGE's operators, and short ways to make what they are given."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from auto_research.agent_research.budget import Budget, Meter, Phase, Spending
from auto_research.agent_research.library import Change, LibraryView
from auto_research.agent_research.operators import (
    Arm,
    ChainResult,
    Choice,
    CreditedGroup,
    EditRequest,
    Episode,
    TaskRef,
    Use,
)
from auto_research.agent_research.skill import Provenance, Skill, Usage, function_skill
from auto_research.benchmarks.base import Json, Task, Verdict
from auto_research.rng import derive

FIXTURES = Path(__file__).parents[3] / "fixtures" / "sage"
UNUSED, NOTHING, EMPTY = Usage(), Choice(), LibraryView()


@dataclass
class Desk:
    """The `Context` of the operator contract with a real meter.

    `fits` says how well a skill applies, by name; `drafts` is what the skill writer hands out.
    """

    meter: Meter = field(default_factory=lambda: Meter(Budget()))
    rng: random.Random = field(default_factory=lambda: derive(7, "desk"))
    phase: Phase = "training"
    fits: Mapping[str, float] = field(default_factory=dict)
    drafts: tuple[Skill, ...] = ()
    step: int = 0
    arm: Arm = field(default_factory=Arm)
    pool: Sequence[TaskRef] = ()

    def spend(self, kind: str, amount: int = 1) -> None:
        self.meter.spend(kind, amount)

    def fit(self, task: Task, skill: Skill) -> float:
        self.meter.spend("bind")
        return self.fits.get(skill.name, 0.0)

    def probe(self, tasks: Sequence[TaskRef], library: LibraryView) -> Sequence[Episode]:
        return ()

    def write(self, request: EditRequest) -> Sequence[Skill]:
        return self.drafts


def task(query: str = "open the door", scenario: str = "s1", position: int = 0) -> Task:
    """A task that shows nothing but its instruction."""
    return Task(f"{scenario}-{position}", scenario, position, "words", query, {})


def skill(
    name: str,
    *,
    scenario: str = "",
    query: str = "",
    body: str | None = None,
    usage: Usage = UNUSED,
) -> Skill:
    """A function skill whose body is its own, so that its id is too."""
    source = f"def {name}():\n    {body or f'return {name!r}'}\n"
    made = function_skill(source, provenance=Provenance(scenario=scenario, query=query))
    return replace(made, usage=usage)


def episode(
    success: bool | None,
    *,
    name: str = "e",
    at: Task | None = None,
    position: int = 0,
    uses: Sequence[Use] = (),
    submitted: bool = True,
    own_check: bool = True,
    choice: Choice = NOTHING,
    evidence: Json = None,
) -> Episode:
    """One attempt; `success` is the sealed verdict, None where there is none."""
    return Episode(
        id=name,
        task=at or task(position=position),
        position=position,
        choice=choice,
        uses=tuple(uses),
        own_check=own_check,
        verdict=None if success is None else Verdict(success, {}),
        has_submission=submitted,
        spending=Spending(),
        evidence=evidence,
    )


def ran(*skills: str) -> tuple[Use, ...]:
    """The skills' code ran and carried the episode to its end."""
    return tuple(Use(s, called=True, helped=True) for s in skills)


def chain(
    *episodes: Episode,
    origins: Mapping[str, int] | None = None,
    changes: Sequence[Change] = (),
    library: LibraryView = EMPTY,
) -> ChainResult:
    """One sibling."""
    return ChainResult(tuple(episodes), library, tuple(changes), origins or {})


def group(
    chains: Sequence[ChainResult],
    rewards: Sequence[Sequence[float | None]],
    advantages: Sequence[Sequence[float]] | None = None,
) -> CreditedGroup:
    """A credited group; advantages default to zeros."""
    zeros = [[0.0] * len(row) for row in rewards]
    return CreditedGroup(
        tuple(chains),
        tuple(map(tuple, rewards)),
        tuple(map(tuple, advantages or zeros)),
        tuple(True for _ in rewards[0]),
    )
