"""The tutorial's operator is one short file that works as the page says, and gates as it says."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

TUTORIAL = Path(__file__).parents[2] / "docs" / "tutorial"
COMMAND = (sys.executable, "-c", "from auto_research.cli.main import main; main()")
NAMED = {"AUTO_RESEARCH_PLUGINS": "asi_gate"}
STREAM = ("--split", "validation", "--episodes", "3", "--train-scenarios", "2", "--json")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The folder of a plugin author: the file, and nothing else."""
    shutil.copy(TUTORIAL / "asi_gate.py", tmp_path)
    return tmp_path


def run(folder: Path, *command: str, **variables: str) -> subprocess.CompletedProcess[str]:
    environment = {k: v for k, v in os.environ.items() if k != "AUTO_RESEARCH_PLUGINS"}
    environment |= {"PYTHONPATH": str(folder), **variables}
    return subprocess.run(command, capture_output=True, text=True, cwd=folder, env=environment)


def test_the_operator_is_one_short_file_that_the_page_shows() -> None:
    assert len((TUTORIAL / "asi_gate.py").read_text().splitlines()) < 120
    assert [p.name for p in TUTORIAL.glob("*.py")] == ["asi_gate.py"]
    assert '--8<-- "tutorial/asi_gate.py"' in (TUTORIAL / "index.md").read_text()


def test_its_module_named_in_the_environment_is_all_it_takes(folder: Path) -> None:
    shown = run(folder, *COMMAND, "--strict", "operators", "show", "asi.save-gate", **NAMED)
    assert shown.returncode == 0, shown.stderr
    assert "plugin: asi_gate" in shown.stdout


def test_the_entry_point_of_the_page_is_all_it_takes(folder: Path) -> None:
    page = (TUTORIAL / "index.md").read_text()
    found = re.search(r'```toml title="pyproject.toml"\n(.*?)```', page, re.DOTALL)
    assert found is not None
    (folder / "pyproject.toml").write_text(found[1])
    build = "from setuptools import setup; setup()"  # what an editable install does, offline
    built = run(folder, sys.executable, "-c", build, "-q", "egg_info")
    assert built.returncode == 0, built.stderr
    listed = run(folder, *COMMAND, "--strict", "methods", "list", "--json")
    assert listed.returncode == 0, listed.stderr
    assert {row["name"]: row["plugin"] for row in json.loads(listed.stdout)}["asi"] == "asi-gate"


def test_it_runs_its_probes_and_saves_what_passes(folder: Path) -> None:
    out = str(folder / "runs")
    asked = ("agent-eval", "--method", "asi", "--seed", "7", *STREAM, "--out", out)
    ended = run(folder, *COMMAND, *asked, **NAMED)
    assert ended.returncode == 0, ended.stderr
    result = json.loads(ended.stdout)
    rows = map(json.loads, (Path(result["run_dir"]) / "episodes.jsonl").read_text().splitlines())
    probes = [row for row in rows if row["phase"] == "probes"]
    passed = [
        row
        for row in probes
        if row["success"] and row["uses"] and all(u["sound"] and u["helped"] for u in row["uses"])
    ]
    assert probes
    assert result["telemetry"]["skills_created"] == len(passed)
    assert result["spending"]["units"]["probes"] > 0
    assert result["telemetry"]["by_phase"]["test"]["skills_created"] == 0


def test_it_compares_with_others_at_one_budget(folder: Path) -> None:
    asked = ("compare", "--methods", "asi,react", "--seeds", "7", *STREAM, "--out", str(folder))
    ended = run(folder, *COMMAND, *asked, **NAMED)
    assert ended.returncode == 0, ended.stderr
    assert {"asi", "react"} <= set(re.findall(r"\w+", ended.stdout))
