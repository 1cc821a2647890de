"""SkillAdam: how much outcomes jump sets how much may be edited; thresholds say what is kept."""

from __future__ import annotations

from typing import Any

import pytest
from desk import case, operator, pool, ran, skill
from gated_desk import GatedDesk, attempt, edited, passing, reborn

from auto_research.agent_research.library import Create, view_of

WORKED = case("skilladam")
HELPER, OTHER = skill("helper"), skill("other")
CARRIED = [ran(OTHER.id)]  # what brought the other successes about


def adam(**settings: Any) -> Any:
    return operator("update", "skilladam.budgeted", **settings)


def batch() -> list[Any]:
    before = WORKED["before"]
    return [attempt(t, ok, uses=CARRIED if t != "t0" and ok else ()) for t, ok in before.items()]


def desk_for(names: list[str]) -> GatedDesk:
    return GatedDesk(pool=pool(8), drafts=lambda request: [HELPER], attempted=passing(names))


@pytest.mark.parametrize("which", WORKED["cases"])
def test_edits_are_kept_by_thresholds_and_move_the_budget(which: str) -> None:
    worked = WORKED["cases"][which]
    update = adam()
    changes = edited(update, batch(), desk_for(worked["passing"]), view_of([OTHER]))
    assert changes == ([Create(HELPER, ("e-t0",))] if worked["accepted"] else [])
    for one in (update, reborn(update)):
        assert one.volatility == worked["volatility"]
        assert one.hunks() == worked["hunks"]
        assert one.state()["memory"] == {"no skill": worked["memory"]}


def test_the_budget_never_falls_below_its_least() -> None:
    update = adam(min_hunks=2)
    update.restore({"volatility": 0.5, "memory": {}})
    assert update.hunks() == 2


def test_no_more_edits_are_tried_at_once_than_the_budget_allows() -> None:
    drafts = {f"t{i}": skill(f"helper_{i}") for i in range(6)}
    desk = GatedDesk(
        pool=pool(8),
        drafts=lambda request: [drafts[request.episode.task.id]] if request.episode else [],
        attempted=passing(list(WORKED["before"])),
    )
    successes = [attempt(t, True) for t in drafts] + [attempt("t6", False), attempt("t7", False)]
    assert len(edited(adam(), successes, desk)) == 4
    calm = adam()
    calm.restore({"volatility": 0.1796875, "memory": {}})
    assert len(edited(calm, successes, desk)) == 1


def test_a_pattern_tried_in_vain_too_often_is_left_alone() -> None:
    desk = desk_for(WORKED["cases"]["refuses-what-gains-nothing"]["passing"])
    update = adam(max_attempts=2)
    for _ in range(4):
        edited(update, batch(), desk, view_of([OTHER]))
    assert len(desk.probed) == 2
