"""Tasks of planbench-mini and its sealed judge, opened once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pytest

from auto_research.benchmarks.base import Evaluator, Scenario
from auto_research.benchmarks.planbench import MiniBenchmark


@pytest.fixture(scope="session")
def mini() -> MiniBenchmark:
    return MiniBenchmark()


@pytest.fixture(scope="session")
def judge(mini: MiniBenchmark) -> Iterator[Evaluator]:
    evaluator = mini.evaluator("validation", 7)
    yield evaluator
    evaluator.close()


@pytest.fixture(scope="session")
def validation(mini: MiniBenchmark, judge: Evaluator) -> Sequence[Scenario]:
    """One scenario of each world in each variant; the judge keeps the process open."""
    return mini.scenarios("validation", 7, 16)
