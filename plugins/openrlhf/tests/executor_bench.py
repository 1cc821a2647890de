"""A plugin with a benchmark of sums: code is run in a shell of its own, and judged elsewhere.

A task wants the sum of two numbers. Worlds run in this process, so that a thousand take seconds;
the judge is a process, as everywhere. Code can break its world (`crash()`) or hang in it
(`hang()`), which the world's own limit ends, as a watchdog would.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from auto_research.agent_research.library import Change, LibraryView
from auto_research.agent_research.operators import Context, Episode, LibraryUpdate, Operator
from auto_research.benchmarks.base import Benchmark, Json, Observation, Scenario, Split, Task
from auto_research.benchmarks.sealed import SealedProcess
from auto_research.hookspecs import BenchmarkFactory, BenchmarkOptions, hookimpl

HERE = Path(__file__).parent
TASKS = 3  # a scenario
UNITS = 1000


class Crashed(BaseException):
    """Ends a world from inside."""


class SumWorld:
    """One task's shell: an `Environment`."""

    open_now = most_open = 0
    counting = threading.Lock()
    delay = 0.0  # seconds that a piece of code takes

    def __init__(self, task: Task) -> None:
        self.printed: list[str] = []
        self.answer: Json = None
        self.finished = False
        self.hung = False
        self.names: dict[str, Any] = {
            "print": lambda *parts: self.printed.append(" ".join(map(str, parts))),
            "complete": self._complete,
            "crash": self._crash,
            "hang": self._hang,
        }
        with SumWorld.counting:
            SumWorld.open_now += 1
            SumWorld.most_open = max(SumWorld.most_open, SumWorld.open_now)

    def _complete(self, answer: Json = None) -> None:
        self.answer, self.finished = answer, True

    def _crash(self) -> None:
        raise Crashed

    def _hang(self) -> None:
        self.hung = True
        raise TimeoutError("the code was stopped")

    def execute(self, code: str, calls: int | None = None) -> Observation:
        if self.delay:
            time.sleep(self.delay)
        self.printed.clear()
        failed = False
        try:
            exec(compile(code, "<shell>", "exec"), self.names)
        except Exception as error:
            failed = True
            self.printed.append(f"{type(error).__name__}: {error}")
        except Crashed:
            raise BrokenPipeError("its process broke off") from None
        return Observation("\n".join(self.printed), failed, 0, self.finished)

    def submission(self) -> Mapping[str, Json]:
        return {"answer": self.answer}

    def flags(self) -> tuple[str, ...]:
        return ("safety-net",) if self.hung else ()

    def close(self) -> None:
        with SumWorld.counting:
            SumWorld.open_now -= 1


class Sums:
    """Scenarios of three tasks."""

    name = "sums@1"
    summary = "add two numbers"
    broken: frozenset[str] = frozenset()  # tasks whose worlds cannot be opened

    def scenarios(self, split: Split, seed: int, limit: int | None = None) -> Sequence[Scenario]:
        return [scenario(f"{split}{seed}x{n}") for n in range(8 if limit is None else limit)]

    def environment(self, task: Task, keep: Path | None = None) -> SumWorld:
        if task.id in self.broken:
            raise OSError("no world today")
        return SumWorld(task)

    def evaluator(self, split: Split, seed: int) -> SealedProcess:
        return SealedProcess([sys.executable, str(HERE / "executor_judge.py")])

    def units_per_episode(self) -> int:
        return UNITS

    def content_hash(self) -> str:
        return "sums"


def scenario(name: str) -> Scenario:
    return Scenario(name, tuple(_task(name, n) for n in range(TASKS)))


def _task(name: str, n: int) -> Task:
    one, other = len(name) + n, 3 * n + 1
    task = f"{name}_{n + 1}"
    return Task(task, name, n, "sums", f"Task {task}: what is {one} + {other}?", {})


class Explosive(LibraryUpdate):
    """Raises after an episode whose code says so."""

    name = "sums.explosive"
    citation = "none"
    summary = "raises where it is told to"

    def after_episode(
        self, episode: Episode, library: LibraryView, ctx: Context
    ) -> Sequence[Change]:
        if "explode" in str(episode.evidence):
            raise RuntimeError("an operator has a bug")
        return ()


@hookimpl
def register_operators() -> Sequence[type[Operator]]:
    return (Explosive,)


@hookimpl
def register_benchmarks() -> Mapping[str, BenchmarkFactory]:
    return {"sums": _sums}


def _sums(options: BenchmarkOptions) -> Benchmark:
    return Sums()
