"""A chain's outcome as JSON and back: what the run's crash journal keeps of finished work."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from auto_research.agent_research.budget import Spending
from auto_research.agent_research.chain import ChainJob, ChainOutcome
from auto_research.agent_research.codec import (
    change_from_json,
    change_to_json,
    usage_from_json,
    usage_to_json,
)
from auto_research.agent_research.operators import Choice, Episode, Use
from auto_research.agent_research.rows import EpisodeRow
from auto_research.benchmarks.base import Json, Verdict


def outcome_to_json(outcome: ChainOutcome) -> Json:
    """Plain data for `outcome_from_json`; the tasks are left to the job."""
    return {
        "rows": [row.to_json() for row in outcome.rows],
        "episodes": [_episode_to_json(e) for e in outcome.episodes],
        "changes": [change_to_json(c) for c in outcome.changes],
        "usage": {i: usage_to_json(u) for i, u in outcome.usage.items()},
        "origins": dict(outcome.origins),
        "flags": list(outcome.flags),
    }


def outcome_from_json(data: Any, job: ChainJob) -> ChainOutcome:
    """The outcome of `job` that `outcome_to_json` gave."""
    return ChainOutcome(
        episodes=tuple(_episode_from_json(e, job) for e in data["episodes"]),
        rows=tuple(EpisodeRow.from_json(row) for row in data["rows"]),
        changes=tuple(change_from_json(c) for c in data["changes"]),
        usage={i: usage_from_json(u) for i, u in data["usage"].items()},
        origins={i: int(p) for i, p in data["origins"].items()},
        flags=tuple(data["flags"]),
    )


def _episode_to_json(episode: Episode) -> dict[str, Json]:
    verdict = episode.verdict
    return {
        "id": episode.id,
        "position": episode.position,
        "ranked": list(episode.choice.ranked),
        "propensities": list(episode.choice.propensities),
        "trace": episode.choice.trace,
        "uses": [[u.skill, u.called, u.helped, u.sound, u.detail] for u in episode.uses],
        "own_check": episode.own_check,
        "verdict": None if verdict is None else [verdict.success, dict(verdict.checks)],
        "has_submission": episode.has_submission,
        "units_by_kind": dict(episode.spending.units_by_kind),
        "totals": dict(episode.spending.totals),
        "written": list(episode.written),
        "evidence": episode.evidence,
        "error": episode.error,
        "actions": list(episode.actions),
    }


def _episode_from_json(data: Mapping[str, Any], job: ChainJob) -> Episode:
    verdict: Sequence[Any] | None = data["verdict"]
    return Episode(
        id=data["id"],
        task=job.tasks[data["position"] - job.first],
        position=data["position"],
        choice=Choice(tuple(data["ranked"]), tuple(data["propensities"]), data["trace"]),
        uses=tuple(Use(*use) for use in data["uses"]),
        own_check=data["own_check"],
        verdict=None if verdict is None else Verdict(verdict[0], verdict[1]),
        has_submission=data["has_submission"],
        spending=Spending(data["units_by_kind"], data["totals"]),
        written=tuple(data["written"]),
        evidence=data["evidence"],
        error=data["error"],
        actions=tuple(data["actions"]),
        arm=job.arm,
    )
