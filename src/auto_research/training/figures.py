"""What is watched while a model trains: figures of a batch of chains, all of them means."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from auto_research.agent_research.chain import ChainOutcome
from auto_research.agent_research.operators import CreditedGroup, Episode
from auto_research.agent_research.rows import EpisodeRow

_CUT_SHORT = ("words", "budget")  # how an episode of `micro` ends that was not allowed to go on


def rollout_figures(
    groups: Sequence[CreditedGroup], outcomes: Sequence[ChainOutcome]
) -> dict[str, float]:
    """Figures of a training batch: rewards R1, R2, ... by chain position, the share of groups
    without variance, and those of `chain_figures`."""
    rewards: dict[int, list[float]] = {}
    for group in groups:
        for row in group.rewards:
            for position, reward in enumerate(row, start=1):
                if reward is not None:
                    rewards.setdefault(position, []).append(reward)
    informative = [told for group in groups for told in group.informative]
    return {
        **{f"R{position}": _mean(given) for position, given in sorted(rewards.items())},
        "zero_variance": _mean(not told for told in informative),
        **chain_figures(outcomes),
    }


def chain_figures(outcomes: Sequence[ChainOutcome]) -> dict[str, float]:
    """Figures of chains, whether sampled to train on or to measure.

    `tgc` and `sgc` are fractions. `define` is the share of tasks in which a skill was defined,
    `use` that of tasks after the first in which one from an earlier task was called, and
    `successful_use` the share of those that succeeded. `steps` counts a call as one, `actions` by
    what its body did; `tokens` are those generated. `in_calls` is the share of actions done
    inside calls, `body` the actions of a defined skill, `cut_short` the tasks ended by a limit.
    """
    pairs = [
        (episode, row)
        for outcome in outcomes
        for episode, row in zip(outcome.episodes, outcome.rows, strict=True)
    ]
    rows = [row for _, row in pairs]
    said = [_said(episode) for episode, _ in pairs]
    later = [(row, _used(episode)) for episode, row in pairs if episode.position > 0]
    actions = [said_.get("acts", 0) for said_ in said]
    figures = {
        "tgc": _mean(row.success is True for row in rows),
        "sgc": _mean(all(row.success for row in outcome.rows) for outcome in outcomes),
        "no_submission": _mean(not episode.has_submission for episode, _ in pairs),
        "define": _mean(bool(said_.get("defined")) for said_ in said),
        "use": _mean(used for _, used in later),
        "successful_use": _mean(row.success is True for row, used in later if used),
        "body": _mean(
            source.count("\n    ") for said_ in said for source in said_.get("defined", {}).values()
        ),
        "in_calls": sum(said_.get("acts_in_calls", 0) for said_ in said) / max(1, sum(actions)),
        "cut_short": _mean(said_.get("end") in _CUT_SHORT for said_ in said),
        "steps": _mean(row.steps for row in rows),
        "actions": _mean(actions),
        "tokens": _mean(row.generated for row in rows),
    }
    return figures | _by_position(rows)


def _by_position(rows: Sequence[EpisodeRow]) -> dict[str, float]:
    """Success by place in the scenario's chain: ``success1``, ``success2``, ..."""
    places: dict[int, list[bool]] = {}
    for row in rows:
        place = int(row.episode.rpartition("-")[2]) + 1
        places.setdefault(place, []).append(row.success is True)
    return {f"success{place}": _mean(won) for place, won in sorted(places.items())}


def _used(episode: Episode) -> bool:
    return any(use.called for use in episode.uses)


def _said(episode: Episode) -> Mapping[str, Any]:
    evidence: Any = episode.evidence
    return evidence if isinstance(evidence, Mapping) else {}


def _mean(values: Iterable[float]) -> float:
    known = list(values)
    return round(sum(known) / len(known), 6) if known else 0.0
