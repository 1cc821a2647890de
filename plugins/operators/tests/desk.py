"""A small context for operators, with a real meter and worlds whose outcomes a case sets."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from auto_research_operators.plugin import register_operators

from auto_research import strict_yaml
from auto_research.agent_research.budget import Budget, Meter, Phase, Spending
from auto_research.agent_research.library import Change, LibraryView
from auto_research.agent_research.operators import (
    Arm,
    ChainResult,
    Choice,
    CreditedGroup,
    EditRequest,
    Episode,
    Operator,
    TaskRef,
    Use,
)
from auto_research.agent_research.skill import Provenance, Skill, Usage, function_skill
from auto_research.benchmarks.base import Task, Verdict
from auto_research.rng import derive

FIXTURES = Path(__file__).parents[3] / "fixtures" / "operators"
OPERATORS: dict[tuple[str, str], type[Operator]] = {
    (op.slot, op.name): op for op in register_operators()
}
UNUSED, EMPTY = Usage(), LibraryView()
Outcome = Callable[[str, LibraryView], bool]  # does this task succeed with that library


def case(paper: str) -> Any:
    """The hand-worked case of a paper, fixtures/operators/<paper>.yaml."""
    return strict_yaml.read(FIXTURES / f"{paper}.yaml")


def operator(slot: str, name: str, **settings: Any) -> Any:
    """The registered operator of that slot and name, with these settings."""
    kind = OPERATORS[slot, name]
    return kind(kind.settings_type(**settings))


@dataclass
class Desk:
    """The `Context` of the operator contract; every probe and draft is charged to a real meter.

    `fits`: how well a skill applies, by name. `drafts`: what the skill writer hands out for a
    request. `outcome`: what a probed task comes to, given the library. `requests` and `probed`
    keep what the operator asked for.
    """

    meter: Meter = field(default_factory=lambda: Meter(Budget()))
    rng: random.Random = field(default_factory=lambda: derive(7, "desk"))
    phase: Phase = "training"
    fits: Mapping[str, float] = field(default_factory=dict)
    drafts: Callable[[EditRequest], Sequence[Skill]] = lambda request: ()
    outcome: Outcome = lambda task, library: False
    step: int = 0
    arm: Arm = field(default_factory=Arm)
    pool: Sequence[TaskRef] = ()
    requests: list[EditRequest] = field(default_factory=list)
    probed: list[tuple[str, ...]] = field(default_factory=list)

    def spend(self, kind: str, amount: int = 1) -> None:
        self.meter.spend(kind, amount)

    def fit(self, task: Task, skill: Skill) -> float:
        self.meter.spend("bind")
        return self.fits.get(skill.name, 0.0)

    def probe(self, tasks: Sequence[TaskRef], library: LibraryView) -> Sequence[Episode]:
        self.probed.append(tuple(ref.task for ref in tasks))
        self.meter.spend("expand", len(tasks))
        return [
            episode(self.outcome(ref.task, library), at=task(ref.task, ref.scenario))
            for ref in tasks
        ]

    def write(self, request: EditRequest) -> Sequence[Skill]:
        self.requests.append(request)
        self.meter.spend("write")
        return self.drafts(request)


def pool(size: int) -> list[TaskRef]:
    """`size` train tasks, t0, t1, ..."""
    return [TaskRef(f"s{i}", f"t{i}") for i in range(size)]


def task(name: str = "t0", scenario: str = "s0", position: int = 0) -> Task:
    """A task that shows nothing but its instruction."""
    return Task(name, scenario, position, "words", f"do {name}", {})


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
    success: bool,
    *,
    name: str = "e",
    at: Task | None = None,
    position: int = 0,
    uses: Sequence[Use] = (),
    ranked: Sequence[str] = (),
    own_check: bool | None = None,
    arm: Arm = Arm(),  # noqa: B008  (frozen)
    actions: Sequence[str] = (),
) -> Episode:
    """One attempt with its verdict; the agent's own check agrees unless said otherwise."""
    return Episode(
        id=name,
        task=at or task(position=position),
        position=position,
        choice=Choice(tuple(ranked), (1.0,) * len(ranked)),
        uses=tuple(uses),
        own_check=success if own_check is None else own_check,
        verdict=Verdict(success, {}),
        has_submission=True,
        spending=Spending(),
        actions=tuple(actions),
        arm=arm,
    )


def ran(skill_id: str, *, helped: bool = True) -> Use:
    """The skill's code ran, and carried the episode to its end or did not."""
    return Use(skill_id, called=True, helped=helped)


def group(
    *chains: Sequence[Episode],
    changes: Sequence[Sequence[Change]] = (),
    library: LibraryView = EMPTY,
) -> CreditedGroup:
    """Siblings credited with their outcomes; advantages are against the group's mean."""
    made = tuple(
        ChainResult(tuple(episodes), library, tuple(changes[i]) if i < len(changes) else ())
        for i, episodes in enumerate(chains)
    )
    rewards = tuple(tuple(float(e.success) for e in chain) for chain in chains)
    means = [sum(column) / len(column) for column in zip(*rewards, strict=True)]
    advantages = tuple(tuple(r - m for r, m in zip(row, means, strict=True)) for row in rewards)
    informative = tuple(len(set(column)) > 1 for column in zip(*rewards, strict=True))
    return CreditedGroup(made, rewards, advantages, informative)
