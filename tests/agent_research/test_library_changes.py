"""The rules of change, and that the stored library follows them exactly as the private one."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from library_examples import CHANGES, FEW, FEW_IDS, USAGES, skills

from auto_research.agent_research.codec import (
    change_from_json,
    change_to_json,
    dumps,
    loads,
    skill_from_json,
    skill_to_json,
    usage_from_json,
    usage_to_json,
)
from auto_research.agent_research.library import (
    Change,
    ChangeError,
    Create,
    Fork,
    LibraryView,
    Merge,
    Retire,
    Revise,
    apply_changes,
    record_usage,
    view_of,
)
from auto_research.agent_research.skill import Skill, Usage
from auto_research.agent_research.store import SkillStore
from auto_research.benchmarks.base import Json

A, B, C = FEW[:3]
BATCHES = st.lists(
    st.tuples(st.lists(CHANGES, max_size=3), st.dictionaries(FEW_IDS, USAGES, max_size=2)),
    max_size=8,
)


@settings(max_examples=40, deadline=None)
@given(BATCHES)
def test_the_store_and_the_view_agree_after_any_changes(
    batches: list[tuple[list[Change], dict[str, Usage]]],
) -> None:
    view = LibraryView()
    with TemporaryDirectory() as folder, SkillStore(Path(folder) / "a.sqlite") as store:
        for number, (changes, usage) in enumerate(batches):
            try:
                expected = record_usage(apply_changes(view, changes), usage)
            except ChangeError:
                with pytest.raises(ChangeError):
                    store.apply(changes, usage=usage, batch=number)
            else:
                view = expected
                store.apply(changes, usage=usage, batch=number)
            assert list(store.view().skills.items()) == list(view.skills.items())
        with SkillStore(store.path, create=False) as reopened:
            assert list(reopened.view().skills.items()) == list(view.skills.items())


@settings(max_examples=50, deadline=None)
@given(skills())
def test_a_skill_survives_json(skill: Skill) -> None:
    again = skill_from_json(loads(dumps(skill_to_json(skill))))
    assert again == skill
    assert dumps(again.interface) == dumps(skill.interface)  # the order of keys too


@settings(max_examples=50, deadline=None)
@given(CHANGES, USAGES)
def test_changes_and_usage_survive_json(change: Change, usage: Usage) -> None:
    assert change_from_json(loads(dumps(change_to_json(change)))) == change
    assert usage_from_json(loads(dumps(usage_to_json(usage)))) == usage


@pytest.mark.parametrize(
    ("key", "value", "reason"),
    [
        ("name", 3, "name is not text"),
        ("version", -1, "version is not a whole number"),
        ("version", True, "version is not a whole number"),
        ("status", "asleep", "status is 'asleep'"),
        ("parents", "abc", "parents is not a list"),
        ("parents", [1], "parents holds something other than text"),
        ("usage", {}, "usage: no retrieved"),
        ("extra", 1, "unknown extra"),
    ],
)
def test_json_that_is_no_skill_is_refused_by_field(key: str, value: Json, reason: str) -> None:
    data = {**skill_to_json(A), key: value}
    with pytest.raises(ValueError, match=reason):
        skill_from_json(data)


def test_create_adds_once_and_keeps_the_first_record() -> None:
    view = record_usage(apply_changes(LibraryView(), [Create(A)]), {A.id: Usage(retrieved=3)})
    again = apply_changes(view, [Create(A)])
    assert again.skills == view.skills


def test_revise_retires_the_base_and_carries_lineage_and_usage() -> None:
    view = record_usage(view_of([A]), {A.id: Usage(5, 4, 3, 1, 1)})
    new = apply_changes(view, [Revise(A.id, B)]).skills
    assert new[A.id].status == "retired"
    assert (new[B.id].version, new[B.id].lineage, new[B.id].parents) == (2, A.id, (A.id,))
    assert new[B.id].usage == Usage(5, 4, 3, 1, streak=0)


def test_fork_leaves_the_base_active_and_starts_a_line_of_its_own() -> None:
    new = apply_changes(view_of([A]), [Fork(A.id, B)])
    assert [skill.id for skill in new.active()] == [A.id, B.id]
    assert (new.skills[B.id].lineage, new.skills[B.id].parents) == (B.id, (A.id,))


def test_merge_retires_each_base_and_adds_their_records_once() -> None:
    view = record_usage(view_of([A, B]), {A.id: Usage(called=2), B.id: Usage(called=3)})
    new = apply_changes(view, [Merge((A.id, B.id, A.id), C)])
    assert new.active() == (new.skills[C.id],)
    assert new.skills[C.id].parents == (A.id, B.id)
    assert new.skills[C.id].usage == Usage(called=5)


def test_a_retired_skill_stays_retired_when_it_is_found_again() -> None:
    new = apply_changes(view_of([A]), [Retire(A.id, "failed"), Create(A)])
    assert new.skills[A.id].status == "retired"
    assert len(new) == 0


def test_revising_into_a_known_skill_keeps_that_one_and_retires_the_base() -> None:
    new = apply_changes(view_of([A, B]), [Revise(A.id, B)])
    assert [skill.id for skill in new.active()] == [B.id]
    assert new.skills[B.id] == B


@pytest.mark.parametrize(
    "change", [Revise("x", B), Fork("x", B), Merge(("x",), B), Merge((), B), Retire("x", "")]
)
def test_a_change_without_its_base_is_refused_and_nothing_is_applied(change: Change) -> None:
    view = view_of([A])
    with pytest.raises(ChangeError):
        apply_changes(view, [Create(B), change])
    assert list(view.skills) == [A.id]
