"""One benchmark for many runs: each stream is made once, and the judge stays between the runs.

A verdict depends on the task and the submission alone, so sharing changes no result.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from auto_research.benchmarks.base import (
    Benchmark,
    Evaluator,
    Referenced,
    Scenario,
    Split,
    Submission,
    Verdict,
    world_opener,
)
from auto_research.errors import EvaluatorError


class SharedBenchmark:
    """Serves as the benchmark `inner` does, until `close`."""

    def __init__(self, inner: Benchmark) -> None:
        self.name, self.summary = inner.name, inner.summary
        self._inner = inner
        if opener := world_opener(inner):
            self.environment = opener
        if isinstance(inner, Referenced):
            self.reference = inner.reference
        self._streams: dict[tuple[Split, int, int | None], Sequence[Scenario]] = {}
        self._kept: Evaluator | None = None

    def scenarios(self, split: Split, seed: int, limit: int | None = None) -> Sequence[Scenario]:
        """As the inner one gives them, which is asked once."""
        key = (split, seed, limit)
        if key not in self._streams:
            self._streams[key] = self._inner.scenarios(split, seed, limit)
        return self._streams[key]

    def evaluator(self, split: Split, seed: int) -> Evaluator:
        """A judge; one more is kept open, so that the process outlives its users."""
        if self._kept is None:
            self._kept = self._inner.evaluator(split, seed)
        return _Lent(self._inner.evaluator(split, seed), self.close)

    def units_per_episode(self) -> int:
        """B of the inner one."""
        return self._inner.units_per_episode()

    def content_hash(self) -> str:
        """Hash of the inner one."""
        return self._inner.content_hash()

    def close(self) -> None:
        """Keep no judge any longer; the next one asked for is opened afresh. Safe to call twice."""
        kept, self._kept = self._kept, None
        if kept is not None:
            kept.close()


class _Lent:
    """A judge for one user. One that has died is not kept for the next."""

    def __init__(self, inner: Evaluator, failed: Callable[[], None]) -> None:
        self._inner, self._failed = inner, failed
        self.close = inner.close

    def submit(self, task_id: str, submission: Submission) -> int:
        try:
            return self._inner.submit(task_id, submission)
        except EvaluatorError:
            self._failed()
            raise

    def verdict(self, ticket: int) -> Verdict:
        try:
            return self._inner.verdict(ticket)
        except EvaluatorError:
            self._failed()
            raise
