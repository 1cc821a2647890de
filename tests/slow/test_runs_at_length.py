"""The promises of a run, held over many kills, workers and hash seeds; takes minutes."""

from __future__ import annotations

import random
import signal
from pathlib import Path

import pytest
from evaluating import library, rows
from shell import SMALL, Started, agent_eval, result

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800)]

THIRTY = [*SMALL, "--episodes", "30", "--name", "run"]
MINI = ["--benchmark", "planbench-mini", "--seed", "7", "--episodes", "30", "--name", "run"]
KILLS = 20


def evaluated(out: Path, *arguments: object, hash_seed: int = 0) -> Path:
    ended = agent_eval(*arguments, "--out", out, PYTHONHASHSEED=str(hash_seed))
    assert ended.returncode == 0, ended.stderr
    return out / "run"


@pytest.mark.parametrize("workers", [1, 2])
def test_twenty_kills_at_random_moments_change_nothing(tmp_path: Path, workers: int) -> None:
    whole = evaluated(tmp_path / "whole", *THIRTY)
    moments = random.Random(workers)
    run = tmp_path / "run"
    kills = 0
    while kills < KILLS:
        folder = tmp_path / f"kill{kills}"
        folder.mkdir()
        resume = ["--resume"] if run.exists() else []
        started = Started(folder, *THIRTY, "--out", tmp_path, "--workers", workers, *resume)
        started.steps(moments.choice([0, 1, 2, 3, 5, 8, 13, 21, 34]))
        started.kill()
        assert started.ended().returncode == -signal.SIGKILL
        kills += 1
    resumed = evaluated(tmp_path, *THIRTY, *(["--resume"] if run.exists() else []))
    assert result(resumed) == result(whole)
    assert library(resumed) == library(whole)
    assert len({row["episode"] for row in rows(resumed)}) == len(rows(resumed))


def test_the_real_suite_survives_kills(tmp_path: Path) -> None:
    arguments = [*MINI, "--agent", "telling", "--train-scenarios", "3", "--units", "1500"]
    whole = evaluated(tmp_path / "whole", *arguments)
    for number, steps in enumerate((3, 40, 60)):
        folder = tmp_path / f"kill{number}"
        folder.mkdir()
        resume = ["--resume"] if (tmp_path / "run").exists() else []
        started = Started(folder, *arguments, "--out", tmp_path, *resume)
        started.steps(steps)
        started.kill()
        started.ended()
    resumed = evaluated(tmp_path, *arguments, "--resume")
    assert result(resumed) == result(whole)
    assert library(resumed) == library(whole)


def test_workers_and_hash_seeds_change_nothing_on_the_real_suite(tmp_path: Path) -> None:
    arguments = [*MINI, "--train-scenarios", "4"]
    plain = evaluated(tmp_path / "plain", *arguments)
    for workers, hash_seed in ((7, 1), (2, 2), (1, 1)):
        out = tmp_path / f"{workers}-{hash_seed}"
        run = evaluated(out, *arguments, "--workers", workers, hash_seed=hash_seed)
        assert result(run) == result(plain)
        assert library(run) == library(plain)
