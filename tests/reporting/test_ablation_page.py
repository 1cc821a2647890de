"""An ablation's page in a real browser: the paper's figures beside ours, curves, any screen."""

from __future__ import annotations

import io
from pathlib import Path

import browser
import example_ablation
import example_run
import pytest
from page_checks import LOADED, asked_for, out_of_figures, scrolls_sideways
from rich.console import Console

from auto_research.errors import UserError
from auto_research.reporting.training_html import write_ablation
from auto_research.reporting.training_tables import ablation_table

ROWS = "return [...document.querySelectorAll('#{} tbody tr')].map(row => row.innerText)"


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_ablation(
        tmp_path_factory.mktemp("page"), example_ablation.told(example_run.ATTACK)
    )


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
    assert chromium.run("return document.querySelectorAll('img, script').length") == 0
    assert "<script>alert(1)" in chromium.run("return document.body.innerText")


def test_the_papers_rows_stand_below_the_arm_that_answers_to_them(
    chromium: browser.Browser, page: Path
) -> None:
    chromium.open(page, ready=LOADED)
    rows = chromium.run(ROWS.format("figures"))
    at = next(n for n, row in enumerate(rows) if row.startswith("grpo"))
    assert "0.520" in rows[at] and "[0.480, 0.560]" in rows[at]
    assert rows[at + 1].startswith("SFT, then GRPO without a library, table 1")
    assert "0.661" in rows[at + 1] and "1,284.0" in rows[at + 1]
    assert rows[at + 2].startswith("GRPO alone")


def test_a_difference_has_both_intervals_and_its_agreement(
    chromium: browser.Browser, page: Path
) -> None:
    chromium.open(page, ready=LOADED)
    rows = chromium.run(ROWS.format("differences"))
    assert not any(row.startswith(("sage", "lost")) for row in rows)
    at = next(n for n, row in enumerate(rows) if row.startswith("grpo"))
    for told in ("-12.5", "[-15.5, -9.5]", "scenarios only [-14.0, -11.0]"):
        assert told in rows[at]
    assert rows[at + 1].count("same direction, interval excludes 0") == 2
    assert "opposite" in rows[at + 1]
    assert rows[1].strip() == "paper has no figure"


def test_every_curve_has_a_name_a_description_and_a_line_an_arm(
    chromium: browser.Browser, page: Path
) -> None:
    chromium.open(page, ready=LOADED)
    told = chromium.run(
        "return [...document.querySelectorAll('svg[role=img]')].map(svg => ["
        "...svg.getAttribute('aria-labelledby').split(' ').map(id => document.getElementById(id)"
        ".textContent), svg.querySelectorAll('polyline').length, svg.querySelectorAll('polygon')"
        ".length])"
    )
    assert len(told) == 10
    assert [(lines, bands) for _, _, lines, bands in told] == [(8, 8)] * 10
    assert told[0][0] == "Scenario success on validation, greedy"
    assert told[0][1].startswith("Mean over training seeds by iteration. Last: grpo 0.48 at 60; ")
    strokes = chromium.run(
        "return [...document.querySelectorAll('.lines-key polyline')].map(line => {"
        " const style = getComputedStyle(line); return style.stroke + style.strokeDasharray })"
    )
    assert len(set(strokes)) == len(strokes) == 8


def test_marks_and_words_lie_within_their_figure(chromium: browser.Browser, page: Path) -> None:
    chromium.open(page, ready=LOADED)
    assert out_of_figures(chromium) == []


def test_the_page_is_one_file_that_asks_for_nothing(page: Path) -> None:
    assert asked_for(page) == []
    assert [path.name for path in page.parent.iterdir()] == ["ablation.html"]


def test_an_ablation_in_which_nothing_finished_has_a_page_too(tmp_path: Path) -> None:
    told = example_ablation.told()
    told["arms"] = told["arms"][-1:]
    text = write_ablation(tmp_path, {**told, "before_rl": [], "curves": {}}).read_text()
    assert "There is nothing to compare sage with" in text
    assert "No arm has trained" in text


def test_a_page_that_cannot_be_written_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "ablation.html").mkdir()
    with pytest.raises(UserError, match="the page cannot be written"):
        write_ablation(tmp_path, example_ablation.told())


def test_one_seed_has_values_without_intervals() -> None:
    told = example_ablation.told()
    for arm in told["arms"]:
        for figure in (arm["figures"] or {}).values():
            figure.update(low=None, high=None)
    printed = io.StringIO()
    Console(width=200, file=printed).print(ablation_table(told))
    lines = printed.getvalue().splitlines()
    assert next(line for line in lines if line.startswith("grpo")).split()[1:3] == ["0.520", "20.2"]
