"""Voyager: a program enters the library if and only if it was verified."""

from __future__ import annotations

import pytest
from desk import EMPTY, Desk, case, episode, operator, skill

from auto_research.agent_research.library import Create, Revise, view_of


@pytest.mark.parametrize("which", ["accepts", "refuses"])
def test_a_program_is_added_iff_it_was_verified(which: str) -> None:
    worked = case("voyager")[which]
    desk = Desk(drafts=lambda request: [skill("open_door")])
    tried = episode(True, own_check=worked["own_check"])
    changes = operator("update", "voyager.verified").after_episode(tried, EMPTY, desk)
    assert [c.skill.name for c in changes if isinstance(c, Create)] == worked["added"]


def test_a_name_clash_in_the_same_scenario_overwrites() -> None:
    old = skill("open_door", scenario="s0")
    new = skill("open_door", scenario="s0", body="return 'better'")
    desk = Desk(drafts=lambda request: [new])
    update = operator("update", "voyager.verified")
    assert update.after_episode(episode(True, name="e1"), view_of([old]), desk) == [
        Revise(old.id, new, ("e1",))
    ]
