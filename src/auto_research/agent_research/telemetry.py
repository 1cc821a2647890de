"""What a method did to its library and what came of it, counted from the rows where it happened."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from auto_research.agent_research.budget import PHASES, Phase
from auto_research.agent_research.rows import ChangeRow, EpisodeRow, Op
from auto_research.benchmarks.base import Json

_COUNT_OF: Mapping[Op, str] = {
    "create": "skills_created",
    "revise": "skills_revised",
    "fork": "skills_forked",
    "merge": "skills_merged",
    "retire": "skills_retired",
}
# What is counted an episode and a skill: found by retrieval, run, run in a judged success,
# run in another task (scenario) than it was written in.
_USES = (
    "skills_retrieved",
    "skills_used",
    "skills_used_with_success",
    "cross_task_reuse",
    "cross_scenario_reuse",
)
_RUNNER = ("policy_updates", "uninformative_groups")


@dataclass(slots=True)
class Telemetry:
    """Add rows in stream order, then take the `summary`.

    Changes count once a skill: siblings that write the same skill wrote one. A skill that no row
    of this run wrote came from elsewhere, so each use of it is a reuse.
    """

    _uses: dict[Phase, Counter[str]] = field(
        default_factory=lambda: {phase: Counter() for phase in PHASES}
    )
    _changes: dict[tuple[Op, str], tuple[Phase, ChangeRow]] = field(default_factory=dict)
    _origins: dict[str, tuple[str, str]] = field(default_factory=dict)  # skill: scenario, task
    _places: dict[str, tuple[str, str]] = field(default_factory=dict)  # episode: scenario, task
    _reused: set[str] = field(default_factory=set)

    def add(self, row: EpisodeRow) -> None:
        """Count one row."""
        here = (row.scenario, row.task)
        self._places[row.episode] = here
        for skill in row.written:
            self._origins.setdefault(skill, here)
        self._count_uses(row, here)
        for change in row.changes:
            self._changes.setdefault((change.op, change.skill), (row.phase, change))
            if change.op != "retire":
                cause = change.cause[0] if change.cause else row.episode
                self._origins.setdefault(change.skill, self._places.get(cause, here))

    def summary(self, counters: Mapping[str, int]) -> dict[str, Json]:
        """Counts of the whole run and by phase; revisions and retirements with their causes.

        `counters` brings what only the runner sees; a missing one is 0.
        """
        by_phase: dict[str, dict[str, int]] = {phase: self._counts(phase) for phase in PHASES}
        totals = {
            name: sum(counts[name] for counts in by_phase.values()) for name in by_phase["test"]
        }
        return {
            **totals,
            **{name: counters.get(name, 0) for name in {*_RUNNER, *counters}},
            "distinct_skills_reused": len(self._reused),
            "by_phase": by_phase,
            "revisions": self._named("revise"),
            "retirements": self._named("retire"),
        }

    def _count_uses(self, row: EpisodeRow, here: tuple[str, str]) -> None:
        counts = self._uses[row.phase]
        counts["skills_retrieved"] += len(row.choice.ranked)
        for use in row.uses:
            if not use.called:
                continue
            scenario, task = self._origins.get(use.skill, ("", ""))
            counts["skills_used"] += 1
            counts["skills_used_with_success"] += use.helped and row.success is True
            counts["cross_scenario_reuse"] += scenario != row.scenario
            if (scenario, task) != here:
                counts["cross_task_reuse"] += 1
                self._reused.add(use.skill)

    def _counts(self, phase: Phase) -> dict[str, int]:
        ops = Counter(op for (op, _), (where, _) in self._changes.items() if where == phase)
        return {
            **{name: ops[op] for op, name in _COUNT_OF.items()},
            **{name: self._uses[phase][name] for name in _USES},
        }

    def _named(self, op: Op) -> list[Json]:
        return [
            {
                "skill": change.skill,
                "bases": list(change.bases),
                "cause": list(change.cause),
                "reason": change.reason,
            }
            for (kind, _), (_, change) in self._changes.items()
            if kind == op
        ]
