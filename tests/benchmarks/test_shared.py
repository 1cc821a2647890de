"""A benchmark shared by many runs: streams made once, one judge kept, a dead one replaced."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

import pytest
from evaluating import prepared
from shell import result
from small_world import SmallBenchmark

from auto_research.benchmarks.base import Scenario, Split, Submission
from auto_research.benchmarks.planbench import MiniBenchmark
from auto_research.benchmarks.shared import SharedBenchmark
from auto_research.errors import EvaluatorError
from auto_research.evaluate import prepare

NOTHING = Submission()


class Counting(SmallBenchmark):
    """Counts what it is asked for."""

    def __init__(self) -> None:
        self.asked: list[tuple[Split, int, int | None]] = []
        self.opened: list[Any] = []

    def scenarios(self, split: Split, seed: int, limit: int | None = None) -> list[Scenario]:
        self.asked.append((split, seed, limit))
        return list(super().scenarios(split, seed, limit))

    def evaluator(self, split: Split, seed: int) -> Any:
        self.opened.append(super().evaluator(split, seed))
        return self.opened[-1]


def test_runs_on_a_shared_benchmark_are_the_same_runs_and_make_each_stream_once(
    tmp_path: Path,
) -> None:
    counting = Counting()
    shared = SharedBenchmark(counting)
    for number, seed in enumerate((7, 8, 7)):
        alone = prepared(seed=seed)
        prepare(alone.request, alone.registry, shared).run(tmp_path / f"shared-{number}")
        alone.run(tmp_path / f"alone-{number}")
        assert result(tmp_path / f"shared-{number}") == result(tmp_path / f"alone-{number}")
    shared.close()
    assert counting.asked == [("train", 0, 2), ("test", 7, 2), ("test", 8, 2)]


def first_task(benchmark: Any) -> str:
    return str(benchmark.scenarios("validation", 7, 1)[0].tasks[0].id)


def children() -> set[int]:
    """The child processes of this one."""
    own = os.getpid()
    return set(map(int, Path(f"/proc/{own}/task/{own}/children").read_text().split()))


def test_the_process_behind_a_judge_outlives_its_users_until_it_is_closed() -> None:
    before = children()
    shared = SharedBenchmark(MiniBenchmark())
    task = first_task(shared)
    (process,) = children() - before
    for _ in range(2):
        judge = shared.evaluator("validation", 7)
        assert judge.verdict(judge.submit(task, NOTHING)).success is False
        judge.close()
        assert process in children()
    shared.close()
    shared.close()
    assert process not in children()


def test_a_judge_that_died_is_not_kept_for_the_next_run() -> None:
    before = children()
    shared = SharedBenchmark(MiniBenchmark())
    task = first_task(shared)
    judge = shared.evaluator("validation", 7)
    (process,) = children() - before
    os.kill(process, signal.SIGKILL)
    with pytest.raises(EvaluatorError):
        judge.verdict(judge.submit(task, NOTHING))
    judge.close()
    fresh = shared.evaluator("validation", 7)
    assert fresh.verdict(fresh.submit(task, NOTHING)).success is False
    fresh.close()
    shared.close()
    assert children() <= before
