"""A regression gate: probe train tasks with and without a change, accept or roll back.

Used by the gated editors (GRASP, SkillProx, SkillAdam, SkillReducer, Skill-alpha, GSO). Every
probe is a charged episode; what is spent here is not there for anything else.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from pydantic import Field

from auto_research.agent_research.library import Change, LibraryView, apply_changes
from auto_research.agent_research.operators import (
    Chain,
    Context,
    CreditedGroup,
    Episode,
    LibraryUpdate,
    Progress,
    Rollout,
    Settings,
    TaskRef,
)
from auto_research.benchmarks.base import Json, Scenario

HOLD_OUT = 4  # every fourth train scenario is for validation


@dataclass(frozen=True, slots=True)
class Verdicts:
    """What a set of attempts came to, by task."""

    success: Mapping[str, bool]
    parts: Mapping[str, float]  # share of the verdict's named checks that passed, in [0, 1]
    sound: Mapping[str, bool]  # no skill's code failed (an error, a limit, an illegal action)

    @property
    def accuracy(self) -> float:
        """Share of successes ("hard" accuracy); 0 for no attempts."""
        return _mean(self.success.values())

    @property
    def part_accuracy(self) -> float:
        """Mean share of passed checks ("unit" accuracy); 0 for no attempts."""
        return _mean(self.parts.values())


def verdicts(episodes: Sequence[Episode]) -> Verdicts:
    """The attempts' outcomes by task; an attempt with an error failed."""
    return Verdicts(
        {e.task.id: e.success and not e.error for e in episodes},
        {e.task.id: _parts(e) for e in episodes},
        {e.task.id: all(use.sound for use in e.uses) for e in episodes},
    )


def _parts(episode: Episode) -> float:
    if episode.error:
        return 0.0
    checks = episode.verdict.checks.values() if episode.verdict is not None else ()
    return _mean(checks) if checks else float(episode.success)


def _mean(values: Collection[float]) -> float:
    return sum(values) / len(values) if values else 0.0


@dataclass(frozen=True, slots=True)
class Effect:
    """What a change did to the probed tasks, as counts."""

    fixes: int
    regressions: int
    invalid_regressions: int  # of the regressions, those in which a skill's code failed


def effect(before: Mapping[str, bool], after: Verdicts) -> Effect:
    """Fixes and regressions from the outcomes `before` to `after`, over the tasks of both."""
    shared = sorted(before.keys() & after.success.keys())
    worse = [t for t in shared if before[t] and not after.success[t]]
    return Effect(
        fixes=sum(after.success[t] and not before[t] for t in shared),
        regressions=len(worse),
        invalid_regressions=sum(not after.sound[t] for t in worse),
    )


def probe(
    tasks: Sequence[TaskRef], library: LibraryView, changes: Sequence[Change], ctx: Context
) -> Verdicts:
    """Run `tasks` with `library` after `changes`; charged. Raises BudgetExceeded, UserError."""
    return verdicts(ctx.probe(tasks, apply_changes(library, changes)))


class Outcomes:
    """The last known outcome of train tasks, for probe sets that hold failures and successes."""

    def __init__(self) -> None:
        self.known: dict[str, bool] = {}

    def note(self, seen: Verdicts) -> None:
        """Remember what these train tasks came to."""
        self.known |= seen.success

    def probe_set(self, size: int, without: Collection[str], ctx: Context) -> list[TaskRef]:
        """Up to `size` train tasks, half failing and half passing, none of them in `without`.

        Where one half is short, the other fills up, then tasks that were never run (GRASP: the
        cases that led to a proposal are not those it is tested on). Drawn with the context's rng.
        """
        left = [ref for ref in ctx.pool if ref.task not in without]
        drawn = ctx.rng.sample(left, len(left))
        failing = [r for r in drawn if self.known.get(r.task) is False]
        passing = [r for r in drawn if self.known.get(r.task) is True]
        unknown = [r for r in drawn if r.task not in self.known]
        half = size // 2
        first = [*failing[: size - half], *passing[:half]]
        rest = [*failing[size - half :], *passing[half:], *unknown]
        return [*first, *rest][:size]

    def state(self) -> Json:
        return dict(sorted(self.known.items()))

    def restore(self, state: Any) -> None:
        self.known = {str(task): bool(success) for task, success in (state or {}).items()}


def held_out(scenarios: Iterable[str]) -> frozenset[str]:
    """The scenarios kept back for validation: every fourth, in the order of the pool."""
    return frozenset(list(dict.fromkeys(scenarios))[HOLD_OUT - 1 :: HOLD_OUT])


def validation_tasks(size: int, seen: Collection[str], ctx: Context) -> list[TaskRef]:
    """Up to `size` train tasks, spread evenly over the held-out scenarios.

    None of those that training has `seen` all the same; the same ones each time otherwise.
    """
    held = held_out(ref.scenario for ref in ctx.pool)
    left = [r for r in ctx.pool if r.scenario in held and r.task not in seen]
    taken = min(size, len(left))
    return [left[i * len(left) // taken] for i in range(taken)]


class GatedUpdate(LibraryUpdate):
    """Base of the gated editors: they edit the run's library after a batch, in training only."""

    def after_group(
        self, group: CreditedGroup, library: LibraryView, ctx: Context
    ) -> Sequence[Change]:
        if ctx.phase != "training":
            return ()
        batch = [e for chain in group.chains for e in chain.episodes if not e.arm.bare]
        return self.edit(batch, library, ctx) if batch else ()

    def edit(
        self, batch: Sequence[Episode], library: LibraryView, ctx: Context
    ) -> Sequence[Change]:
        """The changes that passed the gate, given a batch that ran with `library`."""
        raise NotImplementedError


class BatchRollout(Rollout):
    """Dev batches: each group is one pass over the tasks of several scenarios, library frozen.

    The library changes only between batches, where the update operator proposes and gates. With
    `hold_out` every fourth scenario is left to validation.
    """

    name = "gated.batches"
    citation = "dev batches: GRASP 2605.29668 (every 26/48 tasks), SkillProx 2608.07449"
    summary = "batches of train tasks run with a frozen library, edits in between"

    class Options(Settings):
        scenarios_per_batch: int = Field(default=8, ge=1)
        hold_out: bool = False

    settings_type: ClassVar[type[Settings]] = Options
    settings: Options

    def next(self, pool: Sequence[Scenario], progress: Progress, ctx: Context) -> Sequence[Chain]:
        held = held_out(s.id for s in pool) if self.settings.hold_out else frozenset()
        usable = [s for s in pool[: progress.planned] if s.id not in held]
        size = self.settings.scenarios_per_batch
        batch = usable[progress.groups * size :][:size]
        if not batch:
            return ()
        tasks = tuple(task for scenario in batch for task in scenario.tasks)
        return [Chain(f"batch-{progress.groups}", tasks, 1, "frozen")]
