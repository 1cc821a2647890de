"""Advantages of a group under SAGE's reward: less the group's mean, and no signal where none is."""

from __future__ import annotations

import math
import struct

import pytest
from auto_research_sage.reward import RewardOptions, SkillIntegratedReward
from hypothesis import given
from hypothesis import strategies as st

REWARD = SkillIntegratedReward(RewardOptions())


def float32(value: float) -> float:
    """`value` as a training framework would hand it back."""
    return float(struct.unpack("f", struct.pack("f", value))[0])


def test_an_advantage_is_the_reward_less_the_mean_of_its_chain_position() -> None:
    # Position 0: mean (2+0+0+2)/4 = 1. Position 1: mean (2+1+0-1)/4 = 0.5.
    found = REWARD.advantages([[2, 2], [0, 1], [0, 0], [2, -1]])
    assert found.values == ((1.0, 1.5), (-1.0, 0.5), (-1.0, -0.5), (1.0, -1.5))
    assert found.informative == (True, True)


def test_it_is_not_divided_by_the_deviation_unless_set() -> None:
    rewards = [[2.0], [0.0], [2.0], [0.0]]  # mean 1, population deviation 1
    assert [a for (a,) in REWARD.advantages(rewards).values] == [1, -1, 1, -1]
    rewards = [[4.0], [0.0], [4.0], [0.0]]  # mean 2, deviation 2
    assert [a for (a,) in REWARD.advantages(rewards).values] == [2, -2, 2, -2]
    grpo = SkillIntegratedReward(RewardOptions(divide_by_std=True))
    assert [a for (a,) in grpo.advantages(rewards).values] == [1, -1, 1, -1]


def test_a_group_of_equal_rewards_teaches_nothing_in_float32_too() -> None:
    found = REWARD.advantages([[float32(0.45)]] * 7 + [[0.45]])
    assert found.informative == (False,)
    assert found.values == ((0.0,),) * 8


def test_positions_are_judged_apart() -> None:
    found = REWARD.advantages([[1.0, 2.0], [1.0, 0.0]])
    assert found.informative == (False, True)
    assert found.values == ((0.0, 1.0), (0.0, -1.0))


def test_a_group_of_one_teaches_nothing() -> None:
    found = REWARD.advantages([[2.0, 1.0]])
    assert found.values == ((0.0, 0.0),)
    assert found.informative == (False, False)


def test_none_and_nan_are_zero_and_outside_the_mean_and_counted() -> None:
    # The mean of 1 and 0 is 0.5; counting None and NaN as zeros would make it 0.25.
    found = REWARD.advantages([[1.0], [None], [0.0], [math.nan]])
    assert found.values == ((0.5,), (0.0,), (-0.5,), (0.0,))
    assert found.unjudged == 2


def test_a_group_that_nobody_judged_teaches_nothing() -> None:
    found = REWARD.advantages([[None], [math.nan], [math.inf]])
    assert found.values == ((0.0,),) * 3
    assert found.informative == (False,)


@given(
    st.lists(st.lists(st.none() | st.floats(-1, 3), min_size=2, max_size=2), min_size=1, max_size=8)
)
def test_advantages_are_finite_and_sum_to_zero_at_each_position(
    rewards: list[list[float | None]],
) -> None:
    found = REWARD.advantages(rewards)
    for k in range(2):
        column = [row[k] for row in found.values]
        assert all(map(math.isfinite, column))
        assert math.fsum(column) == pytest.approx(0.0, abs=1e-9)
