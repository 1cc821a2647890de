"""Candidate edits: what a batch suggests to add, to modify and to remove."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from auto_research_operators.shared.proposals import (
    additions,
    modifications,
    proposals,
    removals,
    stuck_skill,
    unaided,
    worst,
)
from desk import EMPTY, Desk, ran, skill
from gated_desk import attempt

from auto_research.agent_research.library import Create, Fork, Retire, Revise, view_of
from auto_research.agent_research.operators import EditRequest
from auto_research.agent_research.skill import Skill, Usage

OLD, NEW, NEWER = skill("old"), skill("new"), skill("newer")
LIBRARY = view_of([OLD])
STUCK = [ran(OLD.id, helped=False)]


def writer(request: EditRequest) -> Sequence[Skill]:
    """New out of nothing or old, newer out of new."""
    bases = [s.id for s in request.bases]
    return [NEWER] if NEW.id in bases else [NEW]


def test_only_a_success_in_which_no_skill_ran_is_unaided() -> None:
    alone = attempt("t0", True)
    others = [
        attempt("t1", False),
        attempt("t2", True, uses=STUCK),
        replace(attempt("t3", True), error="broke off"),
    ]
    assert unaided([alone, *others]) == [alone]


def test_successes_of_one_kind_make_one_skill_out_of_the_first_few() -> None:
    desk = Desk(drafts=writer, fits={"new": 1.0, "newer": 1.0})
    successes = [attempt(f"t{i}", True) for i in range(3)]
    (found,) = additions(successes, EMPTY, desk, shown=2)
    assert found.change == Create(NEWER, ("e-t0", "e-t1"))
    assert found.tasks == {"t0", "t1"}
    assert [request.kind for request in desk.requests] == ["create", "revise"]


def test_successes_of_another_kind_make_another_skill() -> None:
    made = iter([NEW, NEWER])
    desk = Desk(drafts=lambda request: [next(made)], fits={"new": 0.5})
    found = additions([attempt("t0", True), attempt("t1", True)], EMPTY, desk)
    assert [p.change for p in found] == [Create(NEW, ("e-t0",)), Create(NEWER, ("e-t1",))]


def test_a_skill_that_is_known_is_not_proposed_again() -> None:
    desk = Desk(drafts=lambda request: [OLD])
    assert additions([attempt("t0", True)], LIBRARY, desk) == []
    assert modifications([attempt("t0", True, uses=STUCK)], LIBRARY, desk) == []


def test_a_skill_that_got_stuck_is_revised_by_what_the_episode_showed() -> None:
    desk = Desk(drafts=writer)
    (found,) = modifications([attempt("t0", True, uses=STUCK)], LIBRARY, desk, limit=2)
    assert found.change == Revise(OLD.id, NEW, ("e-t0",))
    assert (desk.requests[0].bases, desk.requests[0].limit) == ((OLD,), 2)


def test_a_failure_is_mended_with_kin_too() -> None:
    kin, stranger = skill("kin"), skill("stranger")
    desk = Desk(drafts=writer, fits={"kin": 0.5})
    modifications([attempt("t0", False, uses=STUCK)], view_of([OLD, stranger, kin]), desk)
    assert desk.requests[0].bases == (OLD, kin)


def test_a_version_for_another_world_is_a_line_of_its_own() -> None:
    elsewhere = replace(NEW, interface={"actions": ["other"]})
    desk = Desk(drafts=lambda request: [elsewhere])
    (found,) = modifications([attempt("t0", True, uses=STUCK)], LIBRARY, desk)
    assert found.change == Fork(OLD.id, elsewhere, ("e-t0",))


def test_what_failed_more_often_than_it_helped_may_be_removed() -> None:
    worse = [attempt("t0", False, uses=STUCK), attempt("t1", False, uses=STUCK)]
    helped = attempt("t2", True, uses=[ran(OLD.id)])
    (found,) = removals([*worse, helped], LIBRARY)
    assert isinstance(found.change, Retire)
    assert (found.change.base, found.change.cause) == (OLD.id, ("e-t0", "e-t1"))
    assert removals([worse[0], helped], LIBRARY) == []


def test_the_edit_that_fits_most_failures_comes_first() -> None:
    drafts = {"t0": NEW, "t1": NEWER}
    desk = Desk(
        drafts=lambda request: [drafts[request.episode.task.id]] if request.episode else [],
        fits={"new": 0.25, "newer": 0.5},
    )
    batch = [attempt("t0", True), attempt("t1", True), attempt("t2", False)]
    assert [p.skill for p in proposals(batch, EMPTY, desk)] == [NEWER, NEW]


def test_no_skill_is_stuck_where_one_carried_the_episode_or_is_retired() -> None:
    other = skill("other")
    carried = attempt("t0", True, uses=[*STUCK, ran(other.id)])
    assert stuck_skill(carried, view_of([OLD, other])) is None
    stuck = attempt("t0", False, uses=STUCK)
    assert stuck_skill(stuck, view_of([replace(OLD, status="retired")])) is None
    assert stuck_skill(stuck, LIBRARY) == OLD


def test_the_worst_skill_is_the_one_with_the_poorest_record() -> None:
    good = skill("good", usage=Usage(2, 2, 2, 0, 0))
    poor = skill("poor", usage=Usage(2, 2, 0, 2, 2))
    assert worst(view_of([good, poor])) == poor
    assert worst(view_of([good, poor]), but=[poor.id]) == good
    assert worst(EMPTY) is None
