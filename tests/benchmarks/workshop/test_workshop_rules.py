"""What the actions of the workshop do, and what they cannot."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from workshop_cases import HOME, SMALL, jobs, judged, state_after

from auto_research.benchmarks.workshop.jobs import Truth, truth_of
from auto_research.benchmarks.workshop.rules import (
    GIVES,
    OPERATIONS,
    PLACES,
    SEALING,
    TAKES,
    State,
)

FETCHED = ("goto r1", "pick o1")
VERBS = ("goto", "pick", "drop", *OPERATIONS, "sing")
THINGS = ("o1", "o2", "o9", *sorted(PLACES))
ACTIONS = st.lists(st.tuples(st.sampled_from(VERBS), st.sampled_from(THINGS)), max_size=30)


def truth(job_index: int, variant: str = "base") -> Truth:
    job = jobs(variant)[job_index]
    return truth_of(job, {name: (station,) for name, station in job.stations.items()})


def seen(state: State) -> tuple[object, ...]:
    return (
        state.here,
        state.held,
        dict(state.places),
        {thing: frozenset(found) for thing, found in state.attributes.items()},
    )


@pytest.mark.parametrize(
    ("done", "impossible"),
    [
        ((), "pick o1"),  # one is nowhere yet
        (("goto r2",), "pick o1"),  # it lies elsewhere
        (("goto r1",), "pick o9"),  # there is no such thing
        (("goto r1",), "goto o1"),  # a thing is no place
        (FETCHED, "pick o2"),  # only one at a time
        (FETCHED, "drop o2"),
        ((*FETCHED, "goto booth"), "wash o1"),  # done elsewhere
        ((*FETCHED, "drop o1", "goto sink"), "wash o1"),  # not at hand
        ((*FETCHED, "goto press", "wrap o1"), "wrap o1"),  # nothing more can be done to it
        ((*FETCHED, "goto press", "wrap o1", "goto sink"), "wash o1"),
        (FETCHED, "sing o1"),
    ],
)
def test_what_cannot_be_done_fails_and_changes_nothing(
    done: Sequence[str], impossible: str
) -> None:
    state = state_after(*done)
    before = seen(state)
    assert not state.do(*impossible.split())
    assert seen(state) == before


@given(ACTIONS)
def test_no_failed_action_changes_anything(actions: list[tuple[str, str]]) -> None:
    state = SMALL.state()
    for action in actions:
        before = seen(state)
        assert state.do(*action) or seen(state) == before


def test_an_operation_takes_away_what_later_ones_gave_and_nothing_else() -> None:
    for earlier, later in itertools.combinations(OPERATIONS, 2):
        state = state_after(*FETCHED)
        for name in (later, earlier):
            state.do("goto", HOME[name])
            state.do(name, "o1")
        kept = state.attributes["o1"]
        if GIVES[later] == SEALING:
            assert kept == {SEALING}
        elif later == "stamp" or GIVES[later] in TAKES[earlier]:
            assert kept == {GIVES[earlier]}
        state = state_after(*FETCHED)
        for name in (earlier, later):
            assert state.do("goto", HOME[name]) and state.do(name, "o1")
        assert state.attributes["o1"] == {GIVES[earlier], GIVES[later]}


def test_an_action_said_to_be_done_elsewhere_fails() -> None:
    state = state_after("goto r1 entrance", "pick o1 r1", "goto sink r1", "wash o1 sink")
    assert not state.do("goto", "r2", "r1")
    assert not state.do("drop", "o1", "r1")
    assert state.do("drop", "o1", "sink")


def test_the_operations_succeed_in_one_order_only() -> None:
    for index in range(6):
        told = truth(index)
        job = jobs("base")[index]
        for order in itertools.permutations(told.operations):
            assert judged(job, Truth(told.targets, order).actions()) == (order == told.operations)


@pytest.mark.parametrize(
    ("left_out", "missing"),
    [("drop o1", "delivered"), ("wash o1", "processed"), ("wrap o1", "processed")],
)
def test_each_part_of_the_goal_is_needed(left_out: str, missing: str) -> None:
    plan = [*FETCHED, "goto sink", "wash o1", "goto press", "wrap o1", "goto r2", "drop o1"]
    assert all(SMALL.checks(state_after(*plan)).values())
    assert not SMALL.checks(state_after(*(a for a in plan if a != left_out)))[missing]


def test_in_the_end_nothing_may_be_held() -> None:
    plan = [*FETCHED, "goto sink", "wash o1", "goto press", "wrap o1", "goto r2", "drop o1"]
    assert not SMALL.checks(state_after(*plan, "goto r1", "pick o2"))["hands_free"]
