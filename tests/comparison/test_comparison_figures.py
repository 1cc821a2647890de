"""Figures, differences and the front, with the numbers worked by hand."""

from __future__ import annotations

import math
from collections import Counter
from pathlib import Path

import pytest
from compared_runs import Did, config, line, lines, write
from hypothesis import given
from hypothesis import strategies as st

from auto_research.agent_research.statistics import Interval
from auto_research.comparison.figures import (
    difference,
    figures,
    pareto_front,
    task_differences,
    units,
)
from auto_research.comparison.matching import Line
from auto_research.comparison.runs import Outcome, RunRecord

RIGHT, WRONG = Did(), Did(False)


def test_total_cost_is_all_units_over_test_episodes_and_b(tmp_path: Path) -> None:
    mine = line(tmp_path, "sage", [Did(units=60), Did(units=140)], trained=[70, 30], probed=[50])
    found = figures(mine)
    assert found["cost"].value == pytest.approx((0.6 + 1.0) / 2)  # the second is capped at 1
    assert found["total_cost"].value == pytest.approx((100 + 50 + 200) / 2 / 100)
    assert {phase: getattr(x, "value", x) for phase, x in units(mine).items()} == {
        "training": 50,
        "probes": 25,
        "test": 100,
    }


def test_each_run_is_charged_for_its_own_training(tmp_path: Path) -> None:
    paths = [write(tmp_path, "sage", [Did(units=50)], seed=s, trained=[100]) for s in (1, 2)]
    (both,) = lines(paths)
    assert figures(both)["total_cost"].value == pytest.approx(1.5)


def test_a_scenario_counts_once_and_only_if_all_of_it_is_right(tmp_path: Path) -> None:
    found = figures(line(tmp_path, "sage", [RIGHT] * 3 + [RIGHT, WRONG, RIGHT]))
    assert found["joint"].value == pytest.approx(5 / 6)
    assert found["sgc"].value == 0.5


def test_errors_stay_in_the_denominator(tmp_path: Path) -> None:
    did = [RIGHT] * 2 + [WRONG] * 4 + [Did(None, error="gone"), Did(None)]
    assert figures(line(tmp_path, "sage", did))["joint"].value == 0.25


def test_one_training_has_no_interval_two_have_one(tmp_path: Path) -> None:
    given = [(seed, train) for train in (0, 1) for seed in (1, 2)]
    paths = [
        write(tmp_path / str(t), "sage", [RIGHT], seed=s, train_seed=t, trained=[100 + 50 * t])
        for s, t in given
    ]
    (one,) = lines(paths[:2])
    assert units(one)["training"] == 100
    (two,) = lines(paths)
    found = units(two)["training"]
    assert isinstance(found, Interval)
    assert (found.low, found.value, found.high) == (100, 125, 150)


def test_probes_of_the_test_stream_vary_by_run(tmp_path: Path) -> None:
    (mine,) = lines(write(tmp_path, "gso", [RIGHT], seed=s, probed=[10 * s]) for s in (1, 2, 3))
    found = units(mine)["probes"]
    assert isinstance(found, Interval)
    assert (found.low, found.value, found.high) == (10, 20, 30)


def test_the_same_scenario_under_another_train_seed_is_no_new_evidence(tmp_path: Path) -> None:
    did = [RIGHT] * 6 + [WRONG] * 6
    once = figures(line(tmp_path, "sage", did))["joint"]
    many = [write(tmp_path / str(t), "sage", did, train_seed=t) for t in range(5)]
    (five,) = lines(many)
    joint = figures(five)["joint"]
    assert (joint.low, joint.high) == pytest.approx((once.low, once.high))
    seeds = [write(tmp_path / f"s{s}", "sage", did, seed=s) for s in range(5)]
    (wide,) = lines(seeds)
    assert figures(wide)["joint"].low > once.low


def test_a_difference_is_paired_by_task(tmp_path: Path) -> None:
    base = line(tmp_path, "react", [WRONG] * 6 + [RIGHT] * 3)
    mine = line(tmp_path, "sage", [RIGHT] * 5 + [WRONG] + [WRONG, RIGHT, RIGHT], trained=[90])
    found = difference(mine, base)
    assert found is not None
    assert (found.pairs, found.gained, found.lost) == (9, 5, 1)
    assert found.joint.value == pytest.approx(4 / 9)
    assert found.cost == Interval(0, 0, 0)
    assert found.total_cost.value == pytest.approx(90 / 9 / 100)
    assert found.p == pytest.approx(2 * (math.comb(6, 0) + math.comb(6, 1)) / 2**6)
    told = Counter(task.joint for task in task_differences(mine, base))
    assert told == {1: 5, 0: 3, -1: 1}


def test_lines_without_a_common_task_have_no_difference(tmp_path: Path) -> None:
    one, other = line(tmp_path, "sage", [RIGHT]), line(tmp_path, "react", [RIGHT], seed=2)
    assert difference(one, other) is None
    assert task_differences(one, other) == []


def test_the_front_holds_what_nobody_beats() -> None:
    points = {
        "cheap": (0.5, 0.1),
        "good": (0.9, 0.5),
        "beaten": (0.9, 0.6),
        "worse": (0.4, 0.2),
        "twin": (0.9, 0.5),
    }
    assert pareto_front(points) == ["cheap", "good", "twin"]


@given(st.dictionaries(st.text(min_size=1), st.tuples(st.floats(0, 1), st.floats(0, 9))))
def test_every_point_is_on_the_front_or_beaten_by_one_that_is(
    points: dict[str, tuple[float, float]],
) -> None:
    front = pareto_front(points)
    for name, (joint, cost) in points.items():
        beaten = any(
            points[f][0] >= joint and points[f][1] <= cost and points[f] != (joint, cost)
            for f in front
        )
        assert (name in front) is not beaten


@given(st.lists(st.tuples(st.booleans(), st.booleans()), min_size=1, max_size=8))
def test_a_difference_turns_its_sign_with_its_sides(pairs: list[tuple[bool, bool]]) -> None:
    one, other = in_memory([a for a, _ in pairs]), in_memory([b for _, b in pairs])
    there = difference(one, other, resamples=10)
    back = difference(other, one, resamples=10)
    assert there is not None and back is not None
    assert there.joint.value == pytest.approx(-back.joint.value)
    assert (there.gained, there.lost, there.p) == (back.lost, back.gained, back.p)


def in_memory(successes: list[bool]) -> Line:
    nothing = ((), (), None, None)
    outcomes = tuple(
        Outcome(f"s{n // 3}", f"t{n}", success, False, 0.5, 50, 1, 0, nothing)
        for n, success in enumerate(successes)
    )
    spent = {"training": 0, "probes": 0, "test": 50 * len(successes)}
    return Line("m", (RunRecord(Path("m"), config("m", 1, len(outcomes)), outcomes, spent),))
