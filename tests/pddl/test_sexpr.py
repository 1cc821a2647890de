"""PDDL text and nested lists say the same thing."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from auto_research.pddl import Expr, PddlError, parse, show, show_definition

_names = st.text(alphabet="abcxyz019-_?:", min_size=1, max_size=6)
_lists: st.SearchStrategy[list[Expr]] = st.recursive(
    st.lists(_names, max_size=4), lambda inner: st.lists(_names | inner, max_size=4), max_leaves=20
)


@given(_lists)
def test_what_is_shown_reads_back_the_same(expr: list[Expr]) -> None:
    assert parse(show(expr)) == expr


@given(_lists)
def test_a_definition_reads_back_the_same_over_its_lines(expr: list[Expr]) -> None:
    definition: list[Expr] = ["define", *expr]
    assert parse(show_definition(definition)) == definition


@given(_lists)
def test_comments_case_and_space_do_not_count(expr: list[Expr]) -> None:
    text = show(expr).upper().replace("(", "\n(  ").replace(")", " ; a (comment\n)")
    assert parse(text) == expr


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("(a (b)", "1 bracket(s) not closed"),
        ("(a))", "a closing bracket too many"),
        ("word", "does not begin with a bracket"),
        ("", "no (define"),
        ("(" * 1000, "nested too deeply"),
    ],
)
def test_text_that_is_no_expression_is_refused_with_the_reason(text: str, said: str) -> None:
    if text:
        with pytest.raises(PddlError, match=said.replace("(", r"\(").replace(")", r"\)")):
            parse(text)
    else:
        assert parse(text) == []
