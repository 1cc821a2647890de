"""The report in a real browser: it opens from disk, reads on any screen, and runs nobody's code."""

from __future__ import annotations

from pathlib import Path

import browser
import pytest

from auto_research.reporting.html import write_report

TAB, ENTER, SPACE = "\ue004", "\ue007", " "


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("width", [1280, 390])
def test_the_page_never_scrolls_sideways(
    chromium: browser.Browser, hostile: Path, width: int, dark: bool
) -> None:
    chromium.open(write_report(hostile), "#episode=test-0044", width=width, dark=dark)
    chromium.run("for (const d of document.querySelectorAll('details')) d.open = true")
    chromium.wait("!document.querySelector('.episode:not([data-ready])')")
    overflow = "return document.documentElement.scrollWidth - innerWidth"
    assert chromium.run(overflow) <= 0
    assert chromium.log() == []


def test_dark_and_light_follow_the_reader(chromium: browser.Browser, finished: Path) -> None:
    page, colours = write_report(finished), []
    for dark in (False, True):
        chromium.open(page, dark=dark)
        colours.append(chromium.run("return getComputedStyle(document.body).backgroundColor"))
    assert colours == ["rgb(252, 251, 248)", "rgb(21, 21, 23)"]


def test_hostile_text_does_nothing_and_is_shown(chromium: browser.Browser, hostile: Path) -> None:
    chromium.open(write_report(hostile), "#episode=test-0002")
    chromium.run("for (const d of document.querySelectorAll('details')) d.open = true")
    chromium.wait("!document.querySelector('.episode:not([data-ready])')")
    assert chromium.alert() == ""
    assert chromium.run("return document.title") == "sage on planbench-mini@1, seed 7"
    assert chromium.run("return document.querySelectorAll('img').length") == 0
    transcript = chromium.run("return document.querySelector('.turn pre').textContent")
    assert "<script>alert(1)" in transcript


def test_a_script_that_got_in_all_the_same_would_be_refused(
    chromium: browser.Browser, finished: Path, tmp_path: Path
) -> None:
    text = write_report(finished).read_text(encoding="utf-8")
    broken = tmp_path / "broken.html"
    broken.write_text(text.replace("<main>", "<main><script>document.title = 'owned'</script>"))
    chromium.open(broken)
    assert chromium.run("return document.title") == "sage on planbench-mini@1, seed 7"
    assert "Content Security Policy" in " ".join(chromium.log())


def test_a_grid_cell_leads_to_its_transcript(chromium: browser.Browser, finished: Path) -> None:
    chromium.open(write_report(finished))
    chromium.run("document.querySelectorAll('.grid a.cell')[100].click()")
    chromium.wait("document.querySelector('.episode[open][data-ready]')")
    opened = "document.querySelector('.episode[open]')"
    assert chromium.run(f"return {opened}.querySelector('.name').textContent") == "test-0100"
    words = chromium.run(f"return {opened}.textContent")
    for said in ("(lift crate0 hoist0)", "2 skills of 9 considered", "called, "):
        assert said in words


def test_a_cause_leads_from_the_library_into_training(
    chromium: browser.Browser, finished: Path
) -> None:
    chromium.open(write_report(finished))
    chromium.run("document.querySelector('.versions a[href=\"#episode=training-0150\"]').click()")
    chromium.wait("document.querySelector('.episode[open][data-ready]')")
    words = chromium.run("return document.querySelector('.episode[open]').textContent")
    assert "training-0150" in words
    assert "revise" in words


def test_a_skill_named_in_a_transcript_leads_to_its_code(
    chromium: browser.Browser, finished: Path
) -> None:
    chromium.open(write_report(finished), "#episode=test-0000")
    chromium.wait("document.querySelector('.episode[open][data-ready]')")
    chromium.run("document.querySelector('.episode[open] a[href^=\"#skill-\"]').click()")
    chromium.wait("document.querySelector('.lines details[open]')")


def test_episodes_are_found_by_phase_outcome_and_name(
    chromium: browser.Browser, finished: Path
) -> None:
    chromium.open(write_report(finished))

    def fill(phase: str, outcome: str, name: str) -> str:
        fields = (
            ("phase", phase, "change"),
            ("outcome", outcome, "change"),
            ("name", name, "input"),
        )
        for field, value, event in fields:
            chromium.run(
                f"const node = document.getElementById('filter-{field}'); node.value = '{value}';"
                f"node.dispatchEvent(new Event('{event}'))"
            )
        return str(chromium.run("return document.getElementById('shown').textContent"))

    assert fill("test", "", "") == "1 to 50 of 120 episodes"
    assert fill("test", "error", "") == "1 to 1 of 1 episodes"
    assert fill("", "", "DEPOTS-drifted-14") == "1 to 3 of 3 episodes"
    assert fill("", "", "no such name") == "No episode matches."


def test_the_keyboard_alone_opens_a_transcript(chromium: browser.Browser, finished: Path) -> None:
    chromium.open(write_report(finished))
    chromium.run("document.querySelector('.episode summary').focus()")
    chromium.press(TAB + ENTER)
    chromium.wait("document.querySelectorAll('.episode')[1].dataset.ready")
    chromium.press(SPACE)
    assert chromium.run("return document.querySelectorAll('.episode')[1].open") is False


def test_every_figure_has_a_name_and_a_description(
    chromium: browser.Browser, finished: Path
) -> None:
    chromium.open(write_report(finished))
    told = chromium.run(
        "return [...document.querySelectorAll('svg[role=img]')].map(svg => svg"
        ".getAttribute('aria-labelledby').split(' ').map(id => document.getElementById(id)"
        ".textContent))"
    )
    assert len(told) == 4
    assert all(title and description for title, description in told)
    assert [title for title, words in told if "9 skills are active" in words] == [
        "Size of the skill library over the episodes"
    ]


def test_a_page_without_scripts_still_shows_the_figures(
    chromium: browser.Browser, finished: Path, tmp_path: Path
) -> None:
    head, _, _ = write_report(finished).read_text(encoding="utf-8").rpartition("<script>")
    plain = tmp_path / "plain.html"
    plain.write_text(head + "<script></script>", encoding="utf-8")
    chromium.open(plain, ready="document.readyState === 'complete'")
    assert "0.8750" in chromium.run("return document.body.innerText")
