"""Jobs in processes of their own: order, needs, and failures that stay where they are."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from pathlib import Path

from auto_research.errors import UserError
from auto_research.training.ablation_pool import Event, run_jobs
from auto_research.training.backends import Progress, Told


@dataclass(frozen=True)
class Task:
    name: str
    folder: Path
    needs: tuple[str, ...] = ()
    end: str = ""


def work(task: Task, told: Told) -> None:
    """Leaves a file behind, once those of its needs are there; or fails as it is told to."""
    assert all((task.folder / need).exists() for need in task.needs)
    told(Progress("work", 1, 2))
    if task.end == "error":
        raise UserError("no such thing", mend="another")
    if task.end == "bug":
        raise ZeroDivisionError
    if task.end == "dies":
        os.kill(os.getpid(), 9)
    if task.end == "waits":
        while not (task.folder / "other").exists():
            time.sleep(0.01)
    (task.folder / task.name).write_text(str(os.getpid()))


def test_every_job_runs_after_its_needs_in_a_process_of_its_own(tmp_path: Path) -> None:
    heard: list[Event] = []
    jobs = [
        Task("a", tmp_path),
        Task("b", tmp_path, ("a", "done before")),
        Task("c", tmp_path, ("a", "b")),
    ]
    (tmp_path / "done before").touch()
    assert run_jobs(jobs, work, 2, heard.append) == {}
    told = [(event.job, event.kind) for event in heard]
    assert told == [(n, kind) for n in "abc" for kind in ("begun", "progress", "done")]
    assert heard[1].progress == Progress("work", 1, 2)
    assert len({(tmp_path / name).read_text() for name in "abc"} | {str(os.getpid())}) == 4


def test_a_failed_job_takes_along_only_what_needs_it(tmp_path: Path) -> None:
    heard: list[Event] = []
    jobs = [
        Task("told", tmp_path, end="error"),
        Task("bug", tmp_path, end="bug"),
        Task("dead", tmp_path, end="dies"),
        Task("after", tmp_path, ("dead",)),
        Task("after that", tmp_path, ("after",)),
        Task("well", tmp_path),
    ]
    failed = run_jobs(jobs, work, 2, heard.append)
    assert failed == {
        "told": "no such thing; another",
        "bug": "ZeroDivisionError: ",
        "dead": "its process died",
        "after": "needs dead, which failed",
        "after that": "needs after, which failed",
    }
    assert (tmp_path / "well").exists()
    assert {event.job for event in heard if event.kind == "failed"} == set(failed)


def test_several_run_at_once(tmp_path: Path) -> None:
    jobs = [Task("waits", tmp_path, end="waits"), Task("other", tmp_path)]
    assert run_jobs(jobs, work, 2, lambda event: None) == {}
