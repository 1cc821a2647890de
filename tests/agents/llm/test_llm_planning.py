"""Planning tasks for the agent llm: told in English, done by code, every action charged."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from llm_cases import attempt
from model_server import ModelServer, code

from auto_research.agent_research.agents.llm.planning import PlanningWorld
from auto_research.agent_research.budget import Budget, Meter
from auto_research.agent_research.sandbox import Sandbox
from auto_research.agent_research.skill import function_skill
from auto_research.benchmarks.base import Task
from auto_research.errors import BudgetExceeded
from auto_research.pddl import read_domain, read_problem

FOLDER = Path(__file__).parents[3] / "fixtures" / "search" / "blocks"
DOMAIN, PROBLEM = ((FOLDER / f"{n}.pddl").read_text() for n in ("domain", "problem"))
QUESTION = {"kind": "state", "object": "a", "problem": PROBLEM, "plan": [["unstack", "c", "a"]]}
TASK = Task(
    "blocks_1",
    "blocks",
    0,
    "pddl",
    "unused",
    {"domain": DOMAIN, "problem": PROBLEM, "question": json.dumps(QUESTION)},
)
PLAN = """def put(x, y):
    act("pick-up", x)
    act("stack", x, y)
act("unstack", "c", "a")
act("put-down", "c")
put("a", "b")
print(missing())"""
FINISH = 'finish("(clear a) (ontable a)")'


@pytest.fixture
def world() -> Any:
    with Sandbox() as sandbox:
        world = PlanningWorld(
            read_problem(PROBLEM, read_domain(DOMAIN)), sandbox, Meter(Budget(units=200))
        )
        yield world
        world.close()


def test_a_planning_task_is_told_in_english_and_done_by_code() -> None:
    with ModelServer([code(PLAN), code(FINISH)]) as server:
        tried = attempt(server, task=TASK)
        system, opening = (m["content"] for m in server.requests[0]["messages"])
    submission = tried.attempt.submission
    assert submission.plan == (
        ("unstack", "c", "a"),
        ("put-down", "c"),
        ("pick-up", "a"),
        ("stack", "a", "b"),
    )
    assert submission.answer == "(clear a) (ontable a)" and tried.attempt.own_check
    assert "act(name, *objects)" in system and ":precondition" not in opening
    assert "Makes true: (holding" in opening and "Which facts that name a" in opening
    assert tried.meter.units_by_kind == {"act": 4, "step": 20}


def test_its_functions_become_skills_that_run_in_the_next_task() -> None:
    with ModelServer([code(PLAN), code(FINISH)]) as server:
        (skill,) = attempt(server, task=TASK).write("create")
    use = 'act("unstack", "c", "a"); act("put-down", "c"); put("a", "b"); finish("none")'
    with ModelServer([code(use)]) as server:
        tried = attempt(server, [skill], task=TASK)
    assert skill.name == "put" and tried.attempt.own_check and tried.attempt.uses[0].helped


def test_it_cannot_be_finished_before_the_goal_is_reached() -> None:
    with ModelServer([code(FINISH), "I give up."]) as server:
        tried = attempt(server, task=TASK)
    assert "not all that is wanted is true" in tried.told() and not tried.attempt.own_check


def test_a_plan_that_was_not_finished_is_handed_in_as_it_is() -> None:
    with ModelServer([code('act("unstack", "c", "a")')]) as server:
        tried = attempt(server, task=TASK)
    assert tried.attempt.submission.plan is not None
    assert tried.episode.has_submission and not tried.attempt.own_check


def test_the_world_shows_what_is_true_and_possible(world: Any) -> None:
    seen = world.execute('print(possible("unstack")); print(goal() == missing(), len(facts()))')
    assert seen.text.splitlines()[0] == "[('unstack', 'c', 'a')]" and "True" in seen.text


def test_an_action_that_cannot_be_done_changes_nothing_and_says_why(world: Any) -> None:
    seen = world.execute('act("pick-up", "a")')
    assert seen.failed and "it needs (clear a)" in seen.text and world.plan == []
    assert world.execute('act("fly", "a")').failed
    world.execute('act("unstack", "c", "a")\nundo()')
    assert not world.plan and world.execute("print(len(done()))").text == "0\n"


def test_variables_last_from_one_block_to_the_next(world: Any) -> None:
    world.execute("import math\nx = 3\ndef f():\n    return math.floor(x + 0.5)")
    assert world.execute("print(f())").text == "3\n"


@pytest.mark.parametrize(
    "hostile", ["import os\nprint(os.environ)", "open('/etc/passwd')", "import socket"]
)
def test_code_in_the_planning_world_reaches_nothing_else(world: Any, hostile: str) -> None:
    seen = world.execute(hostile)
    assert seen.failed or seen.text.strip() in ("{}", "environ({})")


def test_a_budget_that_is_spent_ends_the_world_even_if_code_hides_it(world: Any) -> None:
    hiding = "while True:\n    try:\n        possible()\n    except Exception:\n        break"
    with pytest.raises(BudgetExceeded):
        for _ in range(100):
            world.execute(hiding)


def test_endless_printing_is_cut(world: Any) -> None:
    seen = world.execute("for i in range(3000):\n    print('y' * 1000)")
    assert len(seen.text) < 110_000


def test_a_skill_of_the_search_agent_does_no_harm() -> None:
    foreign = function_skill("def achieve(goals):\n    return reach(goals)\n")
    with ModelServer([code(PLAN), code(FINISH)]) as server:
        tried = attempt(server, [foreign], task=TASK)
    assert tried.attempt.own_check and not tried.attempt.uses[0].called
