"""Skill-R1: credit within and between generations; the version that earned most is kept."""

from __future__ import annotations

from dataclasses import replace

import pytest
from desk import Desk, case, episode, group, operator, ran, skill, task
from hypothesis import given
from hypothesis import strategies as st

from auto_research.agent_research.library import (
    Change,
    Create,
    LibraryView,
    Revise,
    view_of,
)
from auto_research.agent_research.operators import CreditedGroup, Episode, Progress
from auto_research.benchmarks.base import Scenario

WORKED = case("skill-r1")
VERSIONS = {f"{who}-{g}": skill(f"{who}_{g}") for who in ("first", "second") for g in (1, 2)}


def line(who: str, outcomes: list[int]) -> tuple[list[Episode], list[Change]]:
    """A sibling: bare at first, then each generation runs what was written after the last."""
    one, two = VERSIONS[f"{who}-1"], VERSIONS[f"{who}-2"]
    given_to = [(), (one.id,), (two.id,)]
    chain = [
        episode(bool(r), name=f"{who}{g}", ranked=ids, uses=[ran(i) for i in ids])
        for g, (r, ids) in enumerate(zip(outcomes, given_to, strict=True))
    ]
    return chain, [Create(one, (f"{who}0",)), Revise(one.id, two, (f"{who}1",))]


def credited(rewards: list[list[int]]) -> CreditedGroup:
    lines = [line(who, row) for who, row in zip(("first", "second"), rewards, strict=True)]
    made = group(*(chain for chain, _ in lines), changes=[changes for _, changes in lines])
    reward = operator("reward", "skill-r1.generations", gain=WORKED["gain"])
    return replace(made, advantages=reward.advantages(rewards).values)


def test_advantages_are_as_worked() -> None:
    reward = operator("reward", "skill-r1.generations", gain=WORKED["gain"])
    advantages = reward.advantages(WORKED["rewards"])
    for got, worked in zip(advantages.values, WORKED["advantages"], strict=True):
        assert got == pytest.approx(worked)
    assert advantages.informative == (False, True, True)


@given(st.lists(st.lists(st.sampled_from([0.0, 1.0]), min_size=4, max_size=4), min_size=1))
def test_without_the_second_term_it_is_the_group_relative_advantage(
    rewards: list[list[float]],
) -> None:
    values = operator("reward", "skill-r1.generations", gain=0).advantages(rewards).values
    for column in zip(*values, strict=True):
        assert sum(column) == pytest.approx(0)


def test_a_task_that_was_not_judged_earns_nothing_and_is_counted() -> None:
    advantages = operator("reward", "skill-r1.generations").advantages([[None, 1.0], [1.0, 1.0]])
    assert advantages.values == ((0.0, 0.0), (0.0, 0.0))
    assert advantages.unjudged == 1


def test_the_version_with_the_greatest_advantage_is_kept_and_no_other() -> None:
    update = operator("update", "skill-r1.writer")
    changes = update.after_group(credited(WORKED["rewards"]), LibraryView(), Desk())
    assert [c.skill for c in changes] == [VERSIONS[WORKED["accepts"]]]
    assert not {VERSIONS[v].id for v in WORKED["refuses"]} & {c.skill.id for c in changes}


def test_of_equals_the_latest_version_is_kept() -> None:
    update = operator("update", "skill-r1.writer")
    changes = update.after_group(credited([[1, 1, 1], [1, 1, 1]]), LibraryView(), Desk())
    assert changes[-1].skill == VERSIONS["first-2"]


def test_what_never_solved_its_task_is_not_kept() -> None:
    update = operator("update", "skill-r1.writer")
    assert update.after_group(credited([[0, 0, 0], [0, 0, 0]]), LibraryView(), Desk()) == ()


def test_a_group_repeats_one_task_in_every_generation() -> None:
    scenario = Scenario("s0", tuple(task(f"t{i}", position=i) for i in range(3)))
    rollout = operator("rollout", "skill-r1.generations", generations=4, rollouts=2)
    (chain,) = rollout.next([scenario], Progress(0, 1), Desk())
    assert len(chain.tasks) == 4
    assert len({t.id for t in chain.tasks}) == 1
    assert [arm.label for arm in chain.arms] == ["whole", "brief"]


def test_nothing_is_rewritten_at_test() -> None:
    old = skill("old")
    desk = Desk(phase="test", drafts=lambda request: [skill("new")])
    update = operator("update", "skill-r1.writer")
    assert update.after_episode(episode(True, ranked=[old.id]), view_of([old]), desk) == ()
    assert desk.requests == []
