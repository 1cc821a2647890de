"""Skill-R1 (arXiv 2605.09359): a skill is rewritten generation after generation on one task.

G generations of K rollouts each. A version is credited against its own generation and with what
its generation gained on the one before it:

    A = (r - mean_g) + lambda (mean_g - mean_{g-1}) ,  second term 0 at g = 1

Interpretation: the trained writer is the agent's skill writer; the K siblings rewrite in different
ways (whole, brief, anew), each along its own line of G versions; lambda is not known to us, both
terms weigh the same. What earned most of all versions that were run is kept for later tasks of the
same kind of world. Where one task is attempted once, at test, nothing is rewritten.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import ClassVar

from pydantic import Field

from auto_research.agent_research.advantage import TOLERANCE, Advantages
from auto_research.agent_research.controls import OutcomeReward
from auto_research.agent_research.library import Change, LibraryView
from auto_research.agent_research.operators import (
    Chain,
    Context,
    CreditedGroup,
    Episode,
    LibraryUpdate,
    Progress,
    Rollout,
    Settings,
)
from auto_research.benchmarks.base import Scenario
from auto_research_operators.shared.changes import fitting
from auto_research_operators.shared.documents import WAYS, rewritten
from auto_research_operators.shared.groups import labelled


class GenerationsRollout(Rollout):
    """One task a group, drawn from a scenario: each sibling tries it `generations` times."""

    name = "skill-r1.generations"
    citation = "Skill-R1, arXiv 2605.09359 (G generations x K rollouts per instance)"
    summary = "one task tried again and again, K siblings, the skill rewritten in between"

    class Options(Settings):
        generations: int = Field(default=3, ge=1)
        rollouts: int = Field(default=3, ge=1)
        groups_per_batch: int = Field(default=4, ge=1)

    settings_type: ClassVar[type[Settings]] = Options
    settings: Options

    def next(self, pool: Sequence[Scenario], progress: Progress, ctx: Context) -> Sequence[Chain]:
        left = min(self.settings.groups_per_batch, progress.planned - progress.groups)
        arms = labelled(WAYS, self.settings.rollouts)
        return [
            Chain(
                scenario.id,
                (ctx.rng.choice(scenario.tasks),) * self.settings.generations,
                len(arms),
                "carry",
                arms,
            )
            for number in range(progress.groups, progress.groups + max(0, left))
            for scenario in [pool[number % len(pool)]]
        ]


class GenerationsReward(OutcomeReward):
    """Outcomes; advantages within a generation and between generations."""

    name = "skill-r1.generations"
    citation = "Skill-R1, arXiv 2605.09359 (intra- and inter-generation advantage)"
    summary = "outcome against its generation, plus what the generation gained on the last"

    class Options(OutcomeReward.Options):
        gain: float = Field(default=1.0, ge=0, description="lambda; its value: interpretation")

    settings_type: ClassVar[type[Settings]] = Options
    settings: Options

    def advantages(self, rewards: Sequence[Sequence[float | None]]) -> Advantages:
        columns: list[list[float]] = []
        before: float | None = None
        unjudged = 0
        for g in range(max((len(row) for row in rewards), default=0)):
            known = [r for row in rewards if (r := row[g]) is not None]
            unjudged += len(rewards) - len(known)
            if not known:
                columns.append([0.0] * len(rewards))
                continue
            mean = math.fsum(known) / len(known)
            gain = 0.0 if before is None else self.settings.gain * (mean - before)
            columns.append([0.0 if (r := row[g]) is None else r - mean + gain for row in rewards])
            before = mean
        informative = tuple(any(abs(a) > TOLERANCE for a in column) for column in columns)
        values = tuple(tuple(column[i] for column in columns) for i in range(len(rewards)))
        return Advantages(values, informative, unjudged)


class GenerationsUpdate(LibraryUpdate):
    """Rewrites after every generation; keeps the version with the greatest advantage.

    Only a version that a later generation ran, and that solved its task, can be kept. Of equals
    the latest generation, then the first sibling (interpretation: a chain's last skill is its
    result).
    """

    name = "skill-r1.writer"
    citation = "Skill-R1, arXiv 2605.09359 (rewrite per generation; ways: interpretation)"
    summary = "rewrites the skill each generation and keeps the version that earned most"

    def after_episode(
        self, episode: Episode, library: LibraryView, ctx: Context
    ) -> Sequence[Change]:
        if ctx.phase != "training":
            return ()
        return rewritten(episode, ctx.arm.label or WAYS[0], library, ctx)

    def after_group(
        self, group: CreditedGroup, library: LibraryView, ctx: Context
    ) -> Sequence[Change]:
        if ctx.phase != "training":
            return ()
        run = [
            (round(group.advantages[i][g], 9), g, -i)
            for i, chain in enumerate(group.chains)
            for g, e in enumerate(chain.episodes)
            if e.choice.ranked and group.rewards[i][g]
        ]
        if not run:
            return ()
        _, generation, sibling = max(run)
        chain = group.chains[-sibling]
        before = {e.id for e in chain.episodes[:generation]}
        return fitting([c for c in chain.changes if before.issuperset(c.cause)], library)
