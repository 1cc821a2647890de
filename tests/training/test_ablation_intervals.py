"""Intervals over training seeds and test scenarios: what widens them, and what does not."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from auto_research.agent_research.statistics import clustered_mean
from auto_research.training.ablation_intervals import figure

whole = st.integers(-50, 50)


@st.composite
def grids(draw: st.DrawFn) -> tuple[list[list[int]], list[int]]:
    seeds, scenarios = draw(st.integers(1, 4)), draw(st.integers(1, 6))
    rows = st.lists(whole, min_size=scenarios, max_size=scenarios)
    sizes = st.lists(st.integers(1, 3), min_size=scenarios, max_size=scenarios)
    return draw(st.lists(rows, min_size=seeds, max_size=seeds)), draw(sizes)


@given(grids())
def test_the_value_is_the_mean_of_all_tasks_and_lies_in_its_intervals(
    grid: tuple[list[list[int]], list[int]],
) -> None:
    sums, sizes = grid
    found = figure(sums, sizes, resamples=50)
    assert found.value == pytest.approx(sum(map(sum, sums)) / (len(sums) * sum(sizes)))
    for interval in filter(None, (found.both, found.scenarios)):
        assert interval.low <= found.value <= interval.high


@given(grids(), whole)
def test_adding_the_same_to_every_task_shifts_everything(
    grid: tuple[list[list[int]], list[int]], shift: int
) -> None:
    sums, sizes = grid
    moved = [[s + shift * n for s, n in zip(row, sizes, strict=True)] for row in sums]
    before, after = (figure(g, sizes, resamples=50) for g in (sums, moved))
    assert after.scenarios.low == pytest.approx(before.scenarios.low + shift)
    assert after.scenarios.high == pytest.approx(before.scenarios.high + shift)


def test_one_seed_tells_nothing_of_trainings() -> None:
    found = figure([[0, 1, 0, 1]], [1, 1, 1, 1])
    assert found.both is None
    assert found.scenarios.low < 0.5 < found.scenarios.high


def test_seeds_that_differ_widen_the_interval_though_scenarios_agree() -> None:
    found = figure([[2] * 9, [6] * 9], [1] * 9)
    assert (found.scenarios.low, found.scenarios.high) == (4, 4)
    # One of two seeds is drawn, so that the spread is that of a mean of two, not smaller.
    assert found.both is not None
    assert (found.both.low, found.both.high) == (2, 6)


def test_more_seeds_on_the_same_scenarios_do_not_make_scenarios_surer() -> None:
    row = [0, 1, 1, 0, 1, 0, 0, 1, 1, 1, 0, 1]
    one, five = (figure([row] * seeds, [1] * len(row)) for seeds in (1, 5))
    assert five.both == five.scenarios == one.scenarios


def test_seeds_with_scenarios_of_their_own_do() -> None:
    rows = [[int((s * 7 + k * 5) % 12 < 6) for s in range(12)] for k in range(6)]
    one, six = figure(rows[:1], [1] * 12), figure(rows, [1] * 12)
    assert six.both is not None
    assert six.both.high - six.both.low < one.scenarios.high - one.scenarios.low


def test_scenarios_alone_give_about_what_the_clustered_mean_gives() -> None:
    sums = [[(s * s) % 7 for s in range(60)]]
    ours, other = figure(sums, [1] * 60).scenarios, clustered_mean(sums[0], range(60))
    assert ours.low == pytest.approx(other.low, abs=0.1)
    assert ours.high == pytest.approx(other.high, abs=0.1)


def test_draws_are_named_by_the_seed() -> None:
    sums, sizes = [[s % 5 for s in range(30)], [s % 7 for s in range(30)]], [1] * 30
    assert figure(sums, sizes, seed=1) == figure(sums, sizes, seed=1)
    assert figure(sums, sizes, seed=1).both != figure(sums, sizes, seed=2).both


@pytest.mark.parametrize(
    ("sums", "sizes"),
    [
        ([], []),
        ([[]], []),
        ([[1, 2], [1]], [1, 1]),
        ([[1, 2]], [1]),
        ([[math.nan, 2]], [1, 1]),
        ([[1, math.inf]], [1, 1]),
        ([[0, 0]], [0, 0]),
        ([[1, 2]], [1, -1]),
    ],
)
def test_what_is_no_grid_is_refused(sums: list[list[float]], sizes: list[float]) -> None:
    with pytest.raises(ValueError, match=r"no |NaN"):
        figure(sums, sizes)
