"""The sealed judges of a node: one for each stream of tasks, opened anew where one has died."""

from __future__ import annotations

import threading
from collections.abc import Mapping

from auto_research.benchmarks.base import Benchmark, Evaluator, Split, Task


class Judges:
    """Tasks and judges of a benchmark by split and seed; safe in threads.

    `benchmark` is nobody else's: letting go of a judge may end everything that it has opened.
    """

    def __init__(self, benchmark: Benchmark) -> None:
        self._benchmark = benchmark
        self._lock = threading.Lock()
        self._tasks: dict[tuple[Split, int, int | None], Mapping[str, Task]] = {}
        self._judges: dict[tuple[Split, int], Evaluator] = {}

    def tasks(self, split: Split, seed: int, limit: int | None) -> Mapping[str, Task]:
        """The tasks of the first `limit` scenarios, by id."""
        key = (split, seed, limit)
        with self._lock:
            if key not in self._tasks:
                found = self._benchmark.scenarios(split, seed, limit)
                self._tasks[key] = {task.id: task for s in found for task in s.tasks}
            return self._tasks[key]

    def judge(self, split: Split, seed: int, dead: Evaluator | None = None) -> Evaluator:
        """The judge of a stream; a new one where the last is the `dead` one."""
        key = (split, seed)
        with self._lock:
            if dead is not None and self._judges.get(key) is dead:
                # Two streams may share one process, so all of them are opened anew.
                for judge in self._judges.values():
                    judge.close()
                self._judges.clear()
            if key not in self._judges:
                self._judges[key] = self._benchmark.evaluator(split, seed)
            return self._judges[key]

    def close(self) -> None:
        """End all of them; safe to call twice."""
        with self._lock:
            for judge in self._judges.values():
                judge.close()
            self._judges.clear()
