"""Skill-alpha: an edit that makes its anchored query worse is undone; the editor learns from it."""

from __future__ import annotations

from typing import Any

import pytest
from desk import case, operator, pool, ran, skill
from gated_desk import GatedDesk, attempt, edited, reborn

from auto_research.agent_research.library import Create, LibraryView, Retire, view_of
from auto_research.agent_research.operators import Episode

WORKED = case("skill-alpha")["cases"]
HELPER = skill("helper")
SOURCE = attempt("t1", True)  # a success that a skill can be written from


def alpha(**settings: Any) -> Any:
    return operator("update", "skill-alpha.rollback", **{"targets": 0, "anchors": 1, **settings})


def desk_for(edited_passes: bool, original: bool = False) -> GatedDesk:
    def attempted(name: str, library: LibraryView) -> Episode:
        return attempt(name, edited_passes if library.get(HELPER.id) else original)

    return GatedDesk(
        pool=pool(6),
        drafts=lambda request: [HELPER],
        attempted=attempted,
        fits={"helper": 1.0},
    )


@pytest.mark.parametrize("which", WORKED)
def test_an_edit_is_undone_iff_its_anchor_is_worse(which: str) -> None:
    worked = WORKED[which]
    anchor = attempt("t0", worked["original"])
    update = alpha()
    changes = edited(update, [anchor, SOURCE], desk_for(worked["edited"]))
    assert [type(c) for c in changes] == ([Create] if worked["kept"] else [])
    for one in (update, reborn(update)):
        theta = one.state()["theta"]
        assert {e: theta[e] for e in worked["theta"]} == pytest.approx(worked["theta"], abs=1e-6)


def test_the_original_is_run_anew_once_an_edit_was_kept() -> None:
    other = skill("other")
    anchors = [attempt("t0", False), attempt("t2", False, uses=[ran(other.id, helped=False)])]
    desk = desk_for(True)
    update = alpha(anchors=2, cold_start=50.0)  # it keeps nothing by chance
    update.restore({"theta": {**update.state()["theta"], "delete": 50.0}})
    desk.drafts = lambda request: [HELPER] if request.kind == "create" else []
    changes = edited(update, [*anchors, SOURCE], desk, view_of([other]))
    assert [type(c) for c in changes] == [Create, Retire]
    assert desk.probed == [("t0",), ("t2",), ("t2",)]


def test_target_queries_are_none_of_the_batch_and_teach_the_editor() -> None:
    desk = desk_for(True)
    update = alpha(targets=2)
    update.outcomes.restore({"t3": False, "t4": False, "t5": True})
    edited(update, [attempt("t0", False), SOURCE], desk)
    targets = desk.probed[1]
    assert set(targets) <= {"t3", "t4", "t5"}
    assert len(targets) == 2
    # R = r + gain = 1 + (2/2 - 0/2) = 2: twice the step of the anchor alone
    assert update.state()["theta"]["create"] == pytest.approx(2 + 2 * 0.0596015, abs=1e-6)


def test_a_probability_belongs_to_each_edit_that_can_be_made() -> None:
    update = alpha(cold_start=0.0)
    chances = update.policy({"delete": Retire("x", "test")})
    assert chances == {"delete": 0.5, "keep": 0.5}
