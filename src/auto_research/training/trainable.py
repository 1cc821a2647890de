"""Which methods can train a model, by what their operators do, not by their names.

A model learns from groups of siblings: several chains over the same tasks, credited against each
other. On one machine groups follow each other over one library. On a cluster they run at once in
many places and share none: every chain's library starts empty, and what an operator does between
groups (`LibraryUpdate.after_group`, `RetrievalPolicy.learn`, probes) is not done.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

from auto_research.agent_research.budget import Phase
from auto_research.agent_research.catalog import Catalog
from auto_research.agent_research.library import LibraryView
from auto_research.agent_research.method import Method
from auto_research.agent_research.operators import (
    Arm,
    Chain,
    EditRequest,
    Episode,
    LibraryUpdate,
    Operator,
    Progress,
    RetrievalPolicy,
    Rollout,
    TaskRef,
)
from auto_research.agent_research.skill import Skill
from auto_research.benchmarks.base import Scenario, Task
from auto_research.errors import UserError
from auto_research.rng import derive

_SCENARIOS, _TASKS = 16, 3  # of the stand-in that a rollout is asked about


def trainable(method: Method, catalog: Catalog, *, shared_library: bool = False) -> str | None:
    """Why `method` cannot train a model; None if it can.

    `shared_library`: groups follow each other over the run's library, as on one machine.
    """
    use = method.rollout.use
    if not trains(method, catalog):
        return f"its rollout {use!r} never trains"
    chain = first_chain(method, catalog)
    if chain is None:
        return f"its rollout {use!r} asks for no group when asked"
    if chain.siblings < 2:
        return f"its rollout {use!r} runs groups of one, which have nothing to be credited against"
    if shared_library:
        return None
    if chain.start != "empty":
        return (
            f"its rollout {use!r} starts a chain with the run's library, and the chains of a "
            "cluster share none"
        )
    if any(arm != Arm() for arm in chain.arms):
        return f"its rollout {use!r} gives siblings different arms, and here all are alike"
    update = method.build(catalog).update
    if _has(update, LibraryUpdate, "after_group") and not _has(
        update, LibraryUpdate, "after_episode"
    ):
        return (
            f"its update {method.update.use!r} changes the library only between groups, and the "
            "chains of a cluster share no library"
        )
    return None


def trains(method: Method, catalog: Catalog) -> bool:
    """Whether its rollout ever asks for a chain."""
    return _has(method.build(catalog).rollout, Rollout, "next")


def left_out(method: Method, catalog: Catalog) -> list[str]:
    """What of a method is not done where chains share no library, in words."""
    operators = method.build(catalog)
    told = []
    if _has(operators.update, LibraryUpdate, "after_group"):
        told.append(f"update {method.update.use!r}: only what it does inside a chain")
    if _has(operators.retrieval, RetrievalPolicy, "learn"):
        told.append(f"retrieval {method.retrieval.use!r}: as it begins, it learns nothing")
    return told


def require_trainable(method: Method, catalog: Catalog, *, shared_library: bool = False) -> None:
    """Raises UserError with the reason if `method` cannot train a model."""
    reason = trainable(method, catalog, shared_library=shared_library)
    if reason:
        library = "" if shared_library else " that start with an empty library"
        mend = f"--set rollout=NAME, one that runs groups of siblings{library}"
        raise UserError(
            f"method {method.name!r} cannot train a model: {reason}",
            mend=mend if "rollout" in reason else "",
        )


def first_chain(method: Method, catalog: Catalog) -> Chain | None:
    """The first of `first_chains`, if there is one."""
    chains = first_chains(method, catalog)
    return chains[0] if chains else None


def first_chains(method: Method, catalog: Catalog) -> Sequence[Chain]:
    """The groups that the rollout asks for first, over scenarios that only show their shape."""
    scenarios = [_scenario(number) for number in range(_SCENARIOS)]
    pool = tuple(TaskRef(s.id, task.id) for s in scenarios for task in s.tasks)
    rollout = method.build(catalog).rollout
    return rollout.next(scenarios, Progress(0, _SCENARIOS), _Bystander(pool))


def _has(operator: Operator, base: type[Operator], name: str) -> bool:
    """Whether the operator does something of its own there."""
    return getattr(type(operator), name) is not getattr(base, name)


def _scenario(number: int) -> Scenario:
    name = f"scenario-{number}"
    tasks = tuple(
        Task(f"{name}-{i}", name, i, "none", "", {"domain": "", "problem": "", "question": ""})
        for i in range(_TASKS)
    )
    return Scenario(name, tasks)


@dataclass(frozen=True)
class _Bystander:
    """A context in which chains can be planned and nothing run, written or spent."""

    pool: Sequence[TaskRef]
    phase: Phase = "training"
    step: int = 0
    arm: Arm = Arm()  # noqa: RUF009 (frozen)

    @property
    def rng(self) -> random.Random:
        return derive(0, "trainable")

    def spend(self, kind: str, amount: int = 1) -> None:
        """Free."""

    def fit(self, task: Task, skill: Skill) -> float:
        return 0.0

    def probe(self, tasks: Sequence[TaskRef], library: LibraryView) -> Sequence[Episode]:
        return ()

    def write(self, request: EditRequest) -> Sequence[Skill]:
        return ()
