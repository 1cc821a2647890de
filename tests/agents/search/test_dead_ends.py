"""Where a skill has led to a state that nothing leads on from, the agent begins anew."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from search_examples import episode_of

from auto_research.agent_research.agents.search.agent import SearchAgent
from auto_research.agent_research.budget import Budget, Meter
from auto_research.agent_research.operators import EditRequest
from auto_research.agent_research.skill import Skill
from auto_research.benchmarks.base import Task

# What is sealed stays as it is, so a box has to be filled before.
DOMAIN = """(define (domain boxes) (:requirements :strips)
(:predicates (open ?b) (full ?b) (sealed ?b))
(:action fill :parameters (?b) :precondition (open ?b) :effect (full ?b))
(:action seal :parameters (?b) :precondition (open ?b)
 :effect (and (sealed ?b) (not (open ?b)))))"""
UNITS = 5000


def task(goal: str) -> Task:
    problem = (
        "(define (problem p) (:domain boxes) (:objects a b) (:init (open a) (open b)) "
        f"(:goal (and {goal})))"
    )
    return Task("boxes_1", "boxes", 0, "pddl", "", {"domain": DOMAIN, "problem": problem})


@pytest.fixture
def agent() -> Iterator[SearchAgent]:
    agent = SearchAgent()
    yield agent
    agent.close()


def sealing(agent: SearchAgent) -> Skill:
    """What the agent learns where boxes had only to be sealed."""
    lesson = task("(sealed a)")
    session = agent.session(lesson, Meter(Budget()))
    episode = episode_of(lesson, [("seal", "a")])
    (skill,) = session.write(EditRequest("create", episode=episode))
    return skill


def test_a_skill_that_went_too_far_does_not_cost_the_task(agent: SearchAgent) -> None:
    both = task("(sealed a) (full a) (sealed b)")
    attempt = agent.session(both, Meter(Budget(units=UNITS))).attempt([sealing(agent)])
    assert attempt.own_check and attempt.submission.plan is not None
    assert attempt.submission.plan.index(("fill", "a")) < attempt.submission.plan.index(
        ("seal", "a")
    )
    (use,) = attempt.uses
    assert use.called and not use.helped
    whole = {"from": 0, "to": 3, "goal": [["sealed", "a"], ["full", "a"], ["sealed", "b"]]}
    assert isinstance(attempt.evidence, dict) and attempt.evidence["segments"] == [whole]


def test_where_it_led_on_the_search_goes_on_from_there(agent: SearchAgent) -> None:
    both = task("(sealed a) (full b)")
    attempt = agent.session(both, Meter(Budget(units=UNITS))).attempt([sealing(agent)])
    assert attempt.submission.plan == (("seal", "a"), ("fill", "b"))
    (use,) = attempt.uses
    assert use.called
