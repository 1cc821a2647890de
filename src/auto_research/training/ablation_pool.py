"""Jobs in processes of their own, a few at once: one that fails takes only what needs it along.

All processes hold the far end of one leash, a pipe. When this process lets go of it, or is killed,
they end at once; what they do must survive that.
"""

from __future__ import annotations

import os
import threading
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from multiprocessing import connection, get_context
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from typing import Literal, Protocol, TypeVar

from auto_research.agent_research.interrupts import deaf_processes
from auto_research.errors import AutoResearchError
from auto_research.training.backends import Progress, Told


class Named(Protocol):
    """A job: its name, and the names of those that must be done before it."""

    @property
    def name(self) -> str: ...

    @property
    def needs(self) -> Sequence[str]: ...


J = TypeVar("J", bound=Named)


@dataclass(frozen=True)
class Event:
    """What happened to a job; `text` says why it failed."""

    job: str
    kind: Literal["begun", "progress", "done", "failed"]
    progress: Progress | None = None
    text: str = ""


@dataclass
class _Running:
    job: Named
    process: BaseProcess
    line: Connection


def run_jobs(
    jobs: Sequence[J],
    work: Callable[[J, Told], None],
    workers: int,
    heard: Callable[[Event], None],
    *,
    preload: Sequence[str] = (),
) -> dict[str, str]:
    """Run every job whose needs are done, in order, `workers` at once. Returns why jobs failed.

    `preload` names modules that are imported once for all processes.

    `work` runs in the job's own process, and is picklable. A name in `needs` that is no job's is
    taken as done. An exception, or a process that dies, fails its job and those that need it.
    """
    context = get_context("forkserver")
    context.set_forkserver_preload(list(preload))
    far_end, leash = context.Pipe(duplex=False)
    waiting, failed = list(jobs), dict[str, str]()
    running: list[_Running] = []
    try:
        while waiting or running:
            for job in list(waiting):
                broken = [name for name in job.needs if name in failed]
                if broken:
                    waiting.remove(job)
                    failed[job.name] = f"needs {broken[0]}, which failed"
                    heard(Event(job.name, "failed", text=failed[job.name]))
                elif len(running) < workers and not _open(job.needs, waiting, running):
                    waiting.remove(job)
                    here, there = context.Pipe()
                    process = context.Process(
                        target=_serve, args=(work, job, there, far_end), daemon=True
                    )
                    with deaf_processes():  # this process alone hears Ctrl-C, and says so
                        process.start()
                    there.close()
                    running.append(_Running(job, process, here))
                    heard(Event(job.name, "begun"))
            _listen(running, failed, heard)
    finally:
        leash.close()
        far_end.close()
        for one in running:
            one.process.join()
            one.line.close()
    return failed


def _open(needs: Sequence[str], waiting: Sequence[Named], running: Sequence[_Running]) -> bool:
    """Whether one of these is still to be done."""
    return any(job.name in needs for job in (*waiting, *(one.job for one in running)))


def _listen(
    running: list[_Running], failed: dict[str, str], heard: Callable[[Event], None]
) -> None:
    """Wait until one of the jobs says something, or its process ends."""
    ready = connection.wait([one.line for one in running]) if running else []
    for one in [one for one in running if one.line in ready]:
        name = one.job.name
        try:
            told = one.line.recv()
        except (EOFError, OSError):
            told = "its process died"
        if isinstance(told, Progress):
            heard(Event(name, "progress", told))
            continue
        running.remove(one)
        one.process.join()
        one.line.close()
        if told is None:
            heard(Event(name, "done"))
        else:
            failed[name] = told
            heard(Event(name, "failed", text=told))


def _serve(work: Callable[[J, Told], None], job: J, line: Connection, leash: Connection) -> None:
    threading.Thread(target=_end_with, args=(leash,), daemon=True).start()
    os.dup2(2, 1)  # what is printed there is no result of the command
    told: str | None = None
    try:
        work(job, line.send)
    except AutoResearchError as error:
        told = str(error)
    except Exception as error:
        traceback.print_exc()
        told = f"{type(error).__name__}: {error}"
    line.send(told)


def _end_with(leash: Connection) -> None:
    leash.poll(None)
    os._exit(1)
