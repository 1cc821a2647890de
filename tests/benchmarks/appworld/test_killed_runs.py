"""Runs on appworld-mini that are killed and resumed: nothing lost, nothing done twice."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest
from appworld_cases import gone
from evaluating import metrics, rows

from auto_research.agent_research.store import SkillStore
from auto_research.benchmarks.appworld.home import Home
from auto_research.errors import UserError

pytestmark = pytest.mark.appworld

PLAIN = ("--method", "react", "--agent", "expert")


def command(root: Path, out: Path, *more: str) -> list[str]:
    """A run in a process of its own, with a root that no other process names."""
    code = "from auto_research.cli.main import main; main()"
    options = ["--benchmark", "appworld-mini", "--data-dir", str(root), "--split", "validation"]
    options += ["--seed", "7", "--episodes", "12", "--out", str(out), "--name", "run"]
    return [sys.executable, "-c", code, "agent-eval", *options, *more]


def finished(run: Path) -> set[str]:
    """The test tasks of the chains that the run need not do again."""
    try:
        with SkillStore(run / "library.sqlite", create=False) as store:
            kept = store.journalled(store.last_batch() + 1).values()
    except UserError:  # it is not there yet
        return set()
    journal = [row for outcome in kept for row in outcome["rows"]]
    return {row["task"] for row in [*rows(run), *journal] if row["phase"] == "test"}


@contextmanager
def killed(argv: Sequence[str], run: Path) -> Iterator[set[str]]:
    """Kill the run once some of its test is done but not all; gives the tasks that were."""
    started = subprocess.Popen(argv, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    try:
        while not finished(run):
            assert started.poll() is None
            time.sleep(0.1)
    finally:
        started.kill()
        started.wait()
    done = finished(run)
    assert 3 <= len(done) < 12
    kept = {t: (run / "worlds" / f"{t}.json").stat() for t in done}
    yield done
    for task, before in kept.items():  # AppWorld's outputs of what was finished
        after = (run / "worlds" / f"{task}.json").stat()
        assert (after.st_ino, after.st_mtime_ns) == (before.st_ino, before.st_mtime_ns)
    tasks = [row["task"] for row in rows(run, "test")]
    assert len(tasks) == len(set(tasks)) == 12
    assert {f"{task}.json" for task in tasks} == {p.name for p in (run / "worlds").iterdir()}


@pytest.fixture
def root(home: Home, tmp_path: Path) -> Path:
    path = tmp_path / "root"
    path.symlink_to(home.mini)
    return path


@pytest.mark.slow
@pytest.mark.parametrize("workers", ["1", "2"])
def test_a_run_that_was_killed_goes_on_where_it_was(
    root: Path, tmp_path: Path, workers: str
) -> None:
    run = tmp_path / "run"
    argv = command(root, tmp_path, *PLAIN, "--workers", workers)
    with killed(argv, run):
        assert gone(str(root))
        subprocess.run([*argv, "--resume"], check=True, capture_output=True)
    assert [metrics(run)["metrics"][name]["value"] for name in ("tgc", "sgc")] == [1, 1]
    assert gone(str(root))
