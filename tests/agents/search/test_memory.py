"""A problem that was met before is worked at in less time, and for the same units and results."""

from __future__ import annotations

from contextlib import suppress

import hypothesis.strategies as st
import pytest
from hypothesis import given
from search_examples import Bill, problem_of

from auto_research.agent_research.agents.search.forward import Searcher
from auto_research.agent_research.agents.search.memory import Charge, Memory
from auto_research.errors import BudgetExceeded
from auto_research.pddl import Step

Found = tuple[list[Step] | None, dict[str, int], Bill]


def found(
    name: str,
    memory: Memory | None,
    cap: int,
    weights: dict[str, int],
    limit: int | None = None,
) -> Found:
    """The plan, what was tried and the bill, of a search that may run out of units."""
    problem, bill, steps = problem_of(name), Bill(cap), None
    searcher = Searcher(problem, bill.charge, weights, memory)
    with suppress(BudgetExceeded):
        steps = searcher.plan(problem.init, problem.goal, limit)
    return steps, dict(searcher.tried), bill


@pytest.mark.parametrize("weights", [{}, {"stack": 3, "drive": 2}])
@pytest.mark.parametrize("name", ["blocks", "parcels", "paint"])
def test_with_a_memory_everything_is_as_without_one(name: str, weights: dict[str, int]) -> None:
    whole = found(name, None, 10**9, weights)[2].total()
    memory = Memory()
    found(name, memory, 10**9, weights)
    for cap in range(0, whole + 2, max(1, whole // 40)):
        assert found(name, memory, cap, weights) == found(name, None, cap, weights)


LIMITS = st.none() | st.integers(-1, 9)


@given(
    name=st.sampled_from(["blocks", "parcels", "paint"]),
    searches=st.lists(st.tuples(st.integers(0, 40), LIMITS), min_size=2, max_size=6),
)
def test_a_search_known_in_part_goes_as_one_that_is_not_known(
    name: str, searches: list[tuple[int, int | None]]
) -> None:
    memory = Memory()
    for cap, limit in searches:
        assert found(name, memory, cap, {}, limit) == found(name, None, cap, {}, limit)


def test_what_is_known_is_charged_and_not_worked_out_again() -> None:
    worked, memory = [], Memory()

    def work(charge: Charge) -> str:
        worked.append(1)
        for _ in range(3):
            charge("expand", 1)
        return "found"

    bill = Bill()
    results = [memory.recall("key", "expand", bill.charge, work) for _ in range(4)]
    assert results == ["found"] * 4 and len(worked) == 1 and bill == {"expand": 12}


def test_what_was_broken_off_for_want_of_units_is_not_known() -> None:
    memory = Memory()

    def work(charge: Charge) -> str:
        for _ in range(3):
            charge("expand", 1)
        return "found"

    with pytest.raises(BudgetExceeded):
        memory.recall("key", "expand", Bill(2).charge, work)
    bill = Bill()
    assert memory.recall("key", "expand", bill.charge, work) == "found" and bill == {"expand": 3}
