"""Group-relative advantages: what a sibling earned against the mean of its group."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

TOLERANCE = 1e-6


@dataclass(frozen=True, slots=True)
class Advantages:
    """`values` has the shape of the rewards; `informative` one entry a chain position.

    `unjudged` counts rewards that were None or not finite.
    """

    values: tuple[tuple[float, ...], ...]
    informative: tuple[bool, ...]
    unjudged: int = 0


def group_advantages(
    rewards: Sequence[Sequence[float | None]],
    *,
    divide_by_std: bool = False,
    tolerance: float = TOLERANCE,
) -> Advantages:
    """A_i^k = R_i^k - mean_j R_j^k (SAGE, arXiv 2512.17102; LOOP), per chain position k.

    `rewards` has shape (siblings, chain length). None and NaN are zero, stay out of the mean and
    are counted. A position whose rewards differ by no more than `tolerance` is uninformative: all
    its advantages are zero. `divide_by_std` divides by the population standard deviation (GRPO).
    """
    length = max((len(row) for row in rewards), default=0)
    columns: list[list[float]] = []
    informative: list[bool] = []
    unjudged = 0
    for position in range(length):
        column = [_finite(row[position]) if position < len(row) else None for row in rewards]
        known = [r for r in column if r is not None]
        unjudged += len(column) - len(known)
        spread = max(known) - min(known) if known else 0.0
        informative.append(spread > tolerance)
        if spread <= tolerance:
            columns.append([0.0] * len(column))
            continue
        mean = math.fsum(known) / len(known)
        scale = 1.0
        if divide_by_std:
            scale = math.sqrt(math.fsum((r - mean) ** 2 for r in known) / len(known))
        columns.append([0.0 if r is None else (r - mean) / scale for r in column])
    values = tuple(tuple(columns[k][i] for k in range(len(row))) for i, row in enumerate(rewards))
    return Advantages(values, tuple(informative), unjudged)


def _finite(reward: float | None) -> float | None:
    return None if reward is None or not math.isfinite(reward) else float(reward)
