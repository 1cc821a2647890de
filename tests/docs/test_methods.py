"""A page for each method of other papers, made of its operators' own words, never stale."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from auto_research.agent_research.method import load_method
from auto_research.plugins import load_plugins

DOCS = Path(__file__).parents[2] / "docs"
REGISTRY = load_plugins()
METHODS = sorted(n for n, entry in REGISTRY.methods.items() if entry.plugin == "operators")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project with the real script and the real pages."""
    shutil.copytree(DOCS / "methods" / "operators", tmp_path / "docs" / "methods" / "operators")
    for name in ("docs/blocks.py", "docs/fill_methods.py", "mkdocs.yml"):
        shutil.copy(DOCS.parent / name, tmp_path / name)
    return tmp_path


def fill(project: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(project / "docs" / "fill_methods.py"), *arguments]
    return subprocess.run(command, capture_output=True, text=True)


@pytest.mark.parametrize("name", METHODS)
def test_a_page_says_all_that_the_operators_say_of_themselves(name: str) -> None:
    page = (DOCS / "methods" / "operators" / f"{name}.md").read_text()
    method = load_method(name, REGISTRY)
    assert method.citation in page
    for slot, filled in method.slots().items():
        kind = REGISTRY.operators[slot][filled.use].value
        assert f"### {slot}: {filled.use}\n" in page
        assert kind.citation in page
        for setting, value in filled.settings.model_dump(mode="json").items():
            assert f"| `{setting}` | `{value}` |" in page


def test_a_stale_a_missing_and_a_left_over_page_are_named_and_then_put_right(
    project: Path,
) -> None:
    pages = project / "docs" / "methods" / "operators"
    before = {page.name: page.read_text() for page in pages.glob("*.md")}
    (pages / "voyager.md").write_text("old\n")
    (pages / "sapo.md").unlink()
    (pages / "nobody.md").write_text("left over\n")
    told = fill(project, "--check")
    assert told.returncode == 1
    assert {line.rpartition("/")[2] for line in told.stderr.splitlines()} == {
        "voyager.md",
        "sapo.md",
        "nobody.md",
    }
    assert (pages / "voyager.md").read_text() == "old\n"
    assert fill(project).returncode == 0
    assert {page.name: page.read_text() for page in pages.glob("*.md")} == before
    assert fill(project, "--check").returncode == 0
