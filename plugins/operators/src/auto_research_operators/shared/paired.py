"""Paired evidence: the same kind of task with and without a skill, and what the skill adds.

    D(s) = mean success with s - mean success without s

Used by papers that select, abstain or withdraw (SkillApt, UCOB, SKILL0, R^2Orch, SAPO).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from pydantic import Field

from auto_research.agent_research.operators import (
    Arm,
    Chain,
    Context,
    CreditedGroup,
    Episode,
    Progress,
    Rollout,
    Settings,
)
from auto_research.benchmarks.base import Json, Scenario


@dataclass
class Tally:
    """Successes of trials, with and without."""

    with_trials: int = 0
    with_successes: float = 0.0
    without_trials: int = 0
    without_successes: float = 0.0

    def difference(self) -> float | None:
        """D, or None while one of the two sides has no trial."""
        if not self.with_trials or not self.without_trials:
            return None
        rate = self.with_successes / self.with_trials
        return rate - self.without_successes / self.without_trials


@dataclass
class PairedEvidence:
    """Tallies by key (a skill's lineage, or a skill and a kind of task)."""

    tallies: dict[str, Tally] = field(default_factory=dict)

    def add(self, key: str, *, with_skill: bool, success: float) -> None:
        """Count one trial."""
        tally = self.tallies.setdefault(key, Tally())
        if with_skill:
            tally.with_trials += 1
            tally.with_successes += success
        else:
            tally.without_trials += 1
            tally.without_successes += success

    def difference(self, key: str) -> float | None:
        """D of `key`, or None without evidence on both sides."""
        return self.tallies[key].difference() if key in self.tallies else None

    def state(self) -> Json:
        return {
            key: [t.with_trials, t.with_successes, t.without_trials, t.without_successes]
            for key, t in sorted(self.tallies.items())
        }

    def restore(self, state: Any) -> None:
        self.tallies = {key: Tally(*row) for key, row in (state or {}).items()}


def pairs(group: CreditedGroup) -> Sequence[tuple[Episode, Sequence[Episode]]]:
    """Each episode that was given a skill, with the bare siblings' episodes at the same task.

    Episodes at tasks without such a sibling are left out.
    """
    bare: dict[str, list[Episode]] = {}
    for episode in _judged(group):
        if episode.arm.bare:
            bare.setdefault(episode.task.id, []).append(episode)
    return [
        (e, bare[e.task.id])
        for e in _judged(group)
        if not e.arm.bare and e.choice.ranked and e.task.id in bare
    ]


def matched(group: CreditedGroup) -> Sequence[tuple[Episode, float]]:
    """Each episode that was given a skill, with the mean success of its bare siblings."""
    return [(e, sum(float(b.success) for b in bare) / len(bare)) for e, bare in pairs(group)]


def _judged(group: CreditedGroup) -> list[Episode]:
    return [e for chain in group.chains for e in chain.episodes if not e.error]


class PairedRollout(Rollout):
    """Groups in which some siblings run with the library and the others bare, on the same tasks.

    One scenario a group, its first `chain_length` tasks in order; the last `bare` of the
    `siblings` go without any skill.
    """

    name = "paired.rollout"
    citation = "with / without groups: UCOB 2606.29502, SAPO 2606.08755, SkillApt (abstract)"
    summary = "groups of chains with and without the library, for paired evidence"

    class Options(Settings):
        chain_length: int = Field(default=2, ge=1)
        siblings: int = Field(default=2, ge=2)
        bare: int = Field(default=1, ge=1)
        groups_per_batch: int = Field(default=4, ge=1, json_schema_extra={"search": []})

    settings_type: ClassVar[type[Settings]] = Options
    settings: Options

    def next(self, pool: Sequence[Scenario], progress: Progress, ctx: Context) -> Sequence[Chain]:
        left = min(self.settings.groups_per_batch, progress.planned - progress.groups)
        arms = self._arms()
        return [
            Chain(
                scenario.id,
                tuple(scenario.tasks[: self.settings.chain_length]),
                len(arms),
                "carry",
                arms,
            )
            for number in range(progress.groups, progress.groups + max(0, left))
            for scenario in [pool[number % len(pool)]]
        ]

    def _arms(self) -> tuple[Arm, ...]:
        bare = min(self.settings.bare, self.settings.siblings - 1)
        full = (Arm(label="with"),) * (self.settings.siblings - bare)
        return (*full, *(Arm(label="without", bare=True),) * bare)


def usefulness(evidence: PairedEvidence, keys: Mapping[str, str]) -> dict[str, float]:
    """D by skill id for the skills that have one; `keys` maps a skill id to its key."""
    found = {skill: evidence.difference(key) for skill, key in keys.items()}
    return {skill: d for skill, d in found.items() if d is not None}
