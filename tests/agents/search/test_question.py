"""Questions are answered by simulating the given plan, step by step, each of them paid for."""

from __future__ import annotations

import json
from collections.abc import Sequence

import pytest
from search_examples import Bill, problem_of, task_problem, texts

from auto_research.agent_research.agents.search.question import answer
from auto_research.benchmarks.base import Evaluator, Scenario, Submission
from auto_research.benchmarks.planbench import MiniBenchmark
from auto_research.errors import BudgetExceeded

PLAN = [["unstack", "c", "a"], ["put-down", "c"], ["pick-up", "a"], ["stack", "a", "b"]]


def asked(kind: str, plan: Sequence[object] = PLAN, thing: str = "", name: str = "blocks") -> str:
    question = {"kind": kind, "problem": texts(name)[1], "plan": plan}
    return json.dumps({**question, "object": thing} if thing else question)


def told(question: str, bill: Bill | None = None, name: str = "blocks") -> str | None:
    return answer(question, problem_of(name).domain, (Bill() if bill is None else bill).charge)


@pytest.mark.parametrize(
    ("thing", "expected"),
    [
        ("a", "(clear a) (on a b)"),
        ("b", "(on a b) (ontable b)"),
        ("c", "(clear c) (ontable c)"),
        ("nosuch", "none"),
    ],
)
def test_the_state_after_a_plan_is_what_mentions_the_object(thing: str, expected: str) -> None:
    assert told(asked("state", thing=thing)) == expected


def test_facts_that_never_change_and_absences_are_not_told() -> None:
    # In parcels (of shop here) never changes; in odd "not rules" is bookkeeping of absences.
    assert told(asked("state", [], "shop", "parcels"), name="parcels") == "(at box shop)"
    assert told(asked("state", [], "1st", "odd"), name="odd") == "(3-rd 1st)"


@pytest.mark.parametrize(
    ("plan", "expected"),
    [
        (PLAN, "valid"),
        (PLAN[:-1], "invalid"),  # ends too early
        (PLAN[1:], "invalid"),  # cannot begin
        ([*PLAN, ["pick-up", "a"]], "invalid"),  # cannot go on
        ([*PLAN, ["unstack", "a", "b"]], "invalid"),  # undoes the goal
        ([], "invalid"),
        ([["unstack", "c"]], "invalid"),
        ([["nosuch", "c", "a"]], "invalid"),
    ],
)
def test_a_plan_is_valid_if_every_step_can_be_done_and_the_goal_comes_of_it(
    plan: list[list[str]], expected: str
) -> None:
    assert told(asked("validity", plan)) == expected


def test_goals_may_be_facts_that_never_change_and_absences() -> None:
    plan = [["paint", "north"], ["strip", "south"]]
    assert told(asked("validity", plan, name="paint"), name="paint") == "valid"
    assert told(asked("validity", plan[:1], name="paint"), name="paint") == "invalid"


def test_each_step_is_paid_for_until_one_cannot_be_done() -> None:
    for plan, price in ((PLAN, 4), (PLAN[1:], 1), ([], 0)):
        bill = Bill()
        told(asked("validity", plan), bill)
        assert bill == ({"act": price} if price else {})
    bill = Bill(cap=3)
    with pytest.raises(BudgetExceeded):
        told(asked("validity"), bill)
    assert bill.total() == 3


@pytest.mark.parametrize(
    "question",
    [
        "",
        "{",
        "[]",
        "3",
        "{}",
        json.dumps({"kind": "state", "problem": "(define", "plan": []}),
        json.dumps({"kind": "state", "problem": 3, "plan": []}),
        json.dumps({"kind": "validity", "problem": texts("parcels")[1], "plan": []}),
        asked("state", [3]),
        asked("state", [[]]),
        asked("riddle"),
    ],
)
def test_a_question_that_cannot_be_read_has_no_answer(question: str) -> None:
    assert told(question) is None


def test_the_sealed_judge_agrees_with_every_answer(mini: MiniBenchmark, judge: Evaluator) -> None:
    scenarios: Sequence[Scenario] = mini.scenarios("validation", 7, 20)
    tasks = [task for scenario in scenarios for task in scenario.tasks]
    assert len(tasks) == 60
    kinds = {json.loads(task.observation["question"])["kind"] for task in tasks}
    assert kinds == {"state", "validity"}
    tickets = {}
    for task in tasks:
        reply = answer(task.observation["question"], task_problem(task).domain, Bill().charge)
        tickets[task.id] = judge.submit(task.id, Submission(None, reply))
    verdicts = {name: judge.verdict(ticket) for name, ticket in tickets.items()}
    wrong = [name for name, verdict in verdicts.items() if not verdict.checks["answer_accuracy"]]
    assert wrong == []
    assert not any(verdict.success for verdict in verdicts.values())  # an answer alone is not all
