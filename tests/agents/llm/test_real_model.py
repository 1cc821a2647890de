"""A whole run against a real model server, where one is named; see docs/agent/llm.md.

``AUTO_RESEARCH_TEST_MODEL`` is the model's name, ``AUTO_RESEARCH_TEST_BASE_URL`` the server. The
model may be as small and as foolish as it likes.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from evaluating import metrics, rows
from test_llm_run import prepared

MODEL, URL = (os.environ.get(f"AUTO_RESEARCH_TEST_{name}", "") for name in ("MODEL", "BASE_URL"))


@pytest.mark.slow
@pytest.mark.skipif(not (MODEL and URL), reason="no real model server is named")
def test_a_real_model_does_a_whole_run(tmp_path: Path) -> None:
    run = tmp_path / "run"
    options = {"model": MODEL, "max_tokens": "64", "context_tokens": "2000"}
    prepared(URL, options=options, train_scenarios=1).run(run)
    for row in rows(run):
        assert row["model_calls"] >= row["steps"] > 0 and row["tokens"] > row["generated"]
    silent = [row for row in rows(run, "training") if "without code" in str(row["transcript"])]
    assert all(row["reward"] == -1.0 for row in silent)
    assert "tokens-estimated" not in metrics(run)["flags"]
