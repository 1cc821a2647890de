"""ReSkill: a bundle of edits is kept iff its posterior mean is the greater one after its test."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from desk import Desk, case, episode, group, operator, ran, skill, task

from auto_research.agent_research.library import (
    Create,
    Fork,
    LibraryView,
    Retire,
    apply_changes,
    view_of,
)
from auto_research.agent_research.operators import CreditedGroup, Episode

BASE, EDIT = skill("base"), skill("edit", body="return 'better'")
TESTED = apply_changes(view_of([BASE]), [Fork(BASE.id, EDIT)])
FITS = {"base": 1.0, "edit": 1.0}


def rollouts(version: str, successes: int, of: int) -> list[Episode]:
    trace = {"bundle": [EDIT.id], "version": version}
    made = [episode(i < successes, name=f"{version}{i}") for i in range(of)]
    return [replace(e, choice=replace(e.choice, trace=trace)) for e in made]


def step(worked: Any) -> CreditedGroup:
    """Rollouts of both versions: a group of siblings on one task."""
    both = [rollouts(version, worked[version], worked["of"]) for version in ("old", "new")]
    return group(*([e] for row in both for e in row))


@pytest.mark.parametrize("which", ["accepts", "refuses", "undecided"])
def test_a_version_is_kept_iff_its_posterior_mean_is_greater(which: str) -> None:
    worked = case("reskill")[which]
    update = operator("update", "reskill.bundle")
    changes: list[Any] = []
    for _ in range(worked["steps"]):
        assert changes == []
        again = operator("update", "reskill.bundle")
        again.restore(update.state())  # as a resumed run would
        update = again
        changes = list(update.after_group(step(worked), TESTED, Desk(fits=FITS)))
    old, new = update.test.posteriors()
    assert (old.mean, new.mean) == pytest.approx((worked["old_mean"], worked["new_mean"]), abs=5e-5)
    retired = {"base": [BASE.id], "edit": [EDIT.id], None: []}[worked["retired"]]
    assert [c.base for c in changes if isinstance(c, Retire)] == retired


def test_each_rollout_gets_the_new_version_with_a_clamped_chance() -> None:
    retrieval = operator("retrieval", "reskill.thompson")
    desk = Desk(fits=FITS)
    first = {retrieval.choose(task(), TESTED, desk).ranked for _ in range(40)}
    assert first == {(BASE.id,), (EDIT.id,)}
    assert retrieval.p_new == 0.5  # Beta(1, 1) both
    for _ in range(5):
        retrieval.learn(step(case("reskill")["accepts"]), desk)
    assert retrieval.p_new == 0.85  # Pr(Beta(21, 6) > Beta(11, 16)) is about 0.998
    again = operator("retrieval", "reskill.thompson")
    again.restore(retrieval.state())
    assert again.state() == retrieval.state()
    drawn = [again.choose(task(), TESTED, desk) for _ in range(400)]
    share = sum(choice.ranked == (EDIT.id,) for choice in drawn) / 400
    assert share == pytest.approx(0.85, abs=0.06)
    assert {choice.propensities for choice in drawn} == {(0.85,), (0.15,)}


def test_an_open_test_is_served_by_the_better_mean_and_without_a_draw_at_test() -> None:
    retrieval = operator("retrieval", "reskill.thompson")
    desk = Desk(fits=FITS, phase="test")
    assert retrieval.choose(task(), TESTED, desk).ranked == (BASE.id,)
    retrieval.learn(step(case("reskill")["accepts"]), desk)
    choices = {retrieval.choose(task(), TESTED, desk).ranked for _ in range(20)}
    assert choices == {(EDIT.id,)}


def test_edits_wait_for_a_bundle_and_are_opened_beside_their_bases() -> None:
    library = view_of([BASE])
    update = operator("update", "reskill.bundle", reservoir=2, min_edits=1)
    desk = Desk(fits=FITS, drafts=lambda request: [EDIT])
    failed = group([replace(episode(False), uses=(ran(BASE.id, helped=False),))])
    assert list(update.after_group(failed, library, desk)) == []
    assert list(update.after_group(failed, library, desk)) == [Fork(BASE.id, EDIT)]
    assert [r.kind for r in desk.requests] == ["revise", "revise"]


def test_a_first_skill_for_a_world_needs_no_test() -> None:
    update = operator("update", "reskill.bundle")
    desk = Desk(drafts=lambda request: [BASE])
    changes = update.after_group(group([episode(True, name="e1")]), LibraryView(), desk)
    assert list(changes) == [Create(BASE, ("e1",))]
