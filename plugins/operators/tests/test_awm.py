"""AWM: a workflow is appended if and only if the attempt was accepted; none is taken away."""

from __future__ import annotations

import pytest
from desk import Desk, case, episode, group, operator, ran, skill

from auto_research.agent_research.library import Retire, Revise, apply_changes, view_of


@pytest.mark.parametrize("which", ["accepts", "refuses"])
def test_a_workflow_is_appended_iff_the_attempt_was_accepted(which: str) -> None:
    worked = case("awm")[which]
    library = view_of([skill(name) for name in worked["library"]])
    uses = [ran(library.active()[0].id)] if worked["helped_by_older"] else []
    desk = Desk(drafts=lambda request: [skill("book_a_flight")])
    update = operator("update", "awm.append")
    attempt = episode(worked["own_check"], own_check=worked["own_check"], uses=uses)
    changes = update.after_episode(attempt, library, desk)
    assert [s.name for s in apply_changes(library, changes).active()] == worked["after"]
    shown = group([attempt], changes=[changes], library=library)
    assert list(update.after_group(shown, library, desk)) == list(changes)


def test_what_is_known_is_not_appended_again() -> None:
    known = skill("book_a_flight")
    desk = Desk(drafts=lambda request: [known])
    update = operator("update", "awm.append")
    assert update.after_episode(episode(True), view_of([known]), desk) == []


def test_failures_never_take_anything_away() -> None:
    known = skill("old")
    failed = [episode(False, uses=[ran(known.id, helped=False)], ranked=[known.id])] * 9
    update = operator("update", "awm.append")
    changes = [c for e in failed for c in update.after_episode(e, view_of([known]), Desk())]
    assert not [c for c in changes if isinstance(c, Retire | Revise)]
    assert update.after_group(group(failed), view_of([known]), Desk()) == []
