"""The report of a search: what it says, and that it opens in a real browser, whatever is in it."""

from __future__ import annotations

from pathlib import Path

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
