"""The judge says what unified-planning says, and nothing that is handed in upsets it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest
from small_plans import given_plan, solve
from unified_planning.engines.plan_validator import SequentialPlanValidator
from unified_planning.engines.results import ValidationResultStatus
from unified_planning.io import PDDLReader
from unified_planning.plans import ActionInstance, SequentialPlan

from auto_research.benchmarks.base import Evaluator, Scenario, Submission, Task
from auto_research.benchmarks.planbench import generate
from auto_research.benchmarks.planbench import judge as judging
from auto_research.pddl import Step


@pytest.fixture(scope="module")
def small_tasks(validation: Sequence[Scenario]) -> list[Task]:
    return [scenario.tasks[0] for scenario in validation][:6]


@pytest.fixture(scope="module")
def truths() -> dict[str, str]:
    """The answers, worked out here from the same seed."""
    entries = [e for s in generate.scenarios("validation", 7, 6) for e in s]
    return {e.task.id: judging.truth(e.sealed.domain_text, e.sealed.question) for e in entries}


def test_a_right_plan_with_the_right_answer_succeeds_and_either_wrong_fails(
    small_tasks: list[Task], judge: Evaluator, truths: dict[str, str]
) -> None:
    for task in small_tasks:
        plan = solve(task.observation["domain"], task.observation["problem"])
        assert plan
        right = truths[task.id]
        wrong = {"valid": "invalid", "invalid": "valid"}.get(right, right + " (clear nothing)")
        assert _checks(judge, task, plan, right) == (True, True, True)
        assert _checks(judge, task, plan, f"  {right.upper()}\n") == (True, True, True)
        assert _checks(judge, task, plan, wrong) == (False, True, False)
        assert _checks(judge, task, plan[:-1], right) == (False, False, True)
        assert _checks(judge, task, plan[1:], right) == (False, False, True)
        assert _checks(judge, task, (), right) == (False, False, True)


def test_the_plan_given_with_the_question_does_not_solve_the_task(
    validation: Sequence[Scenario], judge: Evaluator
) -> None:
    for task in (task for scenario in validation for task in scenario.tasks):
        assert not _checks(judge, task, given_plan(task), "valid")[1]


def test_an_answer_names_exactly_what_the_question_asks_about(truths: dict[str, str]) -> None:
    entries = [e for s in generate.scenarios("validation", 7, 6) for e in s]
    for entry in entries:
        answer, question = truths[entry.task.id], entry.sealed.question
        if question.kind == "validity":
            assert answer in ("valid", "invalid")
        elif answer != "none":
            atoms = answer[1:-1].split(") (")
            assert atoms == sorted(atoms)
            assert all(question.thing in atom.split() for atom in atoms)


def test_the_verdict_is_that_of_unified_planning_reading_the_texts_itself() -> None:
    entries = [e for s in generate.scenarios("train", 11, 8) for e in s]
    validator = SequentialPlanValidator()
    for entry in entries:
        question, domain = entry.sealed.question, entry.sealed.domain_text
        text = question.problem("world")
        problem = PDDLReader().parse_problem_string(domain, text)
        status = validator.validate(problem, _sequential(problem, question.plan)).status
        ours = judging.judged(domain, text).valid(question.plan)
        assert ours == (status == ValidationResultStatus.VALID)


HOSTILE: list[Any] = [
    None,
    (),
    (("no-such-action",),),
    (("pick-up",),),
    ((),),
    (("",),),
    (("\ud800", "\x00"),),
    (("pick-up", "b0", "b1", "b2", "b3"),),
    ((")", "(define"),),
    "pick-up b0",
    7,
    (7, 8),
    ((b"bytes",),),
    (object(),),
    tuple(("x",) for _ in range(3000)),
    tuple(("x" * 1000,) for _ in range(3000)),
]


@pytest.mark.parametrize("plan", HOSTILE, ids=range(len(HOSTILE)))
def test_a_hostile_plan_fails_and_the_judge_lives(
    plan: Any, small_tasks: list[Task], judge: Evaluator
) -> None:
    verdict = judge.verdict(judge.submit(small_tasks[0].id, Submission(plan=plan)))
    assert not verdict.success
    assert verdict.checks == {"plan_success": False, "answer_accuracy": False}


@pytest.mark.parametrize("answer", [None, "", 7, ["valid"], "\ud800", "valid invalid", "x" * 10**7])
def test_a_hostile_answer_fails_and_the_judge_lives(
    answer: Any, small_tasks: list[Task], judge: Evaluator
) -> None:
    verdict = judge.verdict(judge.submit(small_tasks[0].id, Submission(answer=answer)))
    assert not verdict.checks["answer_accuracy"]


def test_objects_of_a_wrong_type_fail(validation: Sequence[Scenario], judge: Evaluator) -> None:
    task = next(
        t for s in validation for t in s.tasks if "(:action drive" in t.observation["domain"]
    )
    objects = task.observation["problem"].split("(:objects")[1].split(")")[0].split()
    plan = (("drive", *(o for o in objects[:3])),)
    assert not _checks(judge, task, plan, "")[1]


def test_renaming_the_objects_of_a_task_consistently_changes_no_verdict(
    small_tasks: list[Task],
) -> None:
    for task in small_tasks:
        domain, problem = task.observation["domain"], task.observation["problem"]
        plan = solve(domain, problem)
        assert plan
        prefix = plan[-1][-1].rstrip("0123456789")
        renamed = problem.replace(f" {prefix}", " thing-")
        assert renamed != problem
        moved = [(name, *(x.replace(prefix, "thing-") for x in things)) for name, *things in plan]
        shorter = solve(domain, renamed)
        assert shorter and len(shorter) == len(plan)
        assert judging.judged(domain, renamed).valid(moved)
        assert not judging.judged(domain, renamed).valid(moved[:-1])


def test_the_question_is_public_json_with_exactly_what_is_asked(
    validation: Sequence[Scenario],
) -> None:
    for task in (task for scenario in validation for task in scenario.tasks):
        question = json.loads(task.observation["question"])
        asked_of = ["object"] if question["kind"] == "state" else []
        assert list(question) == ["kind", "problem", "plan", *asked_of]


def _checks(
    judge: Evaluator, task: Task, plan: Sequence[Step], answer: str
) -> tuple[bool, bool, bool]:
    verdict = judge.verdict(judge.submit(task.id, Submission(tuple(plan), answer)))
    return verdict.success, verdict.checks["plan_success"], verdict.checks["answer_accuracy"]


def _sequential(problem: Any, plan: Sequence[Step]) -> SequentialPlan:
    return SequentialPlan(
        [
            ActionInstance(problem.action(name), tuple(problem.object(x) for x in things))
            for name, *things in plan
        ]
    )
