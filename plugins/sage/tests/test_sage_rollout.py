"""Sequential Rollout: which tasks a group runs, in which order, from which library."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from auto_research_sage.rollout import SequentialRollout
from pydantic import ValidationError
from sage_desk import Desk, task

from auto_research.agent_research.operators import Chain, Progress
from auto_research.benchmarks.base import Scenario
from auto_research.rng import derive

POOL = tuple(
    Scenario(f"s{n}", tuple(task(scenario=f"s{n}", position=k) for k in range(3))) for n in range(5)
)


def rollout(**options: Any) -> SequentialRollout:
    return SequentialRollout(SequentialRollout.Options(**options))


def batch(seed: int = 0, groups: int = 0, planned: int = 100, **options: Any) -> list[Chain]:
    desk = Desk(rng=derive(seed, "rollout"))
    return list(rollout(**options).next(POOL, Progress(groups, planned), desk))


def test_a_group_runs_two_tasks_of_one_scenario_in_the_order_drawn() -> None:
    orders: Counter[tuple[int, ...]] = Counter()
    for seed in range(300):
        for chain in batch(seed):
            assert {t.scenario for t in chain.tasks} == {chain.scenario}
            orders[tuple(t.position for t in chain.tasks)] += 1
    assert set(orders) == {(0, 1), (0, 2), (1, 0), (1, 2), (2, 0), (2, 1)}
    assert all(count / 1200 == pytest.approx(1 / 6, abs=0.04) for count in orders.values())


def test_all_siblings_of_a_group_run_the_same_tasks_with_the_same_arms() -> None:
    (chain, *_) = batch(siblings=8)
    assert chain.siblings == 8  # so one list of tasks stands for all of them
    assert chain.arms == ()


def test_the_draw_depends_on_the_stream_only() -> None:
    assert batch(4) == batch(4)
    assert any(batch(4) != batch(seed) for seed in range(5, 10))


@pytest.mark.parametrize("length", [1, 2, 3])
def test_a_chain_is_as_long_as_asked(length: int) -> None:
    for chain in batch(chain_length=length):
        assert len(chain.tasks) == len({t.id for t in chain.tasks}) == length


def test_a_short_scenario_gives_a_short_chain() -> None:
    short = (Scenario("s", (task(scenario="s"),)),)
    (chain,) = rollout().next(short, Progress(0, 1), Desk())
    assert chain.tasks == short[0].tasks


@pytest.mark.parametrize("start", ["empty", "carry"])
def test_it_says_what_a_chain_s_library_holds_at_the_start(start: str) -> None:
    assert {chain.start for chain in batch(start=start)} == {start}


def test_groups_go_through_the_scenarios_in_stream_order_and_begin_again() -> None:
    scenarios = [c.scenario for g in (0, 4, 8) for c in batch(groups=g, planned=11)]
    assert scenarios == ["s0", "s1", "s2", "s3", "s4", "s0", "s1", "s2", "s3", "s4", "s0"]


def test_it_ends_when_the_planned_groups_are_done_or_there_is_no_scenario() -> None:
    assert batch(groups=100) == []
    assert list(rollout().next((), Progress(0, 10), Desk())) == []


def test_a_group_of_one_is_refused() -> None:
    with pytest.raises(ValidationError, match="siblings"):
        rollout(siblings=1)


@pytest.mark.parametrize("by", ["ngrams", "embedding"])
def test_chains_can_be_of_alike_queries_whatever_the_scenario(by: str) -> None:
    """Each scenario has a task about songs and one about money: a chain is about one of them."""
    about = ("like every song of an artist", "pay what a friend has asked for")
    pool = tuple(
        Scenario(f"s{n}", tuple(task(text, f"s{n}", k) for k, text in enumerate(about)))
        for n in range(4)
    )
    made = rollout(by=by).next(pool, Progress(0, 4), Desk())
    assert {chain.scenario for chain in made} == {f"alike-{n}" for n in range(4)}
    for chain in made:
        one, other = chain.tasks
        assert one.position == other.position and one.scenario != other.scenario


def test_alike_chains_are_not_longer_than_there_are_tasks() -> None:
    assert list(rollout(by="ngrams", chain_length=16).next(POOL, Progress(0, 4), Desk())) == []
