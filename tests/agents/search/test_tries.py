"""What a task only assumes: tried in its world, and given up where the world refutes it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest

from auto_research.agent_research.agents.base import Attempt
from auto_research.agent_research.agents.search.agent import SearchAgent
from auto_research.agent_research.agents.search.tries import Trial
from auto_research.agent_research.budget import Budget, Meter
from auto_research.benchmarks.base import Json, Observation, Task
from auto_research.errors import BudgetExceeded
from auto_research.pddl import Problem, read_domain, read_problem
from auto_research.pddl.strips import instantiate

# Doors that may be locked; a lamp that may be switched at either end needs two guesses at once.
DOMAIN = """(define (domain house) (:requirements :strips)
(:predicates (in ?r) (maybe ?a ?b) (lit ?r))
(:action go :parameters (?a ?b) :precondition (and (in ?a) (maybe ?a ?b))
 :effect (and (in ?b) (not (in ?a))))
(:action switch :parameters (?r ?a ?b)
 :precondition (and (in ?r) (maybe ?r ?a) (maybe ?r ?b)) :effect (lit ?r)))"""
ALL = (("a", "b"), ("a", "c"), ("b", "d"), ("c", "d"), ("d", "e"))


def problem(goal: str = "(in d)", doors: tuple[tuple[str, str], ...] = ALL) -> str:
    told = " ".join(f"(maybe {a} {b})" for a, b in doors)
    return (
        "(define (problem p) (:domain house) (:objects a b c d e) "
        f"(:init (in a) {told}) (:goal (and {goal})))"
    )


class House:
    """The world: the same rules, with the doors that really are open."""

    def __init__(self, *doors: tuple[str, str], goal: str = "(in d)") -> None:
        self.problem: Problem = read_problem(problem(goal, doors), read_domain(DOMAIN))
        self.state, self.tried = self.problem.init, list[str]()

    def execute(self, code: str, calls: int | None = None) -> Observation:
        for n, line in enumerate(code.splitlines()):
            self.tried.append(line)
            ground = instantiate(self.problem.domain, tuple(line.split()))
            if ground is None or not ground.applicable(self.state, self.problem.static):
                return Observation("err", failed=True, calls=n + 1)
            self.state = ground.apply(self.state)
        return Observation("ok", calls=len(code.splitlines()))

    def reached(self) -> bool:
        return self.state.issuperset(self.problem.goal)

    def submission(self) -> Mapping[str, Json]:
        return {"tried": self.tried}

    def flags(self) -> tuple[str, ...]:
        return ()

    def close(self) -> None:
        """Nothing was started."""


def task(goal: str = "(in d)", assumed: str = "maybe") -> Task:
    observation = {"domain": DOMAIN, "problem": problem(goal), "assumed": assumed}
    return Task("house_1", "house", 0, "pddl", "", observation)


def attempted(world: House | None, meter: Meter | None = None, **told: str) -> Attempt:
    agent = SearchAgent()
    try:
        return agent.session(task(**told), meter or Meter(Budget())).attempt((), world)
    finally:
        agent.close()


def test_a_refuted_fact_is_not_relied_on_again() -> None:
    world = House(("a", "c"), ("c", "d"))
    attempt = attempted(world)
    assert attempt.own_check and world.reached()
    assert world.tried == ["go a b", "go a c", "go c d"]
    assert attempt.submission.plan == (("go", "a", "c"), ("go", "c", "d"))
    assert attempt.submission.payload == {"turns": 2}
    assert attempt.steps == 2


def test_where_no_plan_is_left_the_attempt_ends_with_what_was_done() -> None:
    world = House(("a", "b"), ("b", "d"), ("a", "c"), ("c", "d"), goal="(in e)")
    attempt = attempted(world, goal="(in e)")
    assert not attempt.own_check and not world.reached()
    assert world.tried == ["go a b", "go b d", "go d e"]
    assert attempt.evidence == {**_evidence(attempt), "segments": []}
    assert attempt.submission.plan is None and attempt.submission.payload == {"turns": 1}


def _evidence(attempt: Attempt) -> Mapping[str, Json]:
    assert isinstance(attempt.evidence, Mapping)
    assert attempt.evidence["plan"] == [["go", "a", "b"], ["go", "b", "d"]]
    return attempt.evidence


def test_each_try_is_charged_by_turn_and_by_action() -> None:
    meter = Meter(Budget())
    attempted(House(("a", "c"), ("c", "d")), meter)
    assert meter.units_by_kind["step"] == 20
    assert meter.units_by_kind["api-call"] == 3
    assert meter.totals["steps"] == 2


def test_what_a_success_has_proven_a_failure_does_not_refute() -> None:
    told = read_problem(problem(), read_domain(DOMAIN))
    open_doors = (("a", "b"), ("b", "d"), ("d", "a"))
    trial = Trial(told, "maybe", House(*open_doors), Meter(Budget()))
    assert trial.carry_out([("go", "a", "b")])
    trial.problem = replace(trial.problem, init=told.init)  # back to where it began
    trial.world = House(*open_doors)
    assert not trial.carry_out([("switch", "a", "b", "c")])
    assert trial.refuted == [("maybe", "a", "c")]


def test_a_failure_that_no_assumption_explains_ends_the_attempt() -> None:
    world = House()  # no door is open, and the task says that none is in doubt
    attempt = attempted(world, assumed="something-else")
    assert not attempt.own_check
    assert world.tried == ["go a b"]
    assert "taken as false: none" in attempt.transcript[-1].text


def test_with_too_few_units_a_part_is_done_and_the_attempt_ends() -> None:
    told = read_problem(problem(), read_domain(DOMAIN))
    world, meter = House(*ALL), Meter(Budget(units=11))
    trial = Trial(told, "maybe", world, meter)
    with pytest.raises(BudgetExceeded):
        trial.carry_out([("go", "a", "b"), ("go", "b", "d")])
    assert trial.done == [("go", "a", "b")] and world.tried == ["go a b"]
    assert meter.totals["units"] == 11


def test_without_a_world_what_is_assumed_is_taken_as_true() -> None:
    attempt = attempted(None)
    assert attempt.own_check and attempt.submission.plan == (("go", "a", "b"), ("go", "b", "d"))
    assert not attempt.submission.payload


def test_a_goal_that_holds_already_needs_no_try() -> None:
    world = House()
    attempt = attempted(world, goal="(in a)")
    assert attempt.own_check and attempt.submission.plan == () and not world.tried
