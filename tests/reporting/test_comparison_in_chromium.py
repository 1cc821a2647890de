"""A comparison's page in a real browser: from disk, on any screen, without script or network."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import browser
import example_run
import pytest
from compared_runs import Did, lines, write
from page_checks import LOADED, asked_for, out_of_figures, scrolls_sideways

from auto_research.comparison.table import compared
from auto_research.errors import UserError
from auto_research.reporting.comparison_html import write_comparison

WARNING = f"split differs {example_run.ATTACK}"


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Four methods over two seeds; one of them and a warning try to run a script."""
    folder = tmp_path_factory.mktemp("runs")
    skilled = Did(ranked=("aa",), units=20)
    streams = {
        "react": [Did()] * 6 + [Did(False, units=100)] * 6,
        "sage": [skilled] * 11 + [Did(False)],
        "twin": [skilled] * 11 + [Did(False)],
        "hostile": [Did(False, units=30)] * 9 + [Did()] * 3,
    }
    runs = [
        write(folder, name, did, seed=seed, trained=[60] * 8 if name == "twin" else [])
        for name, did in streams.items()
        for seed in (1, 2)
    ]
    # No such name is read from a run, but the page is not to lean on that.
    *found, last = lines(runs)
    found.append(replace(last, label=example_run.ATTACK))
    told = {"directory": str(folder), **compared(found, "react", [WARNING])}
    return write_comparison(folder / "out", told, found)


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("width", [1280, 390])
def test_the_page_never_scrolls_sideways(
    chromium: browser.Browser, page: Path, width: int, dark: bool
) -> None:
    chromium.open(page, width=width, dark=dark, ready=LOADED)
    assert not scrolls_sideways(chromium)
    assert chromium.log() == []


def test_hostile_text_does_nothing_and_is_shown(chromium: browser.Browser, page: Path) -> None:
    chromium.open(page, ready=LOADED)
    assert chromium.alert() == ""
    assert chromium.run("return document.title") == "4 methods on toy@1"
    assert chromium.run("return document.querySelectorAll('img, script').length") == 0
    text = chromium.run("return document.body.innerText")
    assert text.count("<script>alert(1)") >= 3  # the warning, the table, the task figure


def test_the_table_has_a_line_a_method_with_its_figures(
    chromium: browser.Browser, page: Path
) -> None:
    chromium.open(page, ready=LOADED)
    rows = chromium.run(
        "return [...document.querySelectorAll('.comparison tbody tr')].map(row => row.innerText)"
    )
    assert len(rows) == 4
    assert "0.9167" in rows[1] and "Pareto front" in rows[1] and "same as twin" in rows[1]
    assert "Pareto front" not in rows[0]
    head = chromium.run("return document.querySelectorAll('.comparison thead th').length")
    cells = "return [...document.querySelectorAll('.comparison tbody tr')].map(r => r.cells.length)"
    assert chromium.run(cells) == [head] * 4


def test_every_figure_has_a_name_and_a_description(chromium: browser.Browser, page: Path) -> None:
    chromium.open(page, ready=LOADED)
    told = chromium.run(
        "return [...document.querySelectorAll('svg[role=img]')].map(svg => svg"
        ".getAttribute('aria-labelledby').split(' ').map(id => document.getElementById(id)"
        ".textContent))"
    )
    assert [title for title, _ in told[:2]] == [
        "Joint success against total cost",
        "sage less react, task by task",
    ]
    assert len(told) == 4  # the Pareto plot, and one for each method but the baseline
    words = "Of 24 tasks sage made 24 cheaper; it got 10 right that react did not, and lost 0."
    assert told[1][1] == words


def test_marks_and_words_lie_within_their_figure(chromium: browser.Browser, page: Path) -> None:
    chromium.open(page, ready=LOADED)
    assert [part for part in out_of_figures(chromium) if "alert" not in part] == []


def test_the_page_is_one_file_that_asks_for_nothing(page: Path) -> None:
    assert asked_for(page) == []
    assert [path.name for path in page.parent.iterdir()] == ["comparison.html"]


def test_a_page_that_cannot_be_written_is_one_line(tmp_path: Path) -> None:
    found = lines([write(tmp_path, name, [Did()]) for name in ("react", "sage")])
    told = {"directory": "", **compared(found, "react", [])}
    (tmp_path / "out").touch()
    with pytest.raises(UserError, match="the page cannot be written"):
        write_comparison(tmp_path / "out", told, found)
