"""Intervals must not claim more than the tasks can show."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from auto_research.agent_research.statistics import (
    clustered_mean,
    clustered_rate,
    holm,
    mcnemar,
    paired_difference,
    wilson,
)
from auto_research.rng import derive

SCENARIOS = [scenario for scenario in range(40) for _ in range(3)]


def test_wilson_gives_the_textbook_interval() -> None:
    # Newcombe 1998, table I: 81 of 263 and 0 of 20.
    some, none = wilson(81, 263), wilson(0, 20)
    assert (round(some.low, 4), round(some.high, 4)) == (0.2553, 0.3662)
    assert (none.low, round(none.high, 4)) == (0.0, 0.1611)


def test_a_rate_of_one_keeps_a_width_that_counts_scenarios_not_tasks() -> None:
    perfect = clustered_rate([True] * 120, SCENARIOS)
    assert perfect.value == perfect.high == 1.0
    assert perfect.low < wilson(120, 120).low
    assert perfect.low == pytest.approx(wilson(40, 40).low, abs=0.02)


def test_one_failure_more_never_raises_the_interval() -> None:
    for failures in range(120):
        better = clustered_rate([True] * (120 - failures) + [False] * failures, SCENARIOS)
        worse = clustered_rate([True] * (119 - failures) + [False] * (failures + 1), SCENARIOS)
        assert worse.low <= better.low + 1e-9
        assert worse.high <= better.high + 1e-9


def test_a_rate_with_one_task_a_cluster_is_plain_wilson() -> None:
    outcomes = [True] * 30 + [False] * 10
    interval, plain = clustered_rate(outcomes, range(40)), wilson(30, 40)
    assert (interval.low, interval.high) == pytest.approx((plain.low, plain.high))


def test_outcomes_bound_by_scenario_widen_the_interval() -> None:
    bound = [scenario % 2 == 0 for scenario in SCENARIOS]
    spread = [index % 2 == 0 for index in range(120)]
    wide, narrow = clustered_rate(bound, SCENARIOS), clustered_rate(spread, SCENARIOS)
    assert wide.high - wide.low > 1.5 * (narrow.high - narrow.low)


@pytest.mark.parametrize("rate", [0.5, 0.9, 0.98])
@pytest.mark.parametrize("bound", [0.0, 0.5])
def test_the_clustered_rate_covers_the_truth_as_often_as_it_says(rate: float, bound: float) -> None:
    rng, covered, trials = derive(0, "coverage", rate, bound), 0, 400
    for _ in range(trials):
        outcomes: list[bool] = []
        for _ in range(40):
            shared, together = rng.random() < rate, rng.random() < bound
            outcomes += [shared if together else rng.random() < rate for _ in range(3)]
        interval = clustered_rate(outcomes, SCENARIOS)
        covered += interval.low <= rate <= interval.high
    assert covered / trials >= 0.93


def test_the_clustered_mean_covers_the_truth_as_often_as_it_says() -> None:
    rng, covered, trials = derive(0, "coverage of means"), 0, 300
    for _ in range(trials):
        values: list[float] = []
        for _ in range(40):
            shared = rng.gauss(0.3, 0.1)
            values += [shared + rng.gauss(0, 0.05) for _ in range(3)]
        interval = clustered_mean(values, SCENARIOS, resamples=500)
        covered += interval.low <= 0.3 <= interval.high
    assert covered / trials >= 0.91


@given(st.permutations(range(30)))
def test_the_order_of_tasks_changes_nothing(order: list[int]) -> None:
    values = [math.sin(index) for index in range(30)]
    clusters = [f"s{index % 7}" for index in range(30)]
    shuffled = clustered_mean([values[i] for i in order], [clusters[i] for i in order])
    assert shuffled == clustered_mean(values, clusters)


def test_the_bootstrap_draws_the_same_numbers_on_every_machine() -> None:
    interval = clustered_mean([0.1, 0.2, 0.4, 0.8, 1.6], range(5), seed=1)
    assert (interval.value, interval.low, interval.high) == pytest.approx((0.62, 0.2, 1.14))


def test_a_large_run_is_resampled_in_blocks_without_changing_its_meaning() -> None:
    values = [float(index % 2) for index in range(9_000)]
    interval = clustered_mean(values, range(9_000), resamples=300)
    assert interval.low == pytest.approx(0.49, abs=0.005)
    assert interval.high == pytest.approx(0.51, abs=0.005)


def test_a_single_cluster_still_gives_an_interval() -> None:
    interval = clustered_mean([0.0, 1.0, 0.0, 1.0], ["only"] * 4)
    assert interval.low < interval.value < interval.high
    assert clustered_mean([3.0], ["only"]).low == 3.0


def test_a_paired_difference_is_surer_than_two_separate_means() -> None:
    hard = {task: (task * 37 % 100) / 100 for task in range(120)}
    first = {task: level + 0.1 + 0.01 * (task % 2) for task, level in hard.items()}
    scenarios = dict(enumerate(SCENARIOS))
    paired = paired_difference(first, hard, scenarios)
    assert paired.pairs == 120
    assert paired.difference.value == pytest.approx(paired.first - paired.second)
    assert 0.1 < paired.difference.low <= paired.difference.high < 0.11
    alone = clustered_mean(list(first.values()), SCENARIOS)
    assert alone.high - alone.low > 10 * (paired.difference.high - paired.difference.low)


def test_a_paired_difference_does_not_depend_on_the_order_of_either_side() -> None:
    first = {task: math.cos(task) for task in range(30)}
    second = {task: math.sin(task) for task in range(30)}
    scenarios = {task: task // 3 for task in range(30)}
    backwards = dict(reversed(first.items()))
    assert paired_difference(backwards, second, scenarios) == paired_difference(
        first, second, scenarios
    )


def test_tasks_on_one_side_only_are_refused() -> None:
    with pytest.raises(ValueError, match="1 tasks are on one side only, for example t2"):
        paired_difference({"t1": 1.0, "t2": 0.0}, {"t1": 1.0}, {"t1": "s", "t2": "s"})


def test_mcnemar_counts_discordant_pairs_only() -> None:
    # 6 gained, 0 lost: two-sided binomial 2 / 2**6. Agreement adds nothing.
    first, second = [True] * 6 + [True] * 50, [False] * 6 + [True] * 50
    assert mcnemar(first, second) == mcnemar(second, first) == 2 / 64
    assert mcnemar(first, first) == 1.0
    assert mcnemar([True] * 5_000, [False] * 5_000) == 0.0


def test_holm_steps_down_and_stays_monotone() -> None:
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx((0.03, 0.06, 0.06, 0.02))
    assert holm([0.6, 0.9]) == (1.0, 1.0)
    assert holm([]) == ()


def test_nan_infinite_and_missing_values_are_refused() -> None:
    for values in ([math.nan, 1.0], [math.inf, 1.0]):
        with pytest.raises(ValueError, match="NaN or infinite"):
            clustered_mean(values, ["a", "b"])
    with pytest.raises(ValueError, match="no values"):
        clustered_rate([], [])
    with pytest.raises(ValueError, match="no rate"):
        wilson(1, 0)
    with pytest.raises(ValueError, match="outside"):
        holm([math.nan])
    with pytest.raises(ValueError, match="no tasks"):
        mcnemar([], [])
