"""The bandit over versions: posteriors, discounting, and how long a memory the past suggests."""

from __future__ import annotations

import math

import pytest
from auto_research_operators.shared.bandit import (
    MEMORIES,
    Beta,
    fit_memory,
    posterior,
    probability_greater,
    upper_bound,
)
from hypothesis import given
from hypothesis import strategies as st

from auto_research.rng import derive

STEPS = st.lists(st.integers(0, 8).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))


@given(STEPS)
def test_an_endless_memory_only_counts(steps: list[tuple[int, int]]) -> None:
    successes, trials = sum(m for m, _ in steps), sum(n for _, n in steps)
    assert posterior(steps) == Beta(1 + successes, 1 + trials - successes)


def test_a_short_memory_weighs_the_past_by_m_over_m_plus_n() -> None:
    # (1, 1), w = 4 / (4 + 4) = 0.5: alpha = 0.5 + 3 = 3.5, beta = 0.5 + 1 = 1.5.
    assert Beta().after(3, 4, memory=4) == Beta(3.5, 1.5)


@given(STEPS, st.sampled_from(MEMORIES))
def test_a_discounted_posterior_never_holds_more_than_the_counts(
    steps: list[tuple[int, int]], memory: int
) -> None:
    belief, whole = posterior(steps, memory), posterior(steps)
    assert 0 < belief.alpha <= whole.alpha
    assert 0 < belief.beta <= whole.beta


def test_the_memory_is_long_for_a_steady_rate_and_short_for_one_that_turned() -> None:
    steady = [[(4, 8)] * 12]
    turned = [[(8, 8)] * 6 + [(0, 8)] * 6]
    assert fit_memory(steady) == 2000
    assert fit_memory(turned) < 20


def test_memories_run_from_1_to_2000() -> None:
    assert (MEMORIES[0], MEMORIES[-1]) == (1, 2000)
    assert fit_memory([]) == 2000


def test_draws_tell_which_version_is_probably_better() -> None:
    # Pr(theta > theta') for Beta(2, 1) against Beta(1, 1): integral of 2t * t dt = 2/3.
    drawn = probability_greater(Beta(2, 1), Beta(1, 1), derive(7, "draws"))
    assert drawn == pytest.approx(2 / 3, abs=0.02)


def test_what_was_never_tried_comes_first() -> None:
    assert upper_bound(0.9, 10, 0, 0.1) == math.inf
    # 0.5 + 0.1 * sqrt(ln 10 / 4) = 0.5 + 0.1 * 0.7587 = 0.5759
    assert upper_bound(0.5, 10, 4, 0.1) == pytest.approx(0.5759, abs=1e-4)
