"""One sealed process a module, and where the example files are."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from auto_research.benchmarks.base import Evaluator, Scenario
from auto_research.benchmarks.planbench import MiniBenchmark

REPO = Path(__file__).parents[3]


@pytest.fixture(scope="module")
def mini() -> MiniBenchmark:
    return MiniBenchmark()


@pytest.fixture(scope="module")
def judge(mini: MiniBenchmark) -> Iterator[Evaluator]:
    evaluator = mini.evaluator("validation", 7)
    yield evaluator
    evaluator.close()


@pytest.fixture(scope="module")
def validation(mini: MiniBenchmark, judge: Evaluator) -> Sequence[Scenario]:
    return mini.scenarios("validation", 7, 16)


@pytest.fixture(scope="session")
def planbench_sample() -> Path:
    named = os.environ.get("AUTO_RESEARCH_PLANBENCH_SAMPLE")
    sample = Path(named) if named else REPO.parent / "shared" / "planbench-sample"
    if not sample.is_dir():
        pytest.skip("no PlanBench sample: name one in AUTO_RESEARCH_PLANBENCH_SAMPLE")
    return sample


@pytest.fixture(scope="session")
def lamps() -> Path:
    return REPO / "fixtures" / "planbench" / "lamps"
