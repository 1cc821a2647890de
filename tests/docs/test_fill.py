"""The scripts that fill the pages: what a block becomes, and that a stale one is noticed."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

DOCS = Path(__file__).parents[2] / "docs"
TABLE = {
    "id": "demo",
    "title": "A demo",
    "note": "A note.",
    "columns": ["method", "joint", "units", "left out"],
    "rows": [["sage", {"value": 0.5, "low": 0.25, "high": 0.75}, 12345, None]],
}
SHOWN = """<!-- results:demo -->

**A demo**

| method | joint | units | left out |
| --- | --- | --- | --- |
| sage | 0.5000 [0.2500, 0.7500] | 12,345 | not measured |

A note.

<!-- /results -->
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project with the real scripts, one page and one table."""
    (tmp_path / "docs").mkdir()
    for name in ("blocks.py", "fill_results.py"):
        shutil.copy(DOCS / name, tmp_path / "docs")
    (tmp_path / "README.md").write_text("No block here.\n")
    write(tmp_path, TABLE)
    (tmp_path / "docs" / "page.md").write_text(
        "Before.\n<!-- results:demo -->\nold\n<!-- /results -->\nAfter.\n"
    )
    return tmp_path


def write(project: Path, table: dict[str, Any]) -> None:
    (project / "docs" / "results.json").write_text(json.dumps({"tables": [table]}))


def fill(project: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(project / "docs" / "fill_results.py"), *arguments]
    return subprocess.run(command, capture_output=True, text=True)


def test_a_block_becomes_its_table_and_the_rest_of_the_page_stays(project: Path) -> None:
    assert fill(project).returncode == 0
    assert (project / "docs" / "page.md").read_text() == f"Before.\n{SHOWN}After.\n"
    assert (project / "README.md").read_text() == "No block here.\n"


def test_filling_twice_changes_nothing_more(project: Path) -> None:
    fill(project)
    again = fill(project)
    assert (again.returncode, again.stderr) == (0, "")


def test_a_check_names_the_stale_page_and_changes_nothing(project: Path) -> None:
    before = (project / "docs" / "page.md").read_text()
    stale = fill(project, "--check")
    assert (stale.returncode, stale.stderr) == (1, "out of date: docs/page.md\n")
    assert (project / "docs" / "page.md").read_text() == before


def test_a_check_passes_until_a_figure_changes(project: Path) -> None:
    fill(project)
    assert fill(project, "--check").returncode == 0
    write(project, {**TABLE, "rows": [["sage", 0.51, 12345, None]]})
    assert fill(project, "--check").returncode == 1


def test_a_row_that_lacks_a_cell_is_refused(project: Path) -> None:
    write(project, {**TABLE, "rows": [["sage", 0.5]]})
    ended = fill(project)
    assert ended.returncode == 1
    assert "2 cells for 4 columns" in ended.stderr


def test_a_block_without_a_table_is_refused(project: Path) -> None:
    write(project, {**TABLE, "id": "other"})
    ended = fill(project)
    assert ended.returncode == 1
    assert "KeyError: 'demo'" in ended.stderr
