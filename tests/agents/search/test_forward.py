"""Search from scratch finds plans that hold, pays for each step, and stops where it must."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from search_examples import Bill, end_of, found_plan, problem_of, solves, task_problem

from auto_research.agent_research.agents.search.forward import Searcher, reachable_steps, unify
from auto_research.benchmarks.base import Scenario
from auto_research.benchmarks.planbench.render import instance_of, problem_text
from auto_research.benchmarks.planbench.variants import Names, rename_instance
from auto_research.errors import BudgetExceeded
from auto_research.pddl import Problem, read_problem
from auto_research.pddl.strips import instantiate

SMALL = ("blocks", "parcels", "odd", "paint")


@pytest.mark.parametrize("name", SMALL)
def test_a_plan_found_solves_the_problem(name: str) -> None:
    problem = problem_of(name)
    assert solves(problem, found_plan(problem))


def test_every_small_task_of_the_mini_suite_is_solved(validation: Sequence[Scenario]) -> None:
    for scenario in validation:
        problem = task_problem(scenario.tasks[0])
        assert solves(problem, found_plan(problem)), scenario.id


def test_a_goal_that_holds_at_the_start_needs_no_step_and_no_expansion() -> None:
    problem, bill = problem_of("blocks"), Bill()
    assert Searcher(problem, bill.charge).plan(problem.init, [("on", "c", "a")]) == []
    assert bill["expand"] == 0


def test_a_goal_that_nothing_can_bring_about_has_no_plan() -> None:
    problem = problem_of("blocks")
    searcher = Searcher(problem, Bill().charge)
    assert searcher.plan(problem.init, [("on", "a", "nosuch")]) is None
    assert searcher.plan(problem.init, [("on", "a", "b"), ("on", "b", "a")]) is None


def test_the_first_search_pays_for_each_ground_action_and_later_ones_only_for_expansions() -> None:
    problem, bill = problem_of("blocks"), Bill()
    steps = reachable_steps(problem, Bill().charge)
    searcher = Searcher(problem, bill.charge)
    searcher.plan(problem.init, problem.goal)
    assert bill["ground"] == len(steps) == len(set(steps))
    first = bill["expand"]
    assert first > 0 and set(bill) == {"ground", "expand"}
    searcher.plan(problem.init, problem.goal)
    assert (bill["ground"], bill["expand"]) == (len(steps), 2 * first)


def test_reachable_steps_are_all_that_can_ever_be_done() -> None:
    # Three blocks, worked out by hand: 3 pick-ups, 3 put-downs; any block on any other block or on
    # itself, since a relaxed world forgets that what is held is not clear.
    steps = reachable_steps(problem_of("blocks"), Bill().charge)
    counts = {name: sum(s[0] == name for s in steps) for name in dict.fromkeys(s[0] for s in steps)}
    assert counts == {"pick-up": 3, "put-down": 3, "stack": 9, "unstack": 9}


def test_no_more_states_are_expanded_than_the_limit_says() -> None:
    problem = problem_of("parcels")
    whole = Bill()
    Searcher(problem, whole.charge).plan(problem.init, problem.goal)
    for limit in range(whole["expand"] + 1):
        bill = Bill()
        plan = Searcher(problem, bill.charge).plan(problem.init, problem.goal, limit)
        assert bill["expand"] == limit
        assert (plan is not None) == (limit == whole["expand"])


def test_past_the_cap_nothing_is_spent() -> None:
    problem, whole = problem_of("parcels"), Bill()
    Searcher(problem, whole.charge).plan(problem.init, problem.goal)
    for cap in range(whole.total()):
        bill = Bill(cap)
        with pytest.raises(BudgetExceeded):
            Searcher(problem, bill.charge).plan(problem.init, problem.goal)
        assert bill.total() == cap


def test_the_same_search_finds_the_same_plan_at_the_same_price(
    validation: Sequence[Scenario],
) -> None:
    for scenario in validation[:6]:
        runs = []
        for _ in range(2):
            bill, problem = Bill(), task_problem(scenario.tasks[0])
            runs.append((Searcher(problem, bill.charge).plan(problem.init, problem.goal), bill))
        assert runs[0] == runs[1]


def test_a_search_may_start_anywhere() -> None:
    problem = problem_of("blocks")
    start = end_of(problem, [("unstack", "c", "a")])
    assert start is not None
    plan = Searcher(problem, Bill().charge).plan(start, [("on", "c", "b")])
    assert plan == [("stack", "c", "b")]


def test_a_fact_that_never_changes_may_be_part_of_the_goal() -> None:
    problem = problem_of("paint")
    assert ("wall", "south") in problem.goal
    assert set(found_plan(problem)) == {("paint", "north"), ("strip", "south")}


@settings(max_examples=30, deadline=None)
@given(
    name=st.sampled_from(("blocks", "parcels", "odd")),
    shuffle=st.randoms(use_true_random=False),
)
def test_under_other_object_names_a_plan_still_solves_the_problem(
    name: str, shuffle: Random
) -> None:
    problem = problem_of(name)
    own = [o for o in problem.objects if o not in problem.domain.constants]
    renamed = renamed_problem(problem, dict(zip(own, shuffle.sample(own, len(own)), strict=True)))
    plan = found_plan(renamed)
    assert solves(renamed, plan)


def renamed_problem(problem: Problem, objects: dict[str, str]) -> Problem:
    instance = rename_instance(instance_of(problem), Names(objects=objects))
    return read_problem(problem_text(instance, problem.domain.name), problem.domain)


def test_every_step_of_a_plan_is_one_that_was_paid_for(validation: Sequence[Scenario]) -> None:
    problem = task_problem(validation[0].tasks[0])
    steps = set(reachable_steps(problem, Bill().charge))
    assert set(found_plan(problem)) <= steps
    assert all(instantiate(problem.domain, step) is not None for step in steps)


def test_unify_binds_each_variable_once() -> None:
    assert unify(("on", "?x", "?y"), ("on", "a", "b"), {}) == {"?x": "a", "?y": "b"}
    assert unify(("on", "?x", "?x"), ("on", "a", "b"), {}) is None
    assert unify(("on", "?x", "?y"), ("on", "a", "b"), {"?x": "b"}) is None
    assert unify(("on", "?x"), ("on", "a", "b"), {}) is None
    assert unify(("on", "a", "?y"), ("on", "c", "b"), {}) is None
