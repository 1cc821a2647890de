"""GSO: a guide is kept, a skill is written for each task from it; one part is edited at a time."""

from __future__ import annotations

from typing import Any

import pytest
from desk import EMPTY, Desk, case, operator, pool, skill, task
from gated_desk import GatedDesk, attempt, edited, reborn

from auto_research.agent_research.library import Create, LibraryView, Revise, view_of
from auto_research.agent_research.operators import EditRequest, Episode

WORKED = case("gso")
PART = skill("part")
SOURCE = attempt("t0", True)


def guide(**settings: Any) -> Any:
    return operator("update", "gso.guide", **settings)


def desk_for(after: list[str]) -> GatedDesk:
    def attempted(name: str, library: LibraryView) -> Episode:
        return attempt(name, name in (after if library.get(PART.id) else WORKED["before"]))

    return GatedDesk(pool=pool(16), drafts=lambda request: [PART], attempted=attempted)


@pytest.mark.parametrize("which", ["accepts", "refuses"])
def test_a_part_is_edited_iff_it_repairs_more_than_twice_what_it_breaks(which: str) -> None:
    worked = WORKED["cases"][which]
    desk = desk_for(worked["after"])
    update = guide()
    changes = edited(update, [SOURCE], desk)
    assert changes == ([Create(PART, ("e-t0",))] if worked["accepted"] else [])
    assert set(desk.probed) == {("t3", "t7", "t11", "t15")}  # held out of training
    stands = worked["after"] if worked["accepted"] else WORKED["before"]
    held = dict.fromkeys(desk.probed[0], False) | dict.fromkeys(stands, True)
    assert reborn(update).state() == {"trained": ["t0"], "outcomes": held}


def test_the_guide_as_it_stands_is_not_run_again() -> None:
    desk = desk_for(WORKED["cases"]["refuses"]["after"])
    update = guide()
    edited(update, [SOURCE], desk)
    edited(reborn(update), [SOURCE], desk)
    assert len(desk.probed) == 3  # the guide once, its edit twice


def test_a_kind_without_a_part_takes_the_idlest_where_none_is_free() -> None:
    idle, busy = skill("idle"), skill("busy")
    desk = desk_for(WORKED["cases"]["accepts"]["after"])
    desk.fits = {"busy": 0.5}
    changes = edited(guide(parts=2), [SOURCE], desk, view_of([busy, idle]))
    assert changes == [Revise(idle.id, PART, ("e-t0",))]
    changes = edited(guide(parts=3), [SOURCE], desk, view_of([busy, idle]))
    assert changes == [Create(PART, ("e-t0",))]


def test_a_task_gets_one_skill_written_afresh_from_the_whole_guide() -> None:
    fresh, guide_now = skill("fresh"), view_of([skill("one"), skill("two")])
    desk = Desk(drafts=lambda request: [fresh])
    policy = operator("retrieval", "gso.fresh")
    assert policy.choose(task(), guide_now, desk).ranked == (fresh.id,)
    assert desk.requests == [EditRequest("adapt", task=task(), bases=guide_now.active())]
    assert desk.meter.units_by_kind == {"retrieve": 2, "write": 1}
    assert policy.choose(task(), EMPTY, desk).ranked == ()
