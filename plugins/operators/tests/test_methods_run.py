"""Every method of the plugin really runs: trained and evaluated on a few real tasks."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from auto_research_operators.plugin import register_methods

from auto_research.agent_research.method import load_method
from auto_research.agent_research.run import RunDir
from auto_research.evaluate import prepare
from auto_research.furnishing import EvalRequest
from auto_research.plugins import load_plugins

METHODS = [Path(str(path)) for path in register_methods()]


@pytest.mark.parametrize("path", METHODS, ids=lambda path: path.stem)
def test_it_trains_and_runs_the_stream_without_an_error(path: Path, tmp_path: Path) -> None:
    registry = load_plugins()
    request = EvalRequest(
        method=load_method(path.stem, registry),
        split="validation",
        seed=7,
        episodes=3,
        train_scenarios=2,
    )
    evaluation = prepare(request, registry)
    evaluation.run(tmp_path / "run")
    rows = list(RunDir.open(tmp_path / "run").rows())
    assert [row.error for row in rows if row.error] == []
    phases = Counter(row.phase for row in rows)
    assert phases["test"] == 3
    assert phases["training"] > 0
    assert all(row.units <= evaluation.config.budget_units for row in rows)
