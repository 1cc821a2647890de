"""The report of a search: what it says, and that it opens in a real browser, whatever is in it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import browser
import pytest
from example_search import result, write_search
from rich.console import Console

from auto_research.errors import UserError
from auto_research.reporting.evolution import (
    champions_table,
    claims_table,
    write_evolution_report,
)
from auto_research.reporting.front import Dot, front, fronts


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    search = write_search(tmp_path_factory.mktemp("search") / "hostile", attack=True)
    return write_evolution_report(search)


def test_the_front_has_no_dominated_dot() -> None:
    dots = [Dot(0.5, 0.9, 0, False), Dot(0.4, 0.8, 0, False), Dot(0.6, 0.85, 1, False)]
    assert front(dots) == [dots[1], dots[0]]
    assert front([dots[0], dots[0]]) == [dots[0]]
    assert front([]) == []


def test_a_generation_that_moves_nothing_has_no_front_and_random_search_none_at_all() -> None:
    dots = [
        Dot(0.5, 0.9, 0, False),
        Dot(0.6, 0.8, 1, False),
        Dot(0.1, 1.0, 1, True),
        Dot(0.5, 0.95, 2, False),
    ]
    assert fronts(dots) == [(0, [dots[0]]), (2, [dots[3]])]


def test_the_tables_tell_the_claim_with_its_interval() -> None:
    search = [{"hash": "a" * 64}] * 12
    console = Console(width=200, record=True)
    console.print(champions_table(result(search)), claims_table(result(search)))
    told = console.export_text()
    assert "+0.0250 [-0.0083, +0.0583]" in told
    assert "Champion minus sage" in told
    assert "9 genomes evaluated, 1 failed; 810,000 units" in told


def test_the_page_needs_nothing_from_elsewhere(hostile: Path) -> None:
    text = hostile.read_text(encoding="utf-8")
    assert "http://" not in text and "https://" not in text
    assert "default-src 'none'" in text


def test_an_unfinished_search_has_a_report(tmp_path: Path) -> None:
    page = write_evolution_report(write_search(tmp_path / "half", finished=False))
    text = page.read_text(encoding="utf-8")
    assert "The search is unfinished." in text
    assert "Nothing has been run on test yet." in text


def test_a_directory_without_a_search_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no search can be read there"):
        write_evolution_report(tmp_path)


def _change(path: Path, **fields: Any) -> None:
    """Change fields of a file's first line."""
    first, *others = path.read_text().splitlines()
    path.write_text("\n".join([json.dumps({**json.loads(first), **fields}), *others]))


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({"units": 5}, "units: Input should be a valid dictionary"),
        ({"units": {"test": "many"}}, "units.test: Input should be a valid integer"),
        ({"joint": "x"}, "joint: Input should be a valid number"),
        ({"joint": float("inf")}, "joint: Input should be a finite number"),
        ({"joint": None}, "a trial that is done has figures"),
        ({"episodes": 5}, "episodes: Input should be a valid string"),
        ({"flags": "x"}, "flags: Input should be a valid list"),
        ({"hash": "../../secret"}, "hash: String should match"),
        ({"method": {}}, "method.retrieval: Field required"),
        ({"generation": "first"}, "generation: Input should be a valid integer"),
    ],
)
def test_a_damaged_trial_is_told_by_its_line(
    tmp_path: Path, fields: dict[str, Any], told: str
) -> None:
    folder = write_search(tmp_path / "search")
    _change(folder / "trials.jsonl", **fields)
    with pytest.raises(UserError) as refused:
        write_evolution_report(folder)
    assert "no search can be read there: trials.jsonl, line 1" in str(refused.value)
    assert told in str(refused.value)
    assert not (folder / "report.html").exists()


@pytest.mark.parametrize(
    ("name", "content", "told"),
    [
        ("evolve.yaml", "a: 1", "evolve.yaml, benchmark: Field required"),
        ("evolve.yaml", "[1]", "evolve.yaml: Input should be"),
        ("evolve.yaml", "", "evolve.yaml: Input should be"),
        ("evolve.yaml", "a: [", "no search can be read there"),
        ("result.json", "[1]", "result.json: Input should be"),
        ("result.json", "null", "result.json: Input should be"),
        ("result.json", '{"verdict": ["x"]}', "result.json, test: Field required"),
        ("result.json", "{", "result.json is not JSON"),
        ("lineage.json", "[1]", "lineage.json: Input should be"),
        ("lineage.json", '{"ancestors": ["x"], "genomes": []}', "an ancestor is not among"),
        ("trials.jsonl", "[1]\n", "trials.jsonl, line 1: Input should be"),
        ("trials.jsonl", "nothing\n", "trials.jsonl, line 1 is not JSON"),
    ],
)
def test_a_damaged_file_is_told_by_its_name(
    tmp_path: Path, name: str, content: str, told: str
) -> None:
    folder = write_search(tmp_path / "search")
    (folder / name).write_text(content)
    with pytest.raises(UserError) as refused:
        write_evolution_report(folder)
    assert told in str(refused.value)
    assert "\n" not in str(refused.value)


def test_a_damaged_interval_is_told(tmp_path: Path) -> None:
    folder = write_search(tmp_path / "search")
    gap = {"joint_success": {"value": 0.1}, "average_cost": 3, "total_cost": "x"}
    _change(folder / "result.json", claim={"champion_minus_sage": gap})
    with pytest.raises(UserError, match=r"joint_success\.low: Field required"):
        write_evolution_report(folder)


def test_a_page_that_cannot_be_written_is_one_line(tmp_path: Path) -> None:
    folder = write_search(tmp_path / "search")
    (folder / "report.html").mkdir()
    with pytest.raises(UserError, match="the page cannot be written: "):
        write_evolution_report(folder)


@pytest.mark.parametrize("width", [1280, 390])
def test_the_page_never_scrolls_sideways_and_runs_nobodys_code(
    chromium: browser.Browser, hostile: Path, width: int
) -> None:
    chromium.open(hostile, width=width, dark=width < 400)
    chromium.run("for (const d of document.querySelectorAll('details')) d.open = true")
    chromium.wait("!document.querySelector('.trial:not([data-ready])')")
    assert chromium.run("return document.documentElement.scrollWidth - innerWidth") <= 0
    assert chromium.run("return document.title") == "evolve on planbench-mini@1, seed 7"
    assert chromium.run("return document.querySelectorAll('img').length") == 0
    assert chromium.alert() == ""
    assert chromium.log() == []


def test_a_trial_opens_to_its_episodes_and_they_to_their_transcripts(
    chromium: browser.Browser, hostile: Path
) -> None:
    chromium.open(hostile)
    chromium.run("document.querySelector('.trial').open = true")
    chromium.wait("document.querySelector('.trial[data-ready]')")
    assert chromium.run("return document.querySelectorAll('.trial[open] .episode').length") == 30
    assert (
        chromium.run("return document.querySelectorAll('.trial[open] .cells .cell').length") == 30
    )
    chromium.run("document.querySelector('.trial[open] .episode').open = true")
    chromium.wait("document.querySelector('.episode[data-ready]')")
    words = chromium.run("return document.querySelector('.episode[open]').textContent")
    assert "(pick-up a)" in words
    assert "<script>" in words  # shown, not run


def test_the_claim_the_front_and_the_failure_are_there_to_read(
    chromium: browser.Browser, hostile: Path
) -> None:
    chromium.open(hostile)
    words = chromium.run("return document.body.textContent")
    for said in (
        "The champion did not demonstrably beat sage on test.",
        "+0.0250 [-0.0083, +0.0583]",
        "failed: its process died",
        "ValueError: broken",
        "Flags: worker-died",
        "generation 1, evolution, from",
        "arXiv 2512.17102",
        "memp.adjust",
    ):
        assert said in words
    described = chromium.run(
        "return [...document.querySelectorAll('svg[role=img]')].map(svg => svg"
        ".getAttribute('aria-labelledby').split(' ').map(id => document.getElementById(id)"
        ".textContent))"
    )
    assert described[0][1].startswith("11 genomes. Evolution's last front: ")
