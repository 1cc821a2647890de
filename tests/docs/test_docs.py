"""The docs say what the code says: figures, help texts, hooks, links, and a plugin that works."""

from __future__ import annotations

import inspect
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from auto_research import hookspecs
from auto_research.plugins import HOOKS

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
COMMAND = [sys.executable, "-c", "from auto_research.cli.main import main; main()"]


def run(*command: object, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*map(str, command)],
        capture_output=True,
        text=True,
        cwd=ROOT,
        env={**os.environ, **environment},
    )


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The built site. It is built as strictly as `make docs` does."""
    folder = tmp_path_factory.mktemp("site")
    built = run(sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", folder)
    assert built.returncode == 0, built.stderr
    assert re.findall(r"^WARNING.*", built.stderr, re.MULTILINE) == []
    return folder


@pytest.mark.parametrize("script", ["fill_results.py", "fill_facts.py", "fill_methods.py"])
def test_every_figure_and_fact_in_the_pages_is_the_current_one(script: str) -> None:
    checked = run(sys.executable, DOCS / script, "--check")
    assert checked.returncode == 0, f"{checked.stderr}\nrun: make docs"


@pytest.mark.parametrize("hook", HOOKS)
def test_every_hook_is_documented_with_its_arguments(hook: str) -> None:
    arguments = ", ".join(inspect.signature(getattr(hookspecs, hook)).parameters)
    page = (DOCS / "plugins.md").read_text()
    assert f"### {hook}({arguments})\n" in page


def test_every_page_is_in_the_navigation() -> None:
    navigation = (ROOT / "mkdocs.yml").read_text().partition("\nnav:")[2]
    pages = {page.relative_to(DOCS).as_posix() for page in DOCS.rglob("*.md")}
    assert pages == set(re.findall(r"[\w/-]+\.md", navigation))


def test_the_site_needs_nothing_from_elsewhere(site: Path) -> None:
    for page in site.rglob("*.html"):
        loaded = re.findall(
            r"<(?:script|img|iframe)[^>]*\ssrc=[\"']?([^\"'\s>]+)"
            r"|<link[^>]*rel=[\"']?(?:stylesheet|preconnect|icon)[\"']?[^>]*href=[\"']?([^\"'\s>]+)",
            page.read_text(),
        )
        outside = [url for pair in loaded for url in pair if re.match(r"(https?:)?//", url)]
        assert outside == [], page.name


def test_every_link_of_the_readme_and_its_kin_leads_to_a_file() -> None:
    for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md"):
        for target in re.findall(r"\]\(([^)#\s]+)", (ROOT / name).read_text()):
            assert target.startswith("https://") or (ROOT / target).exists(), target


def test_every_option_that_a_page_uses_is_in_the_help() -> None:
    known = set(re.findall(r"--[a-z][a-z-]+", (DOCS / "cli.md").read_text()))
    others = {"--strict", "--system-site-packages", "--enforce-eager", "--max-model-len"}
    others |= {"--evaluation", "--length", "--rows"}  # of auto_research_openrlhf.build
    for page in [ROOT / "README.md", *DOCS.rglob("*.md")]:
        for block in re.findall(r"```bash\n(.*?)```", page.read_text(), re.DOTALL):
            lines = [line.partition("#")[0] for line in block.splitlines()]
            used = {o for line in lines for o in re.findall(r"--[a-z][a-z-]+", line)}
            assert used <= known | others, page.name


def test_the_plugin_of_the_page_works_and_is_short(tmp_path: Path) -> None:
    page = (DOCS / "plugins.md").read_text()
    found = re.search(r'```python title="best_fit.py"\n(.*?)```', page, re.DOTALL)
    assert found is not None
    source = found[1]
    assert len([line for line in source.splitlines() if line.strip()]) <= 32
    (tmp_path / "best_fit.py").write_text(source)
    told = {"PYTHONPATH": str(tmp_path), "AUTO_RESEARCH_PLUGINS": "best_fit"}

    listed = run(*COMMAND, "--strict", "operators", "list", "--json", **told)
    assert listed.returncode == 0, listed.stderr
    operator = {row["name"]: row for row in json.loads(listed.stdout)}["example.best-fit"]
    assert (operator["slot"], operator["plugin"]) == ("retrieval", "best_fit")

    stream = ["--split", "validation", "--seed", "7", "--episodes", "3", "--json"]
    ended = run(*COMMAND, "agent-eval", "--method", "best-fit", *stream, "--out", tmp_path, **told)
    assert ended.returncode == 0, ended.stderr
    result = json.loads(ended.stdout)
    assert (result["method"], result["metrics"]["episodes"]) == ("best-fit", 3)
    assert result["telemetry"]["skills_created"] >= 1
    assert result["telemetry"]["skills_retrieved"] >= 1
    assert result["spending"]["units_by_kind"]["test"]["retrieve"] >= 1
