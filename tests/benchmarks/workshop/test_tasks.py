"""The stream of tasks: what it depends on, what its splits share, what anybody may see of it."""

from __future__ import annotations

import itertools
import re

import pytest
from workshop_cases import jobs

from auto_research.benchmarks.base import SPLITS, Referenced, Split, Worldly
from auto_research.benchmarks.workshop import WorkshopBenchmark, generate
from auto_research.benchmarks.workshop.rules import GIVES, OPERATIONS, STATIONS
from auto_research.benchmarks.workshop.sizes import CANDIDATES, Variant
from auto_research.errors import UserError

VARIANTS: tuple[Variant, ...] = ("base", "hid")


@pytest.mark.parametrize("variant", VARIANTS)
def test_a_scenario_depends_on_its_number_and_not_on_how_many_are_asked_for(
    variant: Variant,
) -> None:
    many = WorkshopBenchmark(variant).scenarios("train", 3, 12)
    again = WorkshopBenchmark(variant).scenarios("train", 3, 5)
    assert repr(many[:5]) == repr(again)
    assert all(len(scenario.tasks) == 3 for scenario in many)
    ids = [task.id for scenario in many for task in scenario.tasks]
    assert len(set(ids)) == 36


@pytest.mark.parametrize("other", [("test", 3), ("train", 4)])
def test_another_split_or_seed_has_other_tasks(other: tuple[Split, int]) -> None:
    benchmark = WorkshopBenchmark("base")
    one, two = benchmark.scenarios("train", 3, 10), benchmark.scenarios(*other, 10)
    assert not {s.id for s in one} & {s.id for s in two}


def test_no_two_splits_share_a_set_of_operations() -> None:
    by_split = [set(generate.subsets()[split]) for split in SPLITS]
    assert all(by_split)
    assert not any(one & two for one, two in itertools.combinations(by_split, 2))
    for split, allowed in zip(SPLITS, by_split, strict=True):
        drawn = {generate.scenario("hid", split, 1, n)[0].operations for n in range(300)}
        assert drawn == allowed


def test_the_tasks_of_a_scenario_share_operations_and_stations() -> None:
    for number in range(20):
        tasks = generate.scenario("hid", "train", 5, number)
        assert len({(t.operations, *t.stations.items()) for t in tasks}) == 1


def test_the_variants_differ_in_the_stations_alone() -> None:
    base, hid = jobs("base"), jobs("hid")
    assert [job.words() for job in base] == [job.words() for job in hid]
    assert all(tuple(job.stations.values()) == STATIONS for job in base)
    drawn = {(name, station) for job in hid for name, station in job.stations.items()}
    told = generate.candidates("hid")
    assert drawn == {(name, station) for name in OPERATIONS for station in told[name]}
    assert all(len(set(told[name])) == CANDIDATES for name in OPERATIONS)


def test_the_words_say_where_each_thing_is_and_where_it_goes_side_by_side() -> None:
    for job in jobs("base"):
        told = re.fullmatch(r"INIT (.*) GO", job.words())
        assert told is not None
        for piece, said in zip(job.pieces, told[1].split(" , "), strict=True):
            thing, start, *goal = said.split()
            assert (thing, start) == (piece.thing, piece.start)
            if piece.destination is None:
                assert not goal
            else:
                assert goal[0] == "GOAL" and goal[-1] == piece.destination
                assert set(goal[1:-1]) == {GIVES[name] for name in job.operations}
        assert 2 <= len(job.targets()) == len(job.pieces) - 1 <= 3
        assert all(target.start != target.destination for target in job.targets())


def test_the_truth_of_a_task_is_its_own() -> None:
    benchmark = WorkshopBenchmark("hid")
    for number, scenario in enumerate(benchmark.scenarios("validation", 7, 10)):
        drawn = generate.scenario("hid", "validation", 7, number)
        for task, job in zip(scenario.tasks, drawn, strict=True):
            truth = benchmark.truth(task.id)
            assert truth.targets == job.targets()
            assert tuple(o.name for o in truth.operations) == job.operations
            for operation in truth.operations:
                assert operation.station == job.stations[operation.name]
                assert operation.station in operation.candidates


def test_a_task_that_was_not_handed_out_has_no_world_and_no_truth() -> None:
    other = WorkshopBenchmark("base")
    task = WorkshopBenchmark("hid").scenarios("train", 0, 1)[0].tasks[0]
    for refused in (other.environment, other.reference, lambda t: other.truth(t.id)):
        with pytest.raises(UserError, match="handed out no task"):
            refused(task)


def test_the_hash_tells_the_variants_apart_and_the_benchmark_has_worlds() -> None:
    base, hid = (WorkshopBenchmark(variant) for variant in VARIANTS)
    assert base.content_hash() == WorkshopBenchmark("base").content_hash() != hid.content_hash()
    assert isinstance(base, Worldly) and isinstance(base, Referenced)
