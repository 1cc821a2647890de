"""The skill-integrated reward pays exactly what the paper's equations say, and its ablation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any

import pytest
from auto_research_sage.reward import ChainReward, RewardOptions, SkillIntegratedReward
from hypothesis import given
from hypothesis import strategies as st
from sage_desk import chain, episode, ran

from auto_research.agent_research.operators import ChainResult, Episode, Use

BITS = (0, 1)


def reward(**settings: Any) -> SkillIntegratedReward:
    return SkillIntegratedReward(RewardOptions(**settings))


def paid(operator: SkillIntegratedReward | ChainReward, one: ChainResult) -> list[float | None]:
    (row,) = operator.credit([one])
    return list(row)


def pair(
    r1: int,
    r2: int,
    uses: Sequence[Use] = (),
    origins: Mapping[str, int] | None = None,
    submitted: tuple[int, int] = (1, 1),
) -> ChainResult:
    first = episode(bool(r1), position=0, submitted=bool(submitted[0]))
    second = episode(bool(r2), position=1, uses=uses, submitted=bool(submitted[1]))
    return chain(first, second, origins=origins)


@pytest.mark.parametrize("requires_r1", [False, True])
@pytest.mark.parametrize(("r1", "r2", "used"), list(product(BITS, BITS, BITS)))
def test_two_tasks_earn_r1_and_r2_of_the_paper(
    r1: int, r2: int, used: int, requires_r1: bool
) -> None:
    # R1 = r1 + 1[r1=1] 1[r2=1] 1_skill;  R2 = r2 + 1[r2=1] 1_skill  (flag: times 1[r1=1])
    expected = [r1 + r1 * r2 * used, r2 + r2 * used * (r1 if requires_r1 else 1)]
    one = pair(r1, r2, ran("a") if used else (), {"a": 0})
    assert paid(reward(r2_bonus_requires_r1=requires_r1), one) == expected


@pytest.mark.parametrize(("first", "second"), [(0, 1), (1, 0), (0, 0)])
@pytest.mark.parametrize(("r1", "r2", "used"), list(product(BITS, BITS, BITS)))
def test_a_task_that_hands_nothing_in_pays_the_penalty_and_earns_nobody_a_bonus(
    r1: int, r2: int, used: int, first: int, second: int
) -> None:
    # Whatever a judge makes of an empty hand, it is no success: r = 0 in the indicators.
    s1, s2 = r1 * first, r2 * second
    expected = [
        s1 + s1 * s2 * used if first else -0.5,
        s2 + s2 * used if second else -0.5,
    ]
    one = pair(r1, r2, ran("a") if used else (), {"a": 0}, (first, second))
    assert paid(reward(no_submission=-0.5), one) == expected


def test_the_penalty_is_minus_one_unless_set() -> None:
    assert paid(reward(), pair(0, 0, submitted=(0, 0))) == [-1.0, -1.0]


@pytest.mark.parametrize(("r1", "r2"), list(product(BITS, BITS)))
def test_a_skill_that_the_library_held_before_the_chain_earns_nothing_under_scope_chain(
    r1: int, r2: int
) -> None:
    assert paid(reward(), pair(r1, r2, ran("old"))) == [r1, r2]


@pytest.mark.parametrize(("r1", "r2"), list(product(BITS, BITS)))
def test_under_scope_library_it_earns_its_user_the_bonus_and_no_writer(r1: int, r2: int) -> None:
    one = pair(r1, r2, ran("old"))
    assert paid(reward(bonus_scope="library"), one) == [r1, r2 + r2]


def test_under_scope_library_the_first_task_is_a_user_too() -> None:
    one = chain(episode(True, uses=ran("old")), episode(True, position=1))
    assert paid(reward(bonus_scope="library"), one) == [2.0, 1.0]


@pytest.mark.parametrize("scope", ["chain", "library"])
def test_with_the_flag_a_skill_of_a_failed_writer_earns_its_user_nothing_in_either_scope(
    scope: str,
) -> None:
    one = pair(0, 1, ran("a"), {"a": 0})
    assert paid(reward(bonus_scope=scope, r2_bonus_requires_r1=True), one) == [0.0, 1.0]
    assert paid(reward(bonus_scope=scope), one) == [0.0, 2.0]


def test_a_version_revised_in_the_chain_counts_as_written_there() -> None:
    # "v2" supersedes a library skill at position 0, so position 0 is where it was written.
    assert paid(reward(), pair(1, 1, ran("v2"), {"v2": 0})) == [2.0, 2.0]


def test_a_skill_written_by_its_own_user_is_no_reuse() -> None:
    assert paid(reward(), pair(1, 1, ran("a"), {"a": 1})) == [1.0, 1.0]


@pytest.mark.parametrize(
    "use",
    [
        Use("a", called=False, helped=False),
        Use("a", called=True, helped=False),
    ],
    ids=["retrieved only", "ran but did not carry the task"],
)
def test_only_a_skill_that_carried_the_task_to_its_end_was_used(use: Use) -> None:
    assert paid(reward(), pair(1, 1, [use], {"a": 0})) == [1.0, 1.0]


def test_several_reused_skills_pay_one_bonus() -> None:
    assert paid(reward(), pair(1, 1, ran("a", "b"), {"a": 0, "b": 0})) == [2.0, 2.0]


@pytest.mark.parametrize("operator", [reward(), ChainReward(RewardOptions())])
def test_a_task_without_a_verdict_earns_none_whatever_the_agent_believed(
    operator: SkillIntegratedReward | ChainReward,
) -> None:
    lost = episode(None, own_check=True)
    assert paid(operator, chain(lost, episode(True, position=1))) == [None, 1.0]
    assert paid(operator, chain(episode(None, submitted=False))) == [None]


def test_a_writer_is_not_paid_for_a_reuse_that_nobody_judged() -> None:
    used = episode(None, position=1, uses=ran("a"))
    assert paid(reward(), chain(episode(True), used, origins={"a": 0})) == [1.0, None]


# Longer chains (interpretation): each bonus at most once; length 2 reduces to the paper.


@st.composite
def chains(draw: st.DrawFn, length: int) -> ChainResult:
    """A chain in which task i may write skill "s<i>" and task j use any skill of the chain."""
    writers = [k for k in range(length) if draw(st.booleans())]
    origins = {f"s{k}": k for k in writers}
    episodes: list[Episode] = []
    for k in range(length):
        able = [name for name, origin in origins.items() if origin < k] + ["old"]
        used = draw(st.lists(st.sampled_from(able), unique=True))
        won = draw(st.booleans())
        episodes.append(
            episode(won, position=k, uses=ran(*used), submitted=draw(st.booleans()) or won)
        )
    return chain(*episodes, origins=origins)


@given(chains(length=3), st.booleans())
def test_in_a_chain_of_three_each_bonus_is_paid_at_most_once(
    one: ChainResult, requires_r1: bool
) -> None:
    rewards = paid(reward(r2_bonus_requires_r1=requires_r1), one)
    r = [e.has_submission and e.success for e in one.episodes]
    for k, earned in enumerate(rewards):
        mine = {s for s, origin in one.origins.items() if origin == k}
        later = [j for j in range(k + 1, 3) if r[j] and one.episodes[j].used() & mine]
        earlier = [
            s
            for s in one.episodes[k].used()
            if s in one.origins and (r[one.origins[s]] or not requires_r1)
        ]
        if not one.episodes[k].has_submission:
            assert earned == -1.0
        elif not r[k]:
            assert earned == 0.0
        else:
            assert earned == 1.0 + bool(later) + bool(earlier)


@given(chains(length=2))
def test_a_chain_of_two_earns_what_the_paper_says(one: ChainResult) -> None:
    r1, r2 = (int(e.has_submission and e.success) for e in one.episodes)
    used = int(bool(one.episodes[1].used() & set(one.origins)))
    penalty = [0 if e.has_submission else -1 for e in one.episodes]
    assert paid(reward(), one) == [
        penalty[0] + r1 + r1 * r2 * used,
        penalty[1] + r2 + r2 * used,
    ]


@given(chains(length=2) | chains(length=3), st.sampled_from(["chain", "library"]))
def test_every_reward_lies_between_the_penalty_and_three(one: ChainResult, scope: str) -> None:
    assert all(r in (-1.0, 0.0, 1.0, 2.0, 3.0) for r in paid(reward(bonus_scope=scope), one))


@pytest.mark.parametrize(("r1", "r2", "used"), list(product(BITS, BITS, BITS)))
def test_the_chain_ablation_pays_for_the_success_of_both_whether_or_not_a_skill_was_used(
    r1: int, r2: int, used: int
) -> None:
    one = pair(r1, r2, ran("a") if used else (), {"a": 0})
    assert paid(ChainReward(RewardOptions()), one) == [r1 + r1 * r2, r2 + r1 * r2]


def test_the_chain_ablation_pays_no_bonus_for_a_single_task() -> None:
    assert paid(ChainReward(RewardOptions()), chain(episode(True))) == [1.0]
