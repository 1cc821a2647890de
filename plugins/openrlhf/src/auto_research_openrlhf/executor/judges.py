"""The sealed judges of a node: one for each stream of tasks, opened anew where one has died."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass

from auto_research.agent_research.chain import AttemptedChain, ChainOutcome
from auto_research.benchmarks.base import Benchmark, Evaluator, Split, Task


class Judges:
    """Tasks and judges of a benchmark by split and seed; safe in threads.

    `benchmark` is nobody else's: letting go of a judge may end everything that it has opened.
    """

    def __init__(self, benchmark: Benchmark) -> None:
        self._benchmark = benchmark
        self._lock, self._again = threading.Lock(), threading.Lock()
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

    def judge(self, split: Split, seed: int) -> Evaluator:
        """The judge of a stream."""
        with self._lock:
            if (split, seed) not in self._judges:
                self._judges[split, seed] = self._benchmark.evaluator(split, seed)
            return self._judges[split, seed]

    def outcome(self, chain: AttemptedChain, split: Split, seed: int) -> ChainOutcome:
        """Wait for a chain's verdicts.

        Where the judge has died, the chain is handed in once more to a new one: one chain at a
        time, since what killed the judge may be among what is handed in.
        """
        outcome = chain.outcome()
        if _judged(outcome):
            return outcome
        with self._again:
            self._bury(chain.evaluator)
            chain.hand_in(self.judge(split, seed))
            outcome = chain.outcome()
            if not _judged(outcome):
                self._bury(chain.evaluator)
        return outcome

    def _bury(self, dead: Evaluator) -> None:
        """Let go of every judge, if that is one of them: streams may share one process."""
        with self._lock:
            if any(judge is dead for judge in self._judges.values()):
                self._close()

    def close(self) -> None:
        """End all of them; safe to call twice."""
        with self._lock:
            self._close()

    def _close(self) -> None:
        for judge in self._judges.values():
            judge.close()
        self._judges.clear()


@dataclass(frozen=True, slots=True)
class Stream:
    """The judge of one stream of tasks."""

    judges: Judges
    split: Split
    seed: int

    def judge(self) -> Evaluator:
        """See `Judges.judge`."""
        return self.judges.judge(self.split, self.seed)

    def outcome(self, chain: AttemptedChain) -> ChainOutcome:
        """See `Judges.outcome`."""
        return self.judges.outcome(chain, self.split, self.seed)


def _judged(outcome: ChainOutcome) -> bool:
    return all(row.success is not None for row in outcome.rows)
