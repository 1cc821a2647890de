"""Operators of one paper work in the arms that another paper's rollout names."""

from __future__ import annotations

import pytest
from desk import OPERATORS, Desk, episode, group, operator, skill, task

from auto_research.agent_research.library import view_of
from auto_research.agent_research.operators import Arm

LABELS = ("", "with", "without", "with-1", "with-x", "brief", "anew", "odd")
NAMES = {slot: sorted(n for s, n in OPERATORS if s == slot) for slot in ("retrieval", "update")}


@pytest.mark.parametrize("label", LABELS)
@pytest.mark.parametrize("name", NAMES["retrieval"])
def test_every_retrieval_chooses_and_learns_in_any_arm(name: str, label: str) -> None:
    arm, shown = Arm(label=label, bare=label == "without"), [skill("a"), skill("b")]
    library = view_of(shown)
    desk = Desk(fits={"a": 1.0, "b": 1.0}, phase="training", arm=arm)
    retrieval = operator("retrieval", name)
    choice = retrieval.choose(task(), library, desk)
    assert {library.get(s) is not None for s in choice.ranked} <= {True}
    retrieval.learn(group([episode(True, arm=arm)], [episode(False)], library=library), desk)


@pytest.mark.parametrize("label", LABELS)
@pytest.mark.parametrize("name", NAMES["update"])
def test_every_update_reads_a_group_of_any_arms(name: str, label: str) -> None:
    library = view_of([skill("a"), skill("b")])
    desk = Desk(fits={"a": 1.0, "b": 1.0}, phase="training", arm=Arm(label=label))
    update = operator("update", name)
    tried = episode(True, arm=Arm(label=label))
    update.after_episode(tried, library, desk)
    update.after_group(group([tried], [episode(False)], library=library), library, desk)
