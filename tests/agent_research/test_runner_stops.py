"""Killed, interrupted or broken, a run goes on to the same bytes and leaves no process behind."""

from __future__ import annotations

import json
import random
import signal
from pathlib import Path

import pytest
from evaluating import library, prepared, rows
from shell import SMALL, Started, agent_eval, result

RUN = "sage-small-seed7"
NINE = [*SMALL, "--episodes", 9]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An uninterrupted run, made in this process."""
    run = tmp_path_factory.mktemp("whole") / "run"
    prepared(agent="telling", episodes=9).run(run)
    return run


@pytest.mark.parametrize(("workers", "steps"), [(1, 0), (2, 110)])
def test_a_killed_run_goes_on_to_the_same_bytes(
    tmp_path: Path, whole: Path, workers: int, steps: int
) -> None:
    arguments = [*NINE, "--out", tmp_path, "--workers", workers]
    run = Started(tmp_path, *arguments)
    moment = steps + random.Random(f"{workers} {steps}").randrange(20)
    assert run.steps(moment) == moment
    run.kill()
    assert run.ended().returncode == -signal.SIGKILL  # and no process is left, or this would wait
    assert not (tmp_path / RUN / "metrics.json").exists()
    resumed = agent_eval(*arguments, "--resume")
    assert resumed.returncode == 0, resumed.stderr
    assert result(tmp_path / RUN) == result(whole)
    assert library(tmp_path / RUN) == library(whole)


def test_a_run_killed_before_it_had_a_config_goes_on(tmp_path: Path, whole: Path) -> None:
    (tmp_path / RUN).mkdir()
    (tmp_path / RUN / "run.yaml.tmp").write_text("method: {na")
    prepared(agent="telling", episodes=9).run(tmp_path / RUN, resume=True)
    assert result(tmp_path / RUN) == result(whole)


def test_a_finished_run_can_be_resumed_and_stays_as_it_is(whole: Path) -> None:
    before = result(whole), library(whole)
    prepared(agent="telling", episodes=9).run(whole, resume=True)
    assert (result(whole), library(whole)) == before


def test_workers_end_with_the_process_that_started_them(tmp_path: Path) -> None:
    run = Started(tmp_path, *NINE, "--out", tmp_path, "--workers", 2)
    assert run.steps(20) == 20
    run.kill(group=False)
    assert run.ended().returncode == -signal.SIGKILL


@pytest.mark.parametrize("workers", [1, 2])
def test_ctrl_c_keeps_what_is_finished_and_says_how_to_go_on(
    tmp_path: Path, whole: Path, workers: int
) -> None:
    arguments = [*NINE, "--out", tmp_path, "--workers", workers]
    heard = tmp_path / "heard"
    run = Started(tmp_path, *arguments, SMALL_ROWS=str(heard))
    assert run.steps(100) == 100
    run.kill(signal.SIGINT)
    ended = run.ended()
    assert ended.returncode == 130
    assert ended.stdout == ""
    [line] = ended.stderr.splitlines()
    assert line.startswith("stopped; finished episodes are kept in ")
    assert "--resume" in line
    resumed = agent_eval(*arguments, "--resume", SMALL_ROWS=str(heard))
    assert resumed.returncode == 0, resumed.stderr
    assert result(tmp_path / RUN) == result(whole)
    # The observer heard of every row once, in stream order.
    assert heard.read_text().split() == [row["episode"] for row in rows(whole)]


def test_what_an_interrupted_chain_had_spent_is_on_record_outside_the_figures(
    tmp_path: Path,
) -> None:
    run = Started(tmp_path, *NINE, "--out", tmp_path)
    assert run.steps(5) == 5
    run.kill(signal.SIGINT)
    assert run.ended().returncode == 130
    lost = [json.loads(s) for s in (tmp_path / RUN / "attempts.jsonl").read_text().splitlines()]
    assert lost
    assert all(attempt["why"] == "KeyboardInterrupt" for attempt in lost)
    assert all(attempt["phase"] == "training" for attempt in lost)


def test_a_dead_worker_is_one_clear_line_and_the_run_can_go_on(tmp_path: Path, whole: Path) -> None:
    arguments = [*NINE, "--out", tmp_path]
    ended = agent_eval(*arguments, "--workers", 2, SMALL_SUICIDE="test7x1")
    assert ended.returncode == 2
    [line] = ended.stderr.splitlines()
    assert line.startswith("error: a worker process died; the same command with --resume")
    prepared(agent="telling", episodes=9).run(tmp_path / RUN, resume=True)
    assert result(tmp_path / RUN) == result(whole)


def test_a_second_process_on_the_same_run_is_one_line(tmp_path: Path) -> None:
    run = Started(tmp_path, *NINE, "--out", tmp_path)
    assert run.steps(5) == 5
    run.kill(signal.SIGSTOP)
    second = agent_eval(*NINE, "--out", tmp_path, "--resume")
    run.kill(signal.SIGKILL)
    run.ended()
    assert second.returncode == 2
    [line] = second.stderr.splitlines()
    assert line.startswith("error: run is in use by another process")
