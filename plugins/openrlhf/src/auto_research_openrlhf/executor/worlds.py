"""Worlds on a node: so many at once, and one that cannot be opened fails its own episode alone."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from auto_research.benchmarks.base import Environment, Json, Observation, OpenWorld, Task
from auto_research.errors import AutoResearchError

BROKE = "world-broke"  # the flag of a world that broke off


class WorldFault(AutoResearchError):
    """The world of a task could not be opened."""


class _Places:
    """Places handed out in the order of asking.

    A semaphore lets whoever comes by take a place before those that wait, so that a chain begun
    late would run its tasks in a row at the end, with places empty.
    """

    def __init__(self, count: int) -> None:
        self._free = count
        self._waiting: deque[threading.Event] = deque()
        self._lock = threading.Lock()

    def acquire(self) -> None:
        with self._lock:
            if self._free:
                self._free -= 1
                return
            turn = threading.Event()
            self._waiting.append(turn)
        turn.wait()

    def release(self) -> None:
        with self._lock:
            if self._waiting:
                self._waiting.popleft().set()
            else:
                self._free += 1


class BoundedWorlds:
    """Opens at most `count` worlds at once; further ones wait, in the threads of their chains."""

    def __init__(self, open_world: OpenWorld, count: int) -> None:
        self._open = open_world
        self._places = _Places(count)

    def open(self, task: Task, keep: Path | None = None) -> Environment:
        """Open a task's world; raises nothing on account of the world."""
        self._places.acquire()
        try:
            inner = self._open(task, keep)
        except Exception as error:
            self._places.release()
            return _Unopened(f"the world of {task.id!r} could not be opened: {error}")
        except BaseException:
            self._places.release()
            raise
        return _Held(inner, self._places.release)


@dataclass(frozen=True)
class _Unopened:
    """Stands for a world that there is none of: an attempt in it breaks off."""

    why: str

    def execute(self, code: str, calls: int | None = None) -> Observation:
        raise WorldFault(self.why)

    def submission(self) -> Mapping[str, Json]:
        return {}

    def flags(self) -> tuple[str, ...]:
        return ()

    def close(self) -> None:
        """Nothing was opened."""


@dataclass
class _Held:
    """A world that has one of the places. One that raises has ended: its code has failed."""

    inner: Environment
    release: Callable[[], None]
    _why_ended: str = ""
    _closing: threading.Lock = field(default_factory=threading.Lock)
    _closed: bool = False

    def execute(self, code: str, calls: int | None = None) -> Observation:
        if not self._why_ended:
            try:
                return self.inner.execute(code, calls)
            except Exception as error:
                self._why_ended = f"{type(error).__name__}: {error}"
        return Observation(f"The world has ended: {self._why_ended}", failed=True)

    def submission(self) -> Mapping[str, Json]:
        try:
            return {} if self._why_ended else self.inner.submission()
        except Exception as error:
            self._why_ended = f"{type(error).__name__}: {error}"
            return {}

    def flags(self) -> tuple[str, ...]:
        return (*self.inner.flags(), *([BROKE] if self._why_ended else []))

    def close(self) -> None:
        with self._closing:
            closed, self._closed = self._closed, True
        if not closed:
            try:
                self.inner.close()
            finally:
                self.release()
