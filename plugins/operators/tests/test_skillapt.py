"""SkillApt: a skill is loaded if and only if paired runs show that it adds something."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from desk import Desk, case, episode, group, operator, skill, task
from resuming import resumed

from auto_research.agent_research.budget import Spending
from auto_research.agent_research.library import view_of
from auto_research.agent_research.operators import Arm, CreditedGroup

KNOWN = skill("s")
LIBRARY = view_of([KNOWN])


def pair(row: Sequence[Any], retrieval: Any) -> CreditedGroup:
    """A group in which one sibling was given the skill and the other ran bare."""
    success, units, bare_success, bare_units = row
    choice = retrieval.choose(task(), LIBRARY, Desk(fits={"s": 1.0}))
    loaded = episode(success, name="with", ranked=choice.ranked)
    loaded = replace(loaded, choice=choice, spending=Spending({}, {"units": units}))
    bare = episode(bare_success, name="bare", arm=Arm(bare=True))
    return group([loaded], [replace(bare, spending=Spending({}, {"units": bare_units}))])


@pytest.mark.parametrize("which", ["accepts", "refuses"])
def test_loaded_iff_the_difference_is_above_zero(which: str) -> None:
    worked = case("skillapt")[which]
    retrieval = operator("retrieval", "skillapt.load-or-abstain")
    for row in worked["pairs"]:
        retrieval.learn(pair(row, retrieval), Desk())
        retrieval = resumed(retrieval)
    (difference,) = map(retrieval.evidence.difference, retrieval.evidence.tallies)
    assert difference == pytest.approx(worked["difference"])
    choice = retrieval.choose(task(), LIBRARY, Desk(phase="test", fits={"s": 1.0}))
    assert bool(choice.ranked) == worked["loaded"]


def test_evidence_where_it_fits_wholly_says_nothing_of_where_it_fits_in_part() -> None:
    retrieval = operator("retrieval", "skillapt.load-or-abstain")
    for row in case("skillapt")["accepts"]["pairs"]:
        retrieval.learn(pair(row, retrieval), Desk())
    for fit, ranked in ((1.0, (KNOWN.id,)), (0.5, ()), (0.0, ())):
        desk = Desk(phase="test", fits={"s": fit})
        assert retrieval.choose(task(), LIBRARY, desk).ranked == ranked


def test_in_training_the_skill_with_the_fewest_pairs_is_tried() -> None:
    other = skill("other")
    library, desk = view_of([KNOWN, other]), Desk(fits={"s": 1.0, "other": 1.0})
    retrieval = operator("retrieval", "skillapt.load-or-abstain")
    first = retrieval.choose(task(), library, desk)
    bare = episode(True, name="bare", arm=Arm(bare=True))
    loaded = replace(episode(True, name="with"), choice=first)
    retrieval.learn(group([loaded], [bare]), desk)
    second = retrieval.choose(task(), library, desk)
    assert sorted([*first.ranked, *second.ranked]) == sorted([KNOWN.id, other.id])
    assert desk.meter.units_by_kind["retrieve"] == 4
