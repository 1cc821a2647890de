"""Groups of chains: the jobs that run them, and the credit that their siblings get."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from auto_research.agent_research.chain import ChainJob
from auto_research.agent_research.library import LibraryView
from auto_research.agent_research.operators import Arm, Chain, ChainResult, CreditedGroup, Reward
from auto_research.benchmarks.base import Scenario


def training_jobs(
    chains: Sequence[Chain], view: LibraryView, template: ChainJob, first: int
) -> list[ChainJob]:
    """A job a sibling, group by group; the groups are numbered from `first`."""
    return [
        replace(
            template,
            name=f"train-{number:04d}-{sibling}",
            group=number,
            sibling=sibling,
            tasks=chain.tasks,
            library=tuple(start(chain, view).skills.values()),
            arm=chain.arms[sibling] if sibling < len(chain.arms) else Arm(),
            updates=chain.start != "frozen",
            verdicts_to_operators=True,
        )
        for number, chain in enumerate(chains, start=first)
        for sibling in range(chain.siblings)
    ]


def test_jobs(
    scenarios: Sequence[Scenario],
    view: LibraryView,
    template: ChainJob,
    first: int,
    *,
    updates: bool,
    verdicts: bool = False,
) -> Iterator[ChainJob]:
    """A job a scenario, numbered from `first`, each from the run's library."""
    for number, scenario in enumerate(scenarios, start=first):
        yield replace(
            template,
            name=f"test-{number:04d}",
            tasks=scenario.tasks,
            library=tuple(view.skills.values()),
            updates=updates,
            verdicts_to_operators=verdicts,
        )


def start(chain: Chain, view: LibraryView) -> LibraryView:
    """What a chain's library holds when it begins, given the run's."""
    return LibraryView() if chain.start == "empty" else view


def credited(reward: Reward, chains: Sequence[ChainResult]) -> CreditedGroup:
    """The siblings of one group with their rewards and advantages."""
    rewards = reward.credit(chains)
    advantages = reward.advantages(rewards)
    return CreditedGroup(
        tuple(chains),
        tuple(tuple(row) for row in rewards),
        advantages.values,
        advantages.informative,
    )
