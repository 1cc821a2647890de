"""Highlighting may add colour, never lose or let through a character."""

from __future__ import annotations

from html import unescape
from re import sub

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from auto_research.reporting.highlight import highlight


@given(st.text(alphabet=st.sampled_from("def x(:)\n\t \"'#\\<>&;{}é\f\r 01")))
@example("def f(a):\n    return '<b>'  # & so on\n")
@example("x = '''never closed")
@example("\tx\n y\n")
@example("a\u2028b = 1\x0c\n# <i>")
def test_the_text_is_the_source_and_its_markup_only_spans(source: str) -> None:
    marked = str(highlight(source))
    plain = sub(r'<span class="hl-[a-z]+">|</span>', "", marked)
    assert "<" not in plain
    assert unescape(plain) == source


@pytest.mark.parametrize(
    "span",
    [
        '<span class="hl-key">def</span> <span class="hl-def">move</span>',
        '<span class="hl-str">&#34;lift&#34;</span>',
        '<span class="hl-com"># why</span>',
        '<span class="hl-num">3</span>',
    ],
)
def test_python_is_told_apart(span: str) -> None:
    assert span in highlight('def move(w):\n    w.act("lift", 3)  # why\n')
