"""SkillRise: a rewriting is paid by what later tasks earn, and the best-paid document is kept."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest
from desk import Desk, case, episode, group, operator, skill, task
from hypothesis import given
from hypothesis import strategies as st

from auto_research.agent_research.library import Create, LibraryView, Revise, view_of
from auto_research.agent_research.operators import Arm, CreditedGroup, Progress
from auto_research.benchmarks.base import Scenario, Task

WORKED = case("skillrise")
DOCUMENTS = {way: skill(way) for way in WORKED["rewards"]}
OUTCOMES = st.lists(st.sampled_from([0.0, 1.0]), min_size=3, max_size=3)


def credited() -> CreditedGroup:
    """The worked group: one sibling a way of rewriting, each with a document of its own."""
    rewards = WORKED["rewards"]
    chains = [
        [episode(bool(r), name=f"{way}{i}", arm=Arm(label=way)) for i, r in enumerate(row)]
        for way, row in rewards.items()
    ]
    made = group(*chains, changes=[[Create(document)] for document in DOCUMENTS.values()])
    reward = operator("reward", "skillrise.roles", gamma=WORKED["gamma"])
    return replace(made, advantages=reward.advantages(list(rewards.values())).values)


@pytest.mark.parametrize("role", ["curate", "solve"])
def test_each_role_is_credited_as_worked(role: str) -> None:
    reward = operator("reward", "skillrise.roles", gamma=WORKED["gamma"], role=role)
    advantages = reward.advantages(list(WORKED["rewards"].values()))
    for got, worked in zip(advantages.values, WORKED[role].values(), strict=True):
        assert got == pytest.approx(worked)


@given(st.lists(OUTCOMES, min_size=2, max_size=4))
def test_the_last_rewriting_earns_nothing_and_a_place_sums_to_nothing(
    rewards: list[list[float]],
) -> None:
    values = operator("reward", "skillrise.roles").advantages(rewards).values
    assert [row[-1] for row in values] == [0.0] * len(rewards)
    assert [sum(column) for column in zip(*values, strict=True)] == pytest.approx([0.0] * 3)


def test_the_best_paid_document_is_kept_and_the_other_is_not() -> None:
    update = operator("update", "skillrise.travelling")
    changes = update.after_group(credited(), LibraryView(), Desk())
    assert changes == [Create(DOCUMENTS[WORKED["accepts"]])]
    assert DOCUMENTS[WORKED["refuses"]] not in [c.skill for c in changes]


def test_later_rewritings_go_the_way_that_earned_most() -> None:
    update = operator("update", "skillrise.travelling")
    update.restore({"whole": [-0.5], "brief": [0.5, 0.25], "anew": [0.1]})
    assert update.state() == {"whole": [-0.5], "brief": [0.5, 0.25], "anew": [0.1]}
    old, new = skill("old"), skill("new")
    desk = Desk(phase="test", drafts=lambda request: [new])
    changes = update.after_episode(episode(True, ranked=[old.id]), view_of([old]), desk)
    assert changes == [Revise(old.id, new, ("e",))]
    assert [(r.kind, r.limit) for r in desk.requests] == [("revise", 2)]  # brief


def test_a_sequence_goes_from_easy_to_hard() -> None:
    def shown(size: int, position: int) -> Task:
        seen = {"domain": "d", "problem": "x" * size}
        return Task(f"t{position}", "s0", position, "pddl", "", seen)

    scenario = Scenario("s0", (shown(9, 0), shown(3, 1), shown(6, 2)))
    rollout = operator("rollout", "groups.siblings", order="easy-first", arms=["whole", "brief"])
    (chain,) = rollout.next([scenario], Progress(0, 1), Desk())
    assert [t.id for t in chain.tasks] == ["t1", "t2", "t0"]
    assert labels(chain.arms) == ["whole", "brief", "whole"]


def labels(arms: Sequence[Arm]) -> list[str]:
    return [arm.label for arm in arms]


def test_the_document_is_the_newest_that_fits_best() -> None:
    library = view_of([skill("kin"), skill("older"), skill("newer"), skill("other")])
    fits = {"kin": 0.5, "older": 1.0, "newer": 1.0}
    choice = operator("retrieval", "documents.newest").choose(task(), library, Desk(fits=fits))
    assert [library.skills[i].name for i in choice.ranked] == ["newer"]
