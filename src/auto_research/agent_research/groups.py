"""Groups of chains: the jobs that run them, and the credit that their siblings get.

Where nothing is learned (a frozen test), each task of a chain is a job of its own, so that it
need not wait for the one before it; their outcomes are joined again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import islice

from auto_research.agent_research.chain import ChainJob, ChainOutcome, changed_usage, record_uses
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
    verdicts: bool = False,
) -> Iterator[ChainJob]:
    """A job a scenario, numbered from `first`, each from the run's library."""
    for number, scenario in enumerate(scenarios, start=first):
        yield replace(
            template,
            name=f"test-{number:04d}",
            tasks=scenario.tasks,
            library=tuple(view.skills.values()),
            verdicts_to_operators=verdicts,
        )


def frozen_jobs(whole: Iterable[ChainJob]) -> Iterator[ChainJob]:
    """A job a task: each begins with the library and the operators' states of its chain's start."""
    for job in whole:
        for position, task in enumerate(job.tasks):
            yield replace(job, tasks=(task,), first=position, updates=False)


def joined(
    parts: Iterable[ChainOutcome], chains: Iterable[Chain], view: LibraryView
) -> Iterator[ChainOutcome]:
    """The outcome of each chain, of those of its tasks, which all began with `view`."""
    parts = iter(parts)
    for chain in chains:
        mine = list(islice(parts, len(chain.tasks)))
        library = view
        for episode in (episodes := tuple(e for part in mine for e in part.episodes)):
            library = record_uses(library, episode, library.skills)
        yield ChainOutcome(
            episodes=episodes,
            rows=tuple(row for part in mine for row in part.rows),
            changes=(),
            usage=changed_usage(view, library),
            flags=tuple(sorted({flag for part in mine for flag in part.flags})),
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
