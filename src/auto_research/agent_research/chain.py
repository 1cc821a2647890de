"""One chain: the tasks of a scenario in order, with a library of its own; a picklable job."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from auto_research.agent_research.agents.base import Agent
from auto_research.agent_research.budget import Budget, Phase
from auto_research.agent_research.episode import Setting, run_episode
from auto_research.agent_research.library import (
    Change,
    LibraryView,
    apply_changes,
    record_usage,
    view_of,
)
from auto_research.agent_research.method import Operators
from auto_research.agent_research.operators import Arm, ChainResult, Episode, TaskRef
from auto_research.agent_research.rows import EpisodeRow
from auto_research.agent_research.skill import Skill, Usage
from auto_research.benchmarks.base import Evaluator, Json, Task
from auto_research.errors import EvaluatorError
from auto_research.rng import derive


@dataclass(frozen=True, slots=True)
class ChainJob:
    """Everything a worker needs to run one chain; plain values throughout.

    `library` is what the chain starts with, `states` the operators' states by slot.
    `name` is unique in the run and seeds the chain's draws together with `seed`.
    """

    name: str
    seed: int
    phase: Phase
    step: int
    group: int | None
    sibling: int
    tasks: tuple[Task, ...]
    library: tuple[Skill, ...]
    states: Mapping[str, Json]
    budget: Budget
    units_per_episode: int
    pool: tuple[TaskRef, ...] = ()
    arm: Arm = field(default_factory=Arm)
    updates: bool = True
    verdicts_to_operators: bool = False


@dataclass(frozen=True, slots=True)
class ChainOutcome:
    """What a chain came to: rows with verdicts, episodes as operators may see them, changes.

    `usage` holds the records of the skills that were retrieved, `origins` the chain position at
    which each new skill was written.
    """

    episodes: tuple[Episode, ...]
    rows: tuple[EpisodeRow, ...]
    changes: tuple[Change, ...]
    usage: Mapping[str, Usage] = field(default_factory=dict)
    origins: Mapping[str, int] = field(default_factory=dict)
    flags: tuple[str, ...] = ()

    def result(self, start: LibraryView) -> ChainResult:
        """The chain as a reward operator sees it, given the library it started from."""
        library = record_usage(apply_changes(start, self.changes), self.usage)
        return ChainResult(self.episodes, library, self.changes, self.origins)


def run_chain(
    job: ChainJob, agent: Agent, operators: Operators, evaluator: Evaluator
) -> ChainOutcome:
    """Run the chain. Verdicts are collected at the end: no episode waits for the judge."""
    for slot, operator in operators.by_slot().items():
        operator.restore(job.states.get(slot))
    setting = Setting(job.phase, job.step, job.arm, job.pool, job.budget, job.units_per_episode)
    library = view_of(job.library)
    episodes: list[Episode] = []
    rows: list[EpisodeRow] = []
    changes: list[Change] = []
    tickets: list[int] = []
    origins: dict[str, int] = {}
    flags: set[str] = set()
    touched: set[str] = set()
    for position, task in enumerate(job.tasks):
        result = run_episode(
            f"{job.name}-{position}",
            task,
            position,
            library,
            agent,
            operators,
            setting,
            derive(job.seed, "chain", job.name, position),
        )
        tickets.append(evaluator.submit(task.id, result.submission))
        library = _used(library, result.episode, touched)
        if job.updates:
            before = library.skills
            library = apply_changes(library, result.changes)
            changes += result.changes
            origins |= {i: position for i in library.skills if i not in before}
        row = result.row if job.updates else replace(result.row, written=(), changes=())
        rows.append(replace(row, group=job.group, sibling=job.sibling))
        episodes.append(replace(result.episode, written=row.written))
        flags |= set(result.flags)
    for index, ticket in enumerate(tickets):
        rows[index], episodes[index] = _judged(
            rows[index], episodes[index], ticket, evaluator, job.verdicts_to_operators
        )
    usage = {i: library.skills[i].usage for i in sorted(touched) if i in library.skills}
    return ChainOutcome(
        tuple(episodes), tuple(rows), tuple(changes), usage, origins, tuple(sorted(flags))
    )


def _used(library: LibraryView, episode: Episode, touched: set[str]) -> LibraryView:
    """The library with the records of the episode's retrieved skills brought up to date."""
    records: dict[str, Usage] = {}
    for use in episode.uses:
        skill = library.get(use.skill)
        if skill is not None:
            records[skill.id] = skill.usage.after(called=use.called, helped=use.helped)
    touched |= set(records)
    return record_usage(library, records)


def _judged(
    row: EpisodeRow, episode: Episode, ticket: int, evaluator: Evaluator, shown: bool
) -> tuple[EpisodeRow, Episode]:
    try:
        verdict = evaluator.verdict(ticket)
    except EvaluatorError as error:
        return replace(row, error=row.error or str(error)), episode
    judged = replace(row, success=verdict.success, checks=dict(verdict.checks))
    return judged, replace(episode, verdict=verdict) if shown else episode
