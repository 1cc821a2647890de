"""A regression gate: probe train tasks with and without a change, accept or roll back.

Used by the gated editors (GRASP, SkillProx, SkillAdam, SkillReducer, Skill-alpha, GSO). Every
probe is a charged episode; what is spent here is not there for anything else.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from pydantic import Field

from auto_research.agent_research.library import Change, LibraryView, apply_changes
from auto_research.agent_research.operators import (
    Chain,
    Context,
    Episode,
    Progress,
    Rollout,
    Settings,
    TaskRef,
)
from auto_research.benchmarks.base import Json, Scenario


@dataclass(frozen=True, slots=True)
class Verdicts:
    """What a set of probes came to: success and soundness by task."""

    success: Mapping[str, bool]
    sound: Mapping[str, bool]  # no skill's code failed (an error, a limit, an illegal action)

    @property
    def accuracy(self) -> float:
        """Share of successes; 0 for no probes."""
        return sum(self.success.values()) / len(self.success) if self.success else 0.0


def verdicts(episodes: Sequence[Episode]) -> Verdicts:
    """The probes' outcomes by task; an episode with an error failed."""
    return Verdicts(
        {e.task.id: e.success and not e.error for e in episodes},
        {e.task.id: all(use.sound for use in e.uses) for e in episodes},
    )


@dataclass(frozen=True, slots=True)
class Effect:
    """What a change did to the probed tasks, as counts."""

    fixes: int
    regressions: int
    invalid_regressions: int  # tasks on which skill code fails only with the change


def effect(before: Verdicts, after: Verdicts) -> Effect:
    """Fixes and regressions from `before` to `after`, over the tasks of both."""
    shared = sorted(before.success.keys() & after.success.keys())
    return Effect(
        fixes=sum(after.success[t] and not before.success[t] for t in shared),
        regressions=sum(before.success[t] and not after.success[t] for t in shared),
        invalid_regressions=sum(before.sound[t] and not after.sound[t] for t in shared),
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

    def note(self, episodes: Sequence[Episode]) -> None:
        """Remember what these train episodes came to."""
        self.known |= {e.task.id: e.success and not e.error for e in episodes}

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


class BatchRollout(Rollout):
    """Dev batches: each group is one pass over the tasks of several scenarios, library frozen.

    The library changes only between batches, where the update operator proposes and gates.
    """

    name = "gated.batches"
    citation = "dev batches: GRASP 2605.29668 (every 26/48 tasks), SkillProx 2608.07449"
    summary = "batches of train tasks run with a frozen library, edits in between"

    class Options(Settings):
        scenarios_per_batch: int = Field(default=8, ge=1)

    settings_type: ClassVar[type[Settings]] = Options
    settings: Options

    def next(self, pool: Sequence[Scenario], progress: Progress, ctx: Context) -> Sequence[Chain]:
        size = self.settings.scenarios_per_batch
        first = progress.groups * size
        batch = [pool[i % len(pool)] for i in range(first, min(first + size, progress.planned))]
        if not batch:
            return ()
        tasks = tuple(task for scenario in batch for task in scenario.tasks)
        return [Chain(f"batch-{progress.groups}", tasks, 1, "frozen")]
