"""The sealed judge: another process that replays what was done and looks at the goal."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import pytest
from workshop_cases import as_steps

from auto_research.benchmarks.base import Evaluator, Submission, Task, Verdict
from auto_research.benchmarks.sealed import SealedProcess
from auto_research.benchmarks.workshop import WorkshopBenchmark
from auto_research.benchmarks.workshop.sealed import MAX_ACTIONS
from auto_research.errors import UserError

CHECKS = {"plan_success", "delivered", "processed", "hands_free"}


@pytest.fixture(scope="module")
def benchmark() -> WorkshopBenchmark:
    return WorkshopBenchmark("hid")


@pytest.fixture(scope="module")
def judge(benchmark: WorkshopBenchmark) -> Iterator[Evaluator]:
    evaluator = benchmark.evaluator("validation", 7)
    yield evaluator
    evaluator.close()
    evaluator.close()


@pytest.fixture(scope="module")
def task(benchmark: WorkshopBenchmark) -> Task:
    return benchmark.scenarios("validation", 7, 4)[3].tasks[1]


def verdict(judge: Evaluator, task: Task, submission: Submission) -> Verdict:
    return judge.verdict(judge.submit(task.id, submission))


def test_what_the_expert_does_succeeds_in_the_world_and_as_a_plan(
    benchmark: WorkshopBenchmark, judge: Evaluator, task: Task
) -> None:
    world = benchmark.environment(task)
    assert world.execute(benchmark.reference(task)).text == "ok"
    plan = tuple(as_steps(benchmark.truth(task.id).actions()))
    for submission in (Submission(payload=world.submission()), Submission(plan)):
        found = verdict(judge, task, submission)
        assert found.success and all(found.checks.values())
        assert set(found.checks) == CHECKS


def test_of_another_task_it_fails(
    benchmark: WorkshopBenchmark, judge: Evaluator, task: Task
) -> None:
    world = benchmark.environment(task)
    world.execute(benchmark.reference(task))
    (other, *_) = benchmark.scenarios("validation", 7, 4)[2].tasks
    assert not verdict(judge, other, Submission(payload=world.submission())).success


def test_nothing_done_fails(judge: Evaluator, task: Task) -> None:
    for submission in (Submission(), Submission(()), Submission(payload={"actions": []})):
        found = verdict(judge, task, submission)
        assert not found.success
        assert found.checks["hands_free"] and not found.checks["delivered"]


def test_a_failed_action_is_passed_over_in_the_world_and_breaks_a_plan(
    benchmark: WorkshopBenchmark, judge: Evaluator, task: Task
) -> None:
    actions = benchmark.truth(task.id).actions()
    world = benchmark.environment(task)
    assert world.execute("pick o1").failed
    assert world.execute(benchmark.reference(task)).text == "ok"
    assert verdict(judge, task, Submission(payload=world.submission())).success
    broken = (("pick", "o1", "entrance"), *as_steps(actions))
    assert not verdict(judge, task, Submission(broken)).success


def test_a_plan_counts_only_where_nothing_was_done(
    benchmark: WorkshopBenchmark, judge: Evaluator, task: Task
) -> None:
    plan = tuple(as_steps(benchmark.truth(task.id).actions()))
    tried = {"actions": [["goto", "r1"]]}
    assert verdict(judge, task, Submission(plan, payload={"actions": []})).success
    assert not verdict(judge, task, Submission(plan, payload=tried)).success


@pytest.mark.parametrize(
    "payload",
    [
        {"actions": "goto r1"},
        {"actions": ["goto r1"]},
        {"actions": [["goto", 1]]},
        {"actions": [[]]},
        {"actions": [["goto"], ["a", "b", "c", "d"]]},
        {"actions": [["goto", "r1"]] * (MAX_ACTIONS + 1)},
        {"actions": [["__class__", "o1"]]},
    ],
)
def test_what_makes_no_sense_fails_and_harms_nothing(
    judge: Evaluator, task: Task, payload: dict[str, object]
) -> None:
    assert not verdict(judge, task, Submission(payload=payload)).success  # type: ignore[arg-type]


def test_verdicts_may_be_collected_late_and_in_any_order(
    benchmark: WorkshopBenchmark, judge: Evaluator
) -> None:
    tickets = []
    for scenario in benchmark.scenarios("validation", 7, 4):
        for position, task in enumerate(scenario.tasks):
            plan = as_steps(benchmark.truth(task.id).actions())[position:]
            tickets.append((judge.submit(task.id, Submission(tuple(plan))), position == 0))
    for ticket, right in reversed(tickets):
        assert judge.verdict(ticket).success == right


def test_each_split_has_a_judge_of_its_own(benchmark: WorkshopBenchmark) -> None:
    judge = benchmark.evaluator("train", 2)
    task = benchmark.scenarios("train", 2, 1)[0].tasks[0]
    plan = as_steps(benchmark.truth(task.id).actions())
    assert verdict(judge, task, Submission(tuple(plan))).success
    judge.close()


def test_a_task_that_nobody_handed_out_is_refused_before_it_is_judged(judge: Evaluator) -> None:
    with pytest.raises(UserError, match="no-such-task"):
        judge.submit("no-such-task", Submission())


def test_the_judge_is_told_nothing_but_split_seed_and_place() -> None:
    process = SealedProcess(
        [sys.executable, "-m", "auto_research.benchmarks.workshop.sealed", "base", "train", "0"]
    )
    assert not process.verdict(process.submit("0 1", Submission())).success
    process.close()
