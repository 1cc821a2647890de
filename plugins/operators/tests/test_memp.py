"""Memp: what is retrieved often and in vain is deleted; a failure revises what ran."""

from __future__ import annotations

import pytest
from desk import EMPTY, Desk, case, episode, group, operator, ran, skill
from resuming import resumed

from auto_research.agent_research.library import (
    Create,
    Fork,
    Retire,
    Revise,
    apply_changes,
    view_of,
)

WORKED = case("memp")
CASES = [(which, name) for which in ("accepts", "refuses") for name in WORKED[which]]


@pytest.mark.parametrize(("which", "name"), CASES)
def test_deleted_iff_three_hits_and_a_rate_below_one_half(which: str, name: str) -> None:
    worked = WORKED[which][name]
    known = skill("memory")
    library, update = view_of([known]), operator("update", "memp.adjust")
    for success in worked["retrievals"]:
        update = resumed(update)
        shown = group([episode(success, ranked=[known.id])], library=library)
        library = apply_changes(library, update.after_group(shown, library, Desk()))
    assert (library.active() == ()) == worked["retired"]


def test_a_new_version_inherits_the_counts_of_its_line() -> None:
    old, new = skill("memory"), skill("memory", body="return 'better'")
    update = operator("update", "memp.adjust")
    library = view_of([old])
    for _ in range(2):
        update.after_group(group([episode(False, ranked=[old.id])]), library, Desk())
    shown = group(
        [episode(False, ranked=[old.id])], changes=[[Revise(old.id, new)]], library=library
    )
    changes = update.after_group(shown, library, Desk())
    assert changes == [Revise(old.id, new), Retire(new.id, "retrieved in vain")]


def test_a_failure_revises_what_ran_with_the_best_that_fits() -> None:
    stuck, kin, stranger = skill("stuck"), skill("kin"), skill("stranger")
    desk = Desk(fits={"stuck": 1.0, "kin": 0.5}, drafts=lambda request: [skill("wiser")])
    failed = episode(False, name="e1", uses=[ran(stuck.id, helped=False)])
    update = operator("update", "memp.adjust")
    changes = update.after_episode(failed, view_of([stuck, kin, stranger]), desk)
    assert changes == [Revise(stuck.id, skill("wiser"), ("e1",))]
    assert desk.requests[0].kind == "revise" and desk.requests[0].bases == (stuck, kin)
    assert not any(isinstance(c, Fork) for c in changes)


def test_a_failure_without_a_skill_revises_nothing() -> None:
    desk = Desk(drafts=lambda request: [skill("wiser")])
    assert operator("update", "memp.adjust").after_episode(episode(False), EMPTY, desk) == []
    assert desk.requests == []


def test_an_unaided_success_is_built_into_memory() -> None:
    desk = Desk(drafts=lambda request: [skill("memory")])
    update = operator("update", "memp.adjust")
    assert update.after_episode(episode(True, name="e1"), EMPTY, desk) == [
        Create(skill("memory"), ("e1",))
    ]
    aided = episode(True, uses=[ran(skill("other").id)])
    assert update.after_episode(aided, view_of([skill("other")]), desk) == ()
