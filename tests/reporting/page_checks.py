"""What must hold of every page that is written, whatever it shows."""

from __future__ import annotations

import re
from pathlib import Path

import browser
from example_run import ATTACK
from markupsafe import escape

SHAPES = "circle, line, polyline, polygon, text"
LOADED = "document.readyState === 'complete'"


def scrolls_sideways(chromium: browser.Browser) -> bool:
    """Whether the open page is wider than its window once everything in it is unfolded."""
    chromium.run("for (const d of document.querySelectorAll('details')) d.open = true")
    return bool(chromium.run("return document.documentElement.scrollWidth - innerWidth") > 0)


def out_of_figures(chromium: browser.Browser) -> list[str]:
    """The marks and words of the open page that reach out of the figure they belong to."""
    found: list[str] = chromium.run(
        "return [...document.querySelectorAll('svg.chart')].flatMap(svg => {"
        " const box = svg.getBoundingClientRect();"
        f" return [...svg.querySelectorAll('{SHAPES}')].filter(part => {{"
        "  const own = part.getBoundingClientRect();"
        "  return own.left < box.left - 1 || own.right > box.right + 1 || own.top < box.top - 1"
        "   || own.bottom > box.bottom + 1; }).map(part => part.outerHTML) })"
    )
    return found


def asked_for(page: Path) -> list[str]:
    """What a page without a script, but with the attack shown in it, would load or lead to."""
    text = page.read_text(encoding="utf-8")
    assert "script-src" not in text and "default-src 'none'" in text
    plain = text.replace(str(escape(ATTACK)), "")
    assert plain != text
    return re.findall(r"(?:src=|href=|url\()[\"']?[^#\"'][^\s>]*", plain)
