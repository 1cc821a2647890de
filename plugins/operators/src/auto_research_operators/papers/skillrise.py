"""SkillRise (arXiv 2607.26784): one document travels along a chain, rewritten after every task.

Tasks of a sequence go from easy to hard. Solving and curating are credited apart:

    A_solve_i  = R_i - b_i
    A_curate_i = sum_{j > i} gamma^(j - i - 1) R_j - b_curate

so that a rewriting is paid by what the tasks after it earn. Baselines are the group's means at
the same place in the chain.

Interpretation: the solver is frozen here, so A_curate is the advantage that trains something: which
of a few ways of rewriting to use. Each sibling of a group rewrites in a way of its own; a way is
worth the mean of what it earned. As no weights carry what was learned from one sequence to the
next, the best-credited sibling's document is kept for sequences in the same kind of world. The
paper's gamma is not known to us; a task's difficulty is the length of what it shows.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, ClassVar, Literal

from pydantic import Field

from auto_research.agent_research.advantage import Advantages, group_advantages
from auto_research.agent_research.controls import OutcomeReward
from auto_research.agent_research.library import Change, LibraryView
from auto_research.agent_research.operators import (
    Context,
    CreditedGroup,
    Episode,
    LibraryUpdate,
    Settings,
)
from auto_research.benchmarks.base import Json
from auto_research_operators.shared.changes import fitting
from auto_research_operators.shared.documents import WAYS, rewritten


def downstream(rewards: Sequence[float | None], gamma: float) -> list[float]:
    """sum_{j > i} gamma^(j - i - 1) R_j for each i; a task that was not judged counts nothing."""
    returns = [0.0]
    for reward in reversed(rewards[1:]):
        returns.append((reward or 0.0) + gamma * returns[-1])
    return returns[::-1][: len(rewards)]


class RolesReward(OutcomeReward):
    """Outcomes; the advantage is the curator's, or with `role: solve` the solver's."""

    name = "skillrise.roles"
    citation = "SkillRise, arXiv 2607.26784 (role-aware credit; gamma: interpretation)"
    summary = "outcome, credited to the rewriting by the discounted outcomes of the tasks after it"

    class Options(OutcomeReward.Options):
        role: Literal["curate", "solve"] = "curate"
        gamma: float = Field(default=0.9, ge=0, le=1)

    settings_type: ClassVar[type[Settings]] = Options
    settings: Options

    def advantages(self, rewards: Sequence[Sequence[float | None]]) -> Advantages:
        if self.settings.role == "solve":
            return group_advantages(rewards)
        return group_advantages([downstream(row, self.settings.gamma) for row in rewards])


class TravellingUpdate(LibraryUpdate):
    """Rewrites the document after every task; keeps that of the sibling that earned most by it.

    Needs the curator's advantages (`skillrise.roles`). Outside groups of siblings it uses the way
    of rewriting that has earned most so far.
    """

    name = "skillrise.travelling"
    citation = "SkillRise, arXiv 2607.26784 (rewrite after every task; ways: interpretation)"
    summary = "rewrites the travelling document after each task, in the way that later tasks pay"

    def __init__(self, settings: Settings) -> None:
        super().__init__(settings)
        self.earned: dict[str, list[float]] = {way: [] for way in WAYS}

    def state(self) -> Json:
        return {way: list(earned) for way, earned in self.earned.items()}

    def restore(self, state: Any) -> None:
        if state is not None:
            self.earned = {way: [float(a) for a in state[way]] for way in WAYS}

    def worth(self, way: str) -> float:
        """The mean of what the way earned; 0 if it was never tried."""
        earned = self.earned.get(way, [])
        return math.fsum(earned) / len(earned) if earned else 0.0

    def after_episode(
        self, episode: Episode, library: LibraryView, ctx: Context
    ) -> Sequence[Change]:
        way = ctx.arm.label or max(WAYS, key=lambda w: (self.worth(w), -WAYS.index(w)))
        return rewritten(episode, way, library, ctx)

    def after_group(
        self, group: CreditedGroup, library: LibraryView, ctx: Context
    ) -> Sequence[Change]:
        ways = [chain.episodes[0].arm.label for chain in group.chains]
        totals = [math.fsum(row) for row in group.advantages]
        for way, total in zip(ways, totals, strict=True):
            if way in self.earned and ctx.phase == "training":
                self.earned[way].append(round(total, 9))
        best = max(range(len(ways)), key=lambda i: (totals[i], self.worth(ways[i]), -i))
        return fitting(group.chains[best].changes, library)
