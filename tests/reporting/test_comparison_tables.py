"""A comparison for people and programs: every form holds the figures and the warnings."""

from __future__ import annotations

import csv
import io
import re
from pathlib import Path
from typing import Any

import pytest
from compared_runs import Did, lines, write
from rich.console import Console
from syrupy.assertion import SnapshotAssertion

from auto_research.comparison.table import compared
from auto_research.reporting.comparison_tables import as_csv, as_markdown, comparison_table

WARNING = "not matched, so no fair comparison: split differs"


@pytest.fixture
def told(tmp_path: Path) -> dict[str, Any]:
    skilled = Did(ranked=("aa",), units=20)
    paths = [write(tmp_path, "react", [Did()] * 3 + [Did(False)] * 3, seed=s) for s in (1, 2, 5)]
    paths += [write(tmp_path, "sage", [skilled] * 6, seed=s, trained=[90] * 9) for s in (1, 2, 5)]
    paths += [write(tmp_path, "twin", [skilled] * 6, seed=s, trained=[95] * 9) for s in (1, 2, 5)]
    return dict(compared(lines(paths), "react", []))


def shown(told: dict[str, Any], width: int) -> str:
    console = Console(width=width, color_system=None)
    with console.capture() as capture:
        console.print(comparison_table(told))
    return "\n".join(line.rstrip() for line in capture.get().splitlines())


def test_the_table_stays_as_it_is(told: dict[str, Any], snapshot: SnapshotAssertion) -> None:
    assert shown(told, 160) == snapshot


def test_the_markdown_stays_as_it_is(told: dict[str, Any], snapshot: SnapshotAssertion) -> None:
    assert as_markdown(told) == snapshot


def test_a_narrow_terminal_loses_no_figure(told: dict[str, Any]) -> None:
    narrow, wide = (re.findall(r"[+-]?\d[\d.,]*", shown(told, width)) for width in (80, 160))
    assert sorted(narrow) == sorted(wide)
    assert {"0.5000", "1.5500", "+0.5000"} <= set(narrow)


def test_csv_holds_plain_numbers_a_method_a_row(told: dict[str, Any]) -> None:
    rows = list(csv.DictReader(io.StringIO(as_csv(told))))
    assert [row["method"] for row in rows] == ["react", "sage", "twin"]
    for row, method in zip(rows, told["methods"], strict=True):
        for key in ("joint", "total_cost"):
            parts = [row[key], row[f"{key}_low"], row[f"{key}_high"]]
            assert [float(part) for part in parts] == [*method[key].values()]
    assert (rows[0]["difference_joint"], rows[1]["difference_joint"]) == ("", "0.5")
    assert (rows[1]["units_training"], rows[1]["units_training_low"]) == ("135.0", "")
    assert (rows[1]["same_as"], rows[1]["pareto"], rows[2]["pareto"]) == ("twin", "true", "false")


def test_warnings_stand_in_every_form(told: dict[str, Any]) -> None:
    told["warnings"] = [WARNING]
    assert WARNING in " ".join(shown(told, 160).split())
    assert f"> **Warning**: {WARNING}\n\n|" in as_markdown(told)
    assert all(row["warnings"] == WARNING for row in csv.DictReader(io.StringIO(as_csv(told))))


def test_what_a_run_named_is_no_markup(told: dict[str, Any]) -> None:
    told["methods"][1]["method"] = "[red]a|b[/red]"
    assert "[red]a|b[/red]" in shown(told, 160)
    assert "| [red]a\\|b[/red] |" in as_markdown(told)
