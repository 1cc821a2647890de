"""The arithmetic of a comparison: figures of a line, the difference of two, the Pareto front.

Episodes are paired by task and resampled by scenario. One scenario under several train seeds is
one cluster, since its tasks are the same.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from auto_research.agent_research.budget import PHASES, Phase
from auto_research.agent_research.statistics import (
    RESAMPLES,
    Interval,
    clustered_mean,
    clustered_rate,
    mcnemar,
    paired_difference,
)
from auto_research.comparison.matching import Line
from auto_research.comparison.runs import Outcome

RunKey = tuple[str, str, int, int]  # benchmark hash, split, seed, train seed
Key = tuple[RunKey, str]  # and the task
Cluster = tuple[int, str]  # seed, scenario


@dataclass(frozen=True, slots=True)
class Episode:
    """A test episode of a line.

    `total_cost` is its units and its part of all that the run spent outside its test episodes,
    over B: the mean over a run is (training + probes + test units) / test episodes / B.
    """

    outcome: Outcome
    cluster: Cluster
    total_cost: float


@dataclass(frozen=True, slots=True)
class Difference:
    """A line less the baseline over the `pairs` tasks that both have; `p` is McNemar's, exact.

    `gained` and `lost` count the tasks that only the line, or only the baseline, got right.
    """

    pairs: int
    joint: Interval
    cost: Interval
    total_cost: Interval
    gained: int
    lost: int
    p: float


def episodes(line: Line) -> dict[Key, Episode]:
    """The test episodes of a line, by what pairs them with another line's."""
    found: dict[Key, Episode] = {}
    for run in line.runs:
        seed, train_seed = run.seeds
        where = (str(run.config["benchmark_hash"]), str(run.config["split"]), seed, train_seed)
        rest = sum(run.units.values()) - sum(outcome.units for outcome in run.outcomes)
        share = rest / len(run.outcomes)
        for outcome in run.outcomes:
            total = (outcome.units + share) / run.full_cost
            found[where, outcome.task] = Episode(outcome, (seed, outcome.scenario), total)
    return found


def figures(line: Line) -> dict[str, Interval]:
    """joint, sgc, cost, total_cost, and steps and tokens an episode, of a line.

    The interval of the total cost is that of the test stream, given the trainings that there were.
    """
    mine = episodes(line)
    clusters = [episode.cluster for episode in mine.values()]
    chains: dict[tuple[RunKey, Cluster], bool] = {}
    for (run, _), episode in mine.items():
        chain = run, episode.cluster
        chains[chain] = chains.get(chain, True) and episode.outcome.success

    def mean(measure: Callable[[Episode], float]) -> Interval:
        return clustered_mean([measure(episode) for episode in mine.values()], clusters)

    return {
        "joint": clustered_rate([e.outcome.success for e in mine.values()], clusters),
        "sgc": clustered_rate(list(chains.values()), [cluster for _, cluster in chains]),
        "cost": mean(lambda e: e.outcome.cost),
        "total_cost": mean(lambda e: e.total_cost),
        "steps": mean(lambda e: e.outcome.steps),
        "tokens": mean(lambda e: e.outcome.tokens),
    }


def units(line: Line) -> dict[Phase, Interval | float]:
    """Units of each phase over the test episodes; a bare number where no interval can be had.

    Test units are resampled by scenario. A training is one observation, however many runs share
    it, and so are the probes made in it: with one train seed they have no interval.
    """
    tested = list(episodes(line).values())
    test = clustered_mean([e.outcome.units for e in tested], [e.cluster for e in tested])
    return {phase: test if phase == "test" else _by_run(line, phase) for phase in PHASES}


def _by_run(line: Line, phase: Phase) -> Interval | float:
    amounts = [run.units[phase] / len(run.outcomes) for run in line.runs]
    trainings: dict[int, set[float]] = {}
    for run, amount in zip(line.runs, amounts, strict=True):
        trainings.setdefault(run.seeds[1], set()).add(amount)
    shared = all(len(seen) == 1 for seen in trainings.values())  # not where the test probes too
    clusters = [run.seeds[1:] if shared else run.seeds for run in line.runs]
    if len(set(clusters)) == 1:
        return sum(amounts) / len(amounts)
    return clustered_mean(amounts, clusters)


def difference(
    line: Line, base: Line, *, level: float = 0.95, resamples: int = RESAMPLES
) -> Difference | None:
    """`line` less `base`, paired by task; None if they have no task in common."""
    mine, theirs = episodes(line), episodes(base)
    keys = [key for key in mine if key in theirs]
    if not keys:
        return None
    clusters = {key: mine[key].cluster for key in keys}

    def less(measure: Callable[[Episode], float]) -> Interval:
        return paired_difference(
            {key: measure(mine[key]) for key in keys},
            {key: measure(theirs[key]) for key in keys},
            clusters,
            level=level,
            resamples=resamples,
        ).difference

    pairs = [(mine[key].outcome.success, theirs[key].outcome.success) for key in keys]
    return Difference(
        pairs=len(keys),
        joint=less(lambda e: float(e.outcome.success)),
        cost=less(lambda e: e.outcome.cost),
        total_cost=less(lambda e: e.total_cost),
        gained=sum(a and not b for a, b in pairs),
        lost=sum(b and not a for a, b in pairs),
        p=mcnemar([a for a, _ in pairs], [b for _, b in pairs]),
    )


@dataclass(frozen=True, slots=True)
class TaskDifference:
    """One task of a line less the baseline's: `joint` is 1 (gained), 0 or -1 (lost)."""

    task: str
    joint: int
    cost: float


def task_differences(line: Line, base: Line) -> list[TaskDifference]:
    """Each task that both have, the one that got cheapest first."""
    mine, theirs = episodes(line), episodes(base)
    found = [
        TaskDifference(
            key[1],
            mine[key].outcome.success - theirs[key].outcome.success,
            round(mine[key].outcome.cost - theirs[key].outcome.cost, 6),
        )
        for key in mine
        if key in theirs
    ]
    return sorted(found, key=lambda task: (task.cost, task.joint, task.task))


def pareto_front(points: Mapping[str, tuple[float, float]]) -> list[str]:
    """Names of the points (joint, total cost) that no other beats: joint up, total cost down.

    One beats another if it is no worse in both and better in one; equal points stand together.
    """
    return [
        name
        for name, (joint, cost) in points.items()
        if not any(
            other != (joint, cost) and other[0] >= joint and other[1] <= cost
            for other in points.values()
        )
    ]
