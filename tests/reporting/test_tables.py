"""The terminal tables hold the figures of the `--json` object, readably."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import example_run
import pytest
from rich.console import Console
from rich.table import Table
from syrupy.assertion import SnapshotAssertion

from auto_research.reporting.tables import details_table, headline_table


@pytest.fixture
def result(finished: Path) -> dict[str, Any]:
    config = example_run.config()
    keys = ("benchmark", "seed", "train_seed", "episodes", "budget")
    metrics = json.loads((finished / "metrics.json").read_text())
    return {"method": "sage", **{key: config[key] for key in keys}, **metrics}


def shown(table: Table, width: int = 80) -> str:
    console = Console(width=width, color_system=None)
    with console.capture() as capture:
        console.print(table)
    return "\n".join(line.rstrip() for line in capture.get().splitlines())


def test_the_headline_stays_as_it_is(result: dict[str, Any], snapshot: SnapshotAssertion) -> None:
    assert shown(headline_table(result)) == snapshot


def test_the_details_stay_as_they_are(result: dict[str, Any], snapshot: SnapshotAssertion) -> None:
    assert shown(details_table(result)) == snapshot


def test_a_metric_without_a_value_or_interval_is_a_dash(result: dict[str, Any]) -> None:
    result["metrics"] = {"joint_success": {"value": None, "low": None, "high": None}}
    assert "Joint success      –              –" in shown(headline_table(result))


def test_what_a_user_named_is_no_markup(result: dict[str, Any]) -> None:
    result["benchmark"] = "[red]mine[/red]"
    assert "[red]mine[/red]" in shown(headline_table(result))
