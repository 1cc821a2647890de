"""X-Tree: a span becomes a skill iff it is frequent enough for its length."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from auto_research_operators.papers.x_tree import TreeSettings, merged_spans
from desk import Desk, case, episode, group, operator, skill
from hypothesis import given
from hypothesis import strategies as st

from auto_research.agent_research.library import Create, Fork, LibraryView, apply_changes
from auto_research.agent_research.operators import CreditedGroup, EditRequest
from auto_research.agent_research.skill import Skill

WORKED = case("x-tree")
ACTIONS = st.lists(st.sampled_from("abc"), max_size=8).map(tuple)


def attempts(rows: Sequence[Sequence[str]]) -> CreditedGroup:
    chain = [episode(True, name=f"e{i}", actions=row) for i, row in enumerate(rows)]
    return group(chain)


def by_span(request: EditRequest) -> list[Skill]:
    """A writer that names a skill after its span, and after what it is merged of."""
    parts = request.span or [s.name for s in request.bases]
    return [skill("_".join(sorted({p for part in parts for p in part.split("_")})))]


def test_the_worked_span_is_merged_with_the_worked_score_and_no_other() -> None:
    spans = merged_spans([(tuple(row), True) for row in WORKED["attempts"]], TreeSettings())
    assert spans == {tuple(WORKED["accepts"]): pytest.approx(WORKED["score"])}
    assert tuple(WORKED["refuses"]) not in spans


def test_the_worked_span_becomes_a_skill_and_only_once() -> None:
    update = operator("update", "x-tree.spans")
    desk = Desk(drafts=by_span)
    changes = update.after_group(attempts(WORKED["attempts"]), LibraryView(), desk)
    assert [c.skill.name for c in changes] == ["a_b"]
    again = operator("update", "x-tree.spans")
    again.restore(update.state())
    assert again.state() == update.state()
    library = apply_changes(LibraryView(), changes)
    assert list(again.after_group(attempts(WORKED["attempts"]), library, desk)) == []


def test_a_longer_span_forks_from_the_skill_of_its_part() -> None:
    update = operator("update", "x-tree.spans", skills_per_group=1)
    desk = Desk(drafts=by_span)
    short = update.after_group(attempts([["a", "b"]] * 3), LibraryView(), desk)
    library = apply_changes(LibraryView(), short)
    changes = update.after_group(attempts([["a", "b", "c"]] * 6), library, desk)
    (first,) = short
    assert isinstance(first, Create)
    assert [(c.base, c.skill.name) for c in changes if isinstance(c, Fork)] == [
        (first.skill.id, "a_b_c")
    ]
    assert apply_changes(library, changes).skills[changes[0].skill.id].version == 2


@given(st.lists(st.tuples(ACTIONS, st.booleans()), max_size=8))
def test_every_span_is_a_stretch_of_some_attempt(
    rows: list[tuple[tuple[str, ...], bool]],
) -> None:
    for span in merged_spans(rows, TreeSettings(eta=0)):
        assert any("".join(span) in "".join(actions) for actions, _ in rows)


@given(st.lists(st.tuples(ACTIONS, st.booleans()), max_size=8))
def test_no_merging_where_no_pair_is_frequent_enough(
    rows: list[tuple[tuple[str, ...], bool]],
) -> None:
    assert merged_spans(rows, TreeSettings(eta=100)) == {}


def test_success_outweighs_the_same_frequency() -> None:
    rows = [(("a", "b"), False)] * 4 + [(("c", "d"), True)] * 4
    assert list(merged_spans(rows, TreeSettings())) == [("c", "d"), ("a", "b")]
