"""What a plan shows: the exact rules of two small plans, and plans cut down to what they need."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from search_examples import Bill, atoms, end_of, found_plan, problem_of, solves, task_problem

from auto_research.agent_research.agents.search.causes import learn, trim
from auto_research.agent_research.agents.search.forward import Searcher
from auto_research.agent_research.agents.search.rules import Program, Rule, merge, schema_program
from auto_research.benchmarks.base import Scenario
from auto_research.benchmarks.planbench.walk import random_walk
from auto_research.errors import BudgetExceeded
from auto_research.pddl import Problem, Step
from auto_research.rng import derive

BLOCKS_PLAN: list[Step] = [
    ("unstack", "c", "a"),
    ("put-down", "c"),
    ("pick-up", "a"),
    ("stack", "a", "b"),
]
PARCELS_PLAN: list[Step] = [
    ("drive", "red", "depot", "shop", "here"),
    ("load", "box", "red", "shop"),
    ("drive", "red", "shop", "home", "here"),
    ("unload", "box", "red", "home"),
]


def rule(
    head: str,
    action: str,
    needs: str,
    *,
    static: str = "",
    via: str = "",
    given: str = "",
    seen: int = 1,
) -> Rule:
    return Rule(
        atoms(head)[0], atoms(action)[0], *map(atoms, (needs, static, via, given)), seen=seen
    )


def learned(problem: Problem, plan: Sequence[Step]) -> Program:
    assert solves(problem, plan)
    return learn(problem.domain, problem.init, problem.goal, plan)


def test_a_plan_of_blocks_shows_exactly_these_rules() -> None:
    program = learned(problem_of("blocks"), BLOCKS_PLAN)
    assert program.goals == {"on"}
    assert program.hints == {}  # one goal waits for nobody
    assert set(program.rules) == {
        # To clear a block, take off whatever is on it: that is tied to it, so a `via`.
        rule(
            "(clear ?underob)",
            "(unstack ?ob ?underob)",
            "(on ?ob ?underob) (clear ?ob) (handempty)",
            via="(on ?ob ?underob)",
            given="(clear ?ob) (handempty)",
        ),
        rule("(handempty)", "(put-down ?ob)", "(holding ?ob)", given="(holding ?ob)"),
        # The hand was empty and c clear at the start, so the plan does not show how to see to it.
        rule(
            "(holding ?ob)",
            "(unstack ?ob ?underob)",
            "(on ?ob ?underob) (clear ?ob) (handempty)",
            via="(on ?ob ?underob)",
            given="(clear ?ob) (handempty)",
        ),
        # Here they were brought about for this very goal; only `ontable` was as it had been.
        rule(
            "(holding ?ob)",
            "(pick-up ?ob)",
            "(ontable ?ob) (clear ?ob) (handempty)",
            given="(ontable ?ob)",
        ),
        rule(
            "(on ?ob ?underob)",
            "(stack ?ob ?underob)",
            "(clear ?underob) (holding ?ob)",
            given="(clear ?underob) (ontable ?ob)",
        ),
    }


def test_a_plan_of_parcels_shows_exactly_these_rules() -> None:
    program = learned(problem_of("parcels"), PARCELS_PLAN)
    assert set(program.rules) == {
        # Shown twice: to fetch and to bring. Where the van comes from is looked up, not a subgoal.
        rule(
            "(at ?v ?to)",
            "(drive ?v ?from ?to ?t)",
            "(at ?v ?from)",
            static="(:van ?v) (:place ?from) (:place ?to) (:town ?t) (of ?from ?t) (of ?to ?t)",
            via="(at ?v ?from)",
            seen=2,
        ),
        # Which van? One that stands in the town of the place: a chain over the steps before.
        rule(
            "(at ?x ?p)",
            "(unload ?x ?v ?p)",
            "(in ?x ?v) (at ?v ?p)",
            static="(:parcel ?x) (:van ?v) (:place ?p)",
            via="(of ?p ?t) (of ?from ?t) (at ?v ?from)",
        ),
        rule(
            "(in ?x ?v)",
            "(load ?x ?v ?p)",
            "(at ?x ?p) (at ?v ?p)",
            static="(:parcel ?x) (:van ?v) (:place ?p)",
            via="(at ?x ?p)",
        ),
    }


def test_a_goal_that_builds_on_another_waits_for_it() -> None:
    problem = problem_of("blocks")
    start = end_of(problem, BLOCKS_PLAN)
    assert start is not None
    goal = (("on", "a", "b"), ("on", "c", "a"))
    plan = [*BLOCKS_PLAN, ("pick-up", "c"), ("stack", "c", "a")]
    program = learn(problem.domain, problem.init, goal, plan)
    # (on c a) comes after (on a b): argument 1 of the later goal is argument 0 of the earlier.
    assert program.hints == {("on", 1, "on", 0): 1}


def test_merging_adds_up_witnesses_and_keeps_what_was_given_in_all() -> None:
    one = rule("(p ?x)", "(do ?x ?y)", "(q ?y)", given="(q ?y) (r ?x)")
    other = rule("(p ?a)", "(do ?a ?b)", "(q ?b)", given="(q ?b) (s ?a)")
    merged = merge([Program((one,), {("p", 0, "p", 0): 1}), Program((other,))])
    assert merged.rules == (rule("(p ?x)", "(do ?x ?y)", "(q ?y)", given="(q ?y)", seen=2),)
    assert merged.hints == {("p", 0, "p", 0): 1}
    assert merge([merged]) == merged


def test_merging_is_the_same_whatever_the_order_of_equal_programs(
    validation: Sequence[Scenario],
) -> None:
    for scenario in validation[:4]:
        problem = task_problem(scenario.tasks[0])
        program = learned(problem, found_plan(problem))
        assert merge([program, program]) == merge([merge([program, program])])
        assert {r.seen for r in merge([program, program]).rules} == {
            2 * r.seen for r in program.rules
        }


def test_every_schema_becomes_rules_with_nothing_learned() -> None:
    problem = problem_of("parcels")
    program = schema_program(problem.domain, problem.goal)
    assert {(r.head[0], r.action[0]) for r in program.rules} == {
        ("in", "load"),
        ("at", "unload"),
        ("at", "drive"),
    }
    assert all(r.via == () and r.seen == 1 for r in program.rules)


def test_trim_drops_a_detour_and_keeps_the_rest() -> None:
    problem, bill = problem_of("blocks"), Bill()
    detour: list[Step] = [("pick-up", "b"), ("put-down", "b")]
    plan = [*detour, *BLOCKS_PLAN[:2], *detour, *BLOCKS_PLAN[2:]]
    assert trim(problem, problem.init, problem.goal, plan, bill.charge) == BLOCKS_PLAN
    assert set(bill) == {"act"} and bill["act"] > len(plan)


def test_trim_pays_for_each_simulated_step_and_stops_at_the_cap() -> None:
    problem, whole = problem_of("blocks"), Bill()
    trim(problem, problem.init, problem.goal, BLOCKS_PLAN, whole.charge)
    # Each of four steps is left out once. Without the first, the second cannot be done but may go
    # too; so all that is left is simulated each time.
    assert whole["act"] == 4 * 3
    bill = Bill(cap=whole["act"] - 1)
    with pytest.raises(BudgetExceeded):
        trim(problem, problem.init, problem.goal, BLOCKS_PLAN, bill.charge)
    assert bill.total() == whole["act"] - 1


@settings(max_examples=40, deadline=None)
@given(
    name=st.sampled_from(("blocks", "parcels", "odd", "paint")),
    seed=st.integers(0, 10**6),
    length=st.integers(0, 12),
)
def test_a_trimmed_plan_still_solves_the_problem(name: str, seed: int, length: int) -> None:
    problem = problem_of(name)
    walk = random_walk(derive(seed, "trim"), problem, length)
    rest = Searcher(problem, Bill().charge).plan(walk.states[-1], problem.goal)
    if rest is None:
        return
    plan = [*walk.steps, *rest]
    shorter = trim(problem, problem.init, problem.goal, plan, Bill().charge)
    assert solves(problem, shorter)
    left = iter(plan)
    assert all(step in left for step in shorter)  # nothing new, in the old order


def test_every_rule_learned_knows_all_that_its_action_asks_for(
    validation: Sequence[Scenario],
) -> None:
    for scenario in validation:
        problem = task_problem(scenario.tasks[0])
        program = learned(problem, found_plan(problem))
        assert program.rules, scenario.id
        for known in program.rules:
            schema = problem.domain.schemas[known.action[0]]
            filled = dict(zip(schema.params, known.action[1:], strict=True))
            asked = {(a[0], *(filled.get(x, x) for x in a[1:])) for a in schema.pre}
            brought = {(a[0], *(filled.get(x, x) for x in a[1:])) for a in schema.add}
            assert asked == {*known.needs, *known.static}
            assert known.head in brought
