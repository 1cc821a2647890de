"""Group-relative advantages: what a sibling earned against the rest of its group."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

TOLERANCE = 1e-6


@dataclass(frozen=True, slots=True)
class Estimator:
    """How a group's rewards become advantages; the defaults are SAGE's (group mean, no deviation).

    `std`: the deviation to divide by, of the population (GRPO) or the sample (as most packages
    have it), to which `eps` is added. `baseline`: the mean of the group, or of the others
    (RLOO). Rewards that differ by no more than `tolerance` tell nothing: dividing by a deviation
    that is rounding error alone would make advantages near 1 of it.
    """

    std: Literal["none", "population", "sample"] = "none"
    eps: float = 0.0
    baseline: Literal["mean", "leave-one-out"] = "mean"
    tolerance: float = TOLERANCE


GROUP_MEAN = Estimator()
GRPO = Estimator(std="population")


@dataclass(frozen=True, slots=True)
class Advantages:
    """`values` has the shape of the rewards; `informative` one entry a chain position.

    `unjudged` counts rewards that were None or not finite.
    """

    values: tuple[tuple[float, ...], ...]
    informative: tuple[bool, ...]
    unjudged: int = 0


def group_advantages(
    rewards: Sequence[Sequence[float | None]], estimator: Estimator = GROUP_MEAN
) -> Advantages:
    """A_i^k = (R_i^k - baseline_i^k) / (std^k + eps), per chain position k.

    SAGE (arXiv 2512.17102; LOOP): A_i^k = R_i^k - mean_j R_j^k. GRPO (arXiv 2402.03300) divides.
    `rewards` has shape (siblings, chain length), which may be ragged. None, NaN and infinities
    get zero, stay out of the baseline and are counted. A position whose rewards differ by no
    more than the tolerance, such as that of a single sibling, is uninformative: all its
    advantages are zero.
    """
    length = max((len(row) for row in rewards), default=0)
    columns: list[list[float]] = []
    informative: list[bool] = []
    unjudged = 0
    for position in range(length):
        column = [_finite(row[position]) if position < len(row) else None for row in rewards]
        known = [r for r in column if r is not None]
        unjudged += len(column) - len(known)
        informative.append(bool(known) and max(known) - min(known) > estimator.tolerance)
        columns.append(
            _relative(column, known, estimator) if informative[-1] else [0.0] * len(column)
        )
    values = tuple(tuple(columns[k][i] for k in range(len(row))) for i, row in enumerate(rewards))
    return Advantages(values, tuple(informative), unjudged)


def _relative(
    column: Sequence[float | None], known: Sequence[float], estimator: Estimator
) -> list[float]:
    count = len(known)
    mean = math.fsum(known) / count
    scale = 1.0
    if estimator.std != "none":
        freedom = count - 1 if estimator.std == "sample" else count
        scale = math.hypot(*(r - mean for r in known)) / math.sqrt(freedom) + estimator.eps
    if estimator.baseline == "leave-one-out":
        scale *= (count - 1) / count  # r - mean of the others = (r - mean of all) * n / (n - 1)
    return [0.0 if r is None else (r - mean) / scale for r in column]


def _finite(reward: float | None) -> float | None:
    return None if reward is None or not math.isfinite(reward) else float(reward)
