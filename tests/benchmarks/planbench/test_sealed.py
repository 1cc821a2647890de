"""The seal: another process holds the answers, nothing public depends on them, nothing outlives."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import textwrap
from collections.abc import Sequence

import pytest
from small_plans import given_plan

from auto_research.benchmarks.base import Evaluator, Scenario, Submission
from auto_research.benchmarks.planbench import MiniBenchmark, generate
from auto_research.benchmarks.sealed import SealedProcess
from auto_research.errors import EvaluatorError, UserError

SEALED = [sys.executable, "-m", "auto_research.benchmarks.planbench.sealed"]


def test_permuting_the_sealed_halves_leaves_the_public_ones_byte_identical() -> None:
    plain, moved = MiniBenchmark(), MiniBenchmark(permutation=3)
    here, there = plain.evaluator("test", 9), moved.evaluator("test", 9)
    try:
        tasks = plain.scenarios("test", 9, 12)
        assert repr(moved.scenarios("test", 9, 12)) == repr(tasks)
        assert _valid_answers(here, tasks) != _valid_answers(there, tasks)
    finally:
        here.close()
        there.close()


def test_canaries_never_leave_the_process(validation: Sequence[Scenario], judge: Evaluator) -> None:
    canaries = [e.sealed.canary for s in generate.scenarios("validation", 7, 16) for e in s]
    assert len(set(canaries)) == len(canaries)
    verdicts = [
        judge.verdict(judge.submit(t.id, Submission((), None))) for s in validation for t in s.tasks
    ]
    seen = repr(validation) + repr(verdicts)
    assert not any(canary in seen for canary in canaries)


def test_the_process_that_uses_the_benchmark_holds_neither_generator_nor_judge() -> None:
    program = """
        import sys
        from auto_research.benchmarks.base import Submission
        from auto_research.benchmarks.planbench import MiniBenchmark
        benchmark = MiniBenchmark()
        evaluator = benchmark.evaluator("validation", 7)
        (scenario,) = benchmark.scenarios("validation", 7, 1)
        ticket = evaluator.submit(scenario.tasks[0].id, Submission((), "valid"))
        evaluator.verdict(ticket)
        evaluator.close()
        print([m for m in sys.modules if "unified_planning" in m or "planbench." in m])
    """
    loaded = _python(program)
    for secret in ("generate", "worlds", "questions", "evaluation", "judge", "unified_planning"):
        assert secret not in loaded


def test_verdicts_may_be_collected_late_and_in_any_order(
    validation: Sequence[Scenario], judge: Evaluator
) -> None:
    tasks = [task for scenario in validation for task in scenario.tasks]
    tickets = [judge.submit(task.id, Submission(given_plan(task), "valid")) for task in tasks]
    backwards = [judge.verdict(ticket) for ticket in reversed(tickets)]
    again = [judge.submit(task.id, Submission(given_plan(task), "valid")) for task in tasks]
    assert [judge.verdict(ticket) for ticket in again] == backwards[::-1]


def test_one_process_serves_every_split_and_seed() -> None:
    benchmark = MiniBenchmark()
    train, test = benchmark.evaluator("train", 0), benchmark.evaluator("test", 1)
    (first,), (second,) = benchmark.scenarios("train", 0, 1), benchmark.scenarios("test", 1, 1)
    train.close()
    for scenario in (first, second):
        assert not test.verdict(test.submit(scenario.tasks[0].id, Submission())).success
    test.close()
    test.close()


def test_a_process_opened_again_judges_what_the_earlier_one_handed_out() -> None:
    benchmark = MiniBenchmark()
    evaluator = benchmark.evaluator("train", 0)
    (scenario,) = benchmark.scenarios("train", 0, 1)
    evaluator.close()
    evaluator = benchmark.evaluator("train", 0)
    assert not evaluator.verdict(evaluator.submit(scenario.tasks[2].id, Submission())).success
    evaluator.close()


def test_a_killed_evaluator_is_an_error_not_a_wait() -> None:
    program = """
        import os, signal, sys
        print("last words", file=sys.stderr, flush=True)
        sys.stdin.readline()
        os.kill(os.getpid(), signal.SIGKILL)
    """
    process = SealedProcess([sys.executable, "-c", textwrap.dedent(program)])
    ticket = process.submit("task", Submission())
    with pytest.raises(EvaluatorError, match="last words"):
        process.verdict(ticket)
    with pytest.raises(EvaluatorError):
        process.verdict(process.submit("task", Submission()))
    process.close()
    process.close()


def test_an_evaluator_that_answers_nonsense_is_an_error() -> None:
    program = "import sys; sys.stdin.readline(); print('certainly!', flush=True); sys.stdin.read()"
    process = SealedProcess([sys.executable, "-c", program])
    with pytest.raises(EvaluatorError, match="no answer"):
        process.verdict(process.submit("task", Submission()))
    process.close()


def test_a_task_that_nobody_handed_out_ends_the_evaluator_with_its_name() -> None:
    process = SealedProcess(SEALED)
    with pytest.raises(EvaluatorError, match="no-such-task"):
        process.verdict(process.submit("no-such-task", Submission()))
    process.close()


def test_the_evaluator_ignores_an_interrupt_and_ends_with_its_input() -> None:
    child = subprocess.Popen(SEALED, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert child.stdin and child.stdout
    request = {"id": 1, "op": "mini", "split": "test", "seed": 1, "count": 1, "exclude": []}
    line = (json.dumps(request) + "\n").encode()
    child.stdin.write(line)
    child.stdin.flush()
    first = child.stdout.readline()
    child.send_signal(signal.SIGINT)
    child.stdin.write(line)
    child.stdin.flush()
    assert child.stdout.readline() == first
    child.stdin.close()
    assert child.wait(timeout=60) == 0


def test_no_evaluator_outlives_a_killed_parent() -> None:
    program = """
        import os, signal
        from auto_research.benchmarks.planbench import MiniBenchmark
        benchmark = MiniBenchmark()
        benchmark.scenarios("test", 1, 1)
        os.kill(os.getpid(), signal.SIGKILL)
    """
    read, write = os.pipe()
    parent = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(program)], stderr=write, pass_fds=[write]
    )
    os.close(write)
    assert parent.wait(timeout=60) == -signal.SIGKILL
    with open(read, "rb") as inherited:  # ends when no process holds the other end any more
        inherited.read()


def test_an_unknown_world_to_exclude_is_the_users_mistake() -> None:
    with pytest.raises(UserError, match="did you mean 'logistics'"):
        MiniBenchmark(exclude=["logistic"])


def test_a_world_is_excluded_from_training_but_not_from_the_test() -> None:
    benchmark, whole = MiniBenchmark(exclude=["logistics"]), MiniBenchmark()
    evaluator = benchmark.evaluator("test", 4)
    assert benchmark.scenarios("test", 4, 16) == whole.scenarios("test", 4, 16)
    for scenario in benchmark.scenarios("train", 4, 16):
        assert "in-city" not in scenario.tasks[0].observation["domain"]
    evaluator.close()


def _valid_answers(judge: Evaluator, scenarios: Sequence[Scenario]) -> list[bool]:
    tickets = [
        judge.submit(task.id, Submission(None, "valid")) for s in scenarios for task in s.tasks
    ]
    return [judge.verdict(ticket).checks["answer_accuracy"] for ticket in tickets]


def _python(program: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)],
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    return done.stdout
