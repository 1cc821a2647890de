"""How sure a figure of several trainings is: over training seeds and test scenarios, or scenarios.

All trainings of an ablation are tested on the same scenarios, so seeds and scenarios are crossed,
not nested: a resample draws scenarios once for all its seeds (the pigeonhole bootstrap; Owen 2007,
Annals of Applied Statistics 1). Of K seeds a resample has K - 1, so that its variance is that of a
mean of K, not (K - 1) / K of it (Rao and Wu 1988, Journal of the American Statistical Association
83), which with three seeds would be a third too small.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from auto_research.agent_research.statistics import Interval
from auto_research.rng import derive

RESAMPLES = 10_000
LEVEL = 0.95
_BLOCK = 1_000_000  # draws in memory at once (8 MB)

Floats = NDArray[np.float64]
Draws = NDArray[np.uint64]


@dataclass(frozen=True, slots=True)
class Figure:
    """A mean over seeds and scenarios. `both` is its interval over both, None with one seed;
    `scenarios` that over scenarios alone, which takes the trainings as given.
    """

    value: float
    both: Interval | None
    scenarios: Interval


def figure(
    sums: Sequence[Sequence[float]],
    sizes: Sequence[float],
    *,
    seed: int = 0,
    resamples: int = RESAMPLES,
    level: float = LEVEL,
) -> Figure:
    """The mean of tasks: `sums` (seeds, scenarios) over `sizes` (scenarios,), alike for each seed.

    For a paired difference the sums are those of the tasks' differences. Percentile intervals;
    they have no width where all agree. Raises ValueError for a grid that is empty or ragged, for
    NaN and infinities, and for sizes that are negative or all 0.
    """
    grid, counts = _checked(sums, sizes)
    value = float(grid.sum() / (len(grid) * counts.sum()))
    by_both, by_scenarios = list[Floats](), list[Floats]()
    for scenarios, seeds in _draws(grid.shape, seed, resamples):
        size = counts[scenarios].sum(1)
        means = np.stack([row[scenarios].sum(1) for row in grid], 1)  # (resamples, seeds)
        means = np.divide(
            means, size[:, None], out=np.full_like(means, value), where=size[:, None] > 0
        )
        by_scenarios.append(means.mean(1))
        by_both.append(np.take_along_axis(means, seeds.astype(np.intp), 1).mean(1))
    over_scenarios = _interval(value, np.concatenate(by_scenarios), level)
    over_both = _interval(value, np.concatenate(by_both), level) if len(grid) > 1 else None
    return Figure(value, over_both, over_scenarios)


def _checked(sums: Sequence[Sequence[float]], sizes: Sequence[float]) -> tuple[Floats, Floats]:
    if len({len(row) for row in sums} | {len(sizes)}) != 1:
        raise ValueError("seeds and scenarios make no grid")
    grid, counts = np.array(sums, dtype=np.float64), np.array(sizes, dtype=np.float64)
    if not grid.size:
        raise ValueError("no values")
    if not (np.isfinite(grid).all() and np.isfinite(counts).all()):
        raise ValueError("a value is NaN or infinite")
    if (counts < 0).any() or not counts.any():
        raise ValueError("no sizes")
    return grid, counts


def _draws(shape: tuple[int, ...], seed: int, resamples: int) -> Iterator[tuple[Draws, Draws]]:
    """Blocks of resamples: scenarios (block, scenarios), and seeds (block, seeds - 1 or 1)."""
    seeds, scenarios = shape
    streams = [
        np.random.PCG64(derive(seed, "ablation", name).getrandbits(128))
        for name in ("scenarios", "seeds")
    ]
    most = max(1, _BLOCK // scenarios)
    for start in range(0, resamples, most):
        rows = min(most, resamples - start)
        yield (
            _below(streams[0], rows, scenarios, scenarios),
            _below(streams[1], rows, max(1, seeds - 1), seeds),
        )


def _below(stream: np.random.PCG64, rows: int, columns: int, end: int) -> Draws:
    """Whole numbers below `end`; with so many bits the bias of the remainder does not show."""
    raw: Draws = stream.random_raw(rows * columns)
    return (raw % np.uint64(end)).reshape(rows, columns)


def _interval(value: float, means: Floats, level: float) -> Interval:
    low, high = np.quantile(means, [(1 - level) / 2, (1 + level) / 2])
    return Interval(value, min(float(low), value), max(float(high), value))
