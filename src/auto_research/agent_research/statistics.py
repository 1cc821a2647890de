"""How sure a figure is: intervals that know tasks of one scenario are not independent.

Pure functions, the same bytes on every machine: draws come from the raw PCG64 stream, which
numpy keeps stable, and sums are exact (`math.fsum`), so the order of values does not count.
Every function raises ValueError for NaN, infinities, and no values at all.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from auto_research.rng import derive

Floats = NDArray[np.float64]
K = TypeVar("K", bound=Hashable)

RESAMPLES = 2000
_BLOCK = 1_000_000  # draws in memory at once (8 MB)


@dataclass(frozen=True, slots=True)
class Interval:
    """A figure and its interval (95 % unless asked otherwise)."""

    value: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class PairedDifference:
    """Mean of first - second over `pairs` tasks, with the figures of both sides."""

    first: float
    second: float
    difference: Interval
    pairs: int


def wilson(successes: float, trials: float, *, level: float = 0.95) -> Interval:
    """Wilson score interval of a rate; `trials` may be an effective, non-integer number."""
    if not (math.isfinite(trials) and trials > 0 and 0 <= successes <= trials):
        raise ValueError(f"no rate: {successes} successes of {trials} trials")
    z = NormalDist().inv_cdf((1 + level) / 2)
    rate = successes / trials
    scale = 1 + z * z / trials
    centre = (rate + z * z / (2 * trials)) / scale
    half = z / scale * math.sqrt(rate * (1 - rate) / trials + z * z / (4 * trials * trials))
    low = 0.0 if successes == 0 else max(0.0, centre - half)
    high = 1.0 if successes == trials else min(1.0, centre + half)
    return Interval(rate, low, high)


def clustered_rate(
    outcomes: Sequence[bool], clusters: Sequence[Hashable], *, level: float = 0.95
) -> Interval:
    """Interval of a success rate; `outcomes` and `clusters` have shape (tasks,).

    Wilson on the effective number of tasks n / deff. The design effect deff is the linearised
    cluster variance over the binomial one, estimated with two pseudo-clusters of average size
    added, one that wholly succeeds and one that wholly fails (in deff only, not in the rate).
    So at 0 % or 100 %, where nothing can be estimated, a scenario counts as about one
    observation; with many clusters the two wash out. deff is at least 1; with one task a
    cluster this is the plain Wilson interval.
    """
    sums, sizes = _by_cluster([float(o) for o in outcomes], clusters)
    total, count = math.fsum(sums), math.fsum(sizes)
    mean_size = count / len(sizes)
    rate = (total + mean_size) / (count + 2 * mean_size)
    spread = math.fsum((s - rate * m) ** 2 for s, m in zip(sums, sizes, strict=True))
    spread += mean_size**2 * ((1 - rate) ** 2 + rate**2)
    effect = max(1.0, spread / ((count + 2 * mean_size) * rate * (1 - rate)))
    interval = wilson(total / effect, count / effect, level=level)
    return Interval(total / count, interval.low, interval.high)


def clustered_mean(
    values: Sequence[float],
    clusters: Sequence[Hashable],
    *,
    seed: int = 0,
    resamples: int = RESAMPLES,
    level: float = 0.95,
) -> Interval:
    """Percentile bootstrap interval of a mean, whole clusters resampled; inputs (tasks,).

    With a single cluster its tasks are resampled instead, which is too narrow. The interval has
    no width where all clusters agree, so use `clustered_rate` for rates.
    """
    sums, sizes = _by_cluster(values, clusters)
    if len(sums) == 1:
        sums, sizes = _by_cluster(values, range(len(values)))
    means = _bootstrap_means(np.array(sums), np.array(sizes), seed=seed, resamples=resamples)
    low, high = np.quantile(means, [(1 - level) / 2, (1 + level) / 2])
    value = math.fsum(sums) / math.fsum(sizes)
    return Interval(value, min(float(low), value), max(float(high), value))


def paired_difference(
    first: Mapping[K, float],
    second: Mapping[K, float],
    clusters: Mapping[K, Hashable],
    *,
    seed: int = 0,
    resamples: int = RESAMPLES,
    level: float = 0.95,
) -> PairedDifference:
    """Mean of first - second, paired by task, scenarios resampled.

    Raises ValueError if the two do not cover the same tasks, each with its cluster.
    """
    if first.keys() != second.keys():
        odd = sorted(map(str, first.keys() ^ second.keys()))
        raise ValueError(f"{len(odd)} tasks are on one side only, for example {odd[0]}")
    tasks = list(first)
    interval = clustered_mean(
        [first[task] - second[task] for task in tasks],
        [clusters[task] for task in tasks],
        seed=seed,
        resamples=resamples,
        level=level,
    )
    count = len(tasks)
    return PairedDifference(
        math.fsum(first.values()) / count, math.fsum(second.values()) / count, interval, count
    )


def mcnemar(first: Sequence[bool], second: Sequence[bool]) -> float:
    """Exact two-sided McNemar p of two outcomes a task, shape (tasks,) each.

    Takes tasks as independent; where scenarios bind them, read it beside `paired_difference`.
    """
    pairs = list(zip(first, second, strict=True))
    if not pairs:
        raise ValueError("no tasks to compare")
    gained = sum(a and not b for a, b in pairs)
    lost = sum(b and not a for a, b in pairs)
    discordant = gained + lost
    tail = sum(math.comb(discordant, k) for k in range(min(gained, lost) + 1))
    # Integers until the end: a float power of two overflows beyond 1023 pairs.
    return min(1.0, 2 * tail / (1 << discordant))


def holm(p_values: Sequence[float]) -> tuple[float, ...]:
    """Holm-adjusted p-values, in the order given; none given, none back."""
    if not all(0 <= p <= 1 for p in p_values):
        raise ValueError("a p-value lies outside [0, 1]")
    adjusted = [0.0] * len(p_values)
    highest = 0.0
    for rank, index in enumerate(sorted(range(len(p_values)), key=lambda i: p_values[i])):
        highest = max(highest, min(1.0, (len(p_values) - rank) * p_values[index]))
        adjusted[index] = highest
    return tuple(adjusted)


def _by_cluster(
    values: Sequence[float], clusters: Sequence[Hashable]
) -> tuple[list[float], list[int]]:
    """Sum and size of each cluster, in an order that depends on the values alone."""
    if not values:
        raise ValueError("no values")
    if not all(map(math.isfinite, values)):
        raise ValueError("a value is NaN or infinite")
    members: dict[Hashable, list[float]] = {}
    for value, cluster in zip(values, clusters, strict=True):
        members.setdefault(cluster, []).append(value)
    pairs = sorted((math.fsum(group), len(group)) for group in members.values())
    return [total for total, _ in pairs], [size for _, size in pairs]


def _bootstrap_means(sums: Floats, sizes: Floats, *, seed: int, resamples: int) -> Floats:
    """Means of `resamples` draws of clusters with replacement; shape (resamples,)."""
    count = len(sums)
    stream = np.random.PCG64(derive(seed, "bootstrap").getrandbits(128))
    block = max(1, _BLOCK // count)
    means = np.empty(resamples)
    for start in range(0, resamples, block):
        rows = min(block, resamples - start)
        # Bits above 2**32 make the bias of the remainder negligible for any count here.
        drawn = (stream.random_raw(rows * count) % np.uint64(count)).reshape(rows, count)
        means[start : start + rows] = sums[drawn].sum(axis=1) / sizes[drawn].sum(axis=1)
    return means
