"""One chain: the tasks of a scenario in order, with a library of its own; a picklable job."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from auto_research.agent_research.agents.base import Agent
from auto_research.agent_research.budget import Budget, Meter, Phase
from auto_research.agent_research.episode import EpisodeResult, Setting, run_episode
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
from auto_research.benchmarks.base import Evaluator, Json, OpenWorld, Task
from auto_research.errors import EvaluatorError
from auto_research.rng import derive

Ticket = int | EvaluatorError  # of a submission, or why it could not be handed in


FED = "task-fed-a-skill"  # a test task was evaluated with a skill that it had fed


@dataclass(frozen=True, slots=True)
class ChainJob:
    """Everything a worker needs to run one chain; plain values throughout.

    `library` is what the chain starts with, `states` the operators' states by slot.
    `name` is the chain's own in the run and seeds its draws together with `seed`. Without
    `updates` the update operator is not asked: the library stays as it is. `first` is the place
    in the chain of the first of `tasks`, where a job is only a part of it.
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
    first: int = 0


@dataclass(frozen=True, slots=True)
class ChainOutcome:
    """What a chain came to: rows with verdicts, episodes as operators may see them, changes.

    `usage` holds the records that differ from those at its start, `origins` the chain position at
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


@dataclass
class AttemptedChain:
    """A chain that has been attempted and handed in; its verdicts may still be out."""

    job: ChainJob
    evaluator: Evaluator
    results: list[EpisodeResult] = field(default_factory=list)
    tickets: list[Ticket] = field(default_factory=list)
    library: LibraryView = field(default_factory=LibraryView)
    origins: dict[str, int] = field(default_factory=dict)
    flags: set[str] = field(default_factory=set)

    def hand_in(self, evaluator: Evaluator) -> None:
        """Hand all of it in once more, to an evaluator that took the place of one that died."""
        self.evaluator = evaluator
        self.tickets = [_submit(evaluator, r.episode.task, r) for r in self.results]

    def outcome(self) -> ChainOutcome:
        """Wait for the verdicts."""
        job = self.job
        judged = [
            _judged(result, ticket, self.evaluator, job.verdicts_to_operators)
            for result, ticket in zip(self.results, self.tickets, strict=True)
        ]
        flags = self.flags.union(*(result.flags for result in self.results))
        return ChainOutcome(
            episodes=tuple(episode for episode, _ in judged),
            rows=tuple(replace(row, group=job.group, sibling=job.sibling) for _, row in judged),
            changes=tuple(change for result in self.results for change in result.changes),
            usage=changed_usage(view_of(job.library), self.library),
            origins=self.origins,
            flags=tuple(sorted(flags)),
        )


def attempt_chain(
    job: ChainJob,
    agent: Agent,
    operators: Operators,
    evaluator: Evaluator,
    meters: list[Meter],
    open_world: OpenWorld | None = None,
    keep: Path | None = None,
) -> AttemptedChain:
    """Run the chain, but wait for no verdict.

    Each episode's meter is added to `meters` as it begins, so that a chain that is broken off can
    still be accounted for.
    """
    for slot, operator in operators.by_slot().items():
        operator.restore(job.states.get(slot))
    setting = Setting(
        job.phase,
        job.step,
        job.arm,
        job.pool,
        job.budget,
        job.units_per_episode,
        job.updates,
        open_world,
        keep,
    )
    library = view_of(job.library)
    chain = AttemptedChain(job, evaluator)
    for position, task in enumerate(job.tasks, start=job.first):
        if job.phase == "test" and any(s.provenance.task == task.id for s in library):
            chain.flags.add(FED)
        name = f"{job.name}-{position}"
        rng = derive(job.seed, "chain", job.name, position)
        meter = Meter(job.budget, stream=f"{job.seed}/{name}")
        meters.append(meter)
        result = run_episode(name, task, position, library, agent, operators, setting, rng, meter)
        chain.tickets.append(_submit(evaluator, task, result))
        before = library.skills
        library = record_uses(library, result.episode, before)
        library = apply_changes(library, result.changes)
        chain.origins |= {i: position for i in library.skills if i not in before}
        chain.results.append(result)
    chain.library = library
    return chain


def retrieved(episode: Episode) -> tuple[str, ...]:
    """Ids of the skills that an episode was given, each once."""
    return tuple(dict.fromkeys([*episode.choice.ranked, *(use.skill for use in episode.uses)]))


def record_uses(library: LibraryView, episode: Episode, among: Collection[str]) -> LibraryView:
    """The library with the records of the skills `among` it that the episode was given."""
    records: dict[str, Usage] = {}
    for skill_id in retrieved(episode):
        skill = library.get(skill_id)
        if skill is not None and skill_id in among:
            uses = [use for use in episode.uses if use.skill == skill_id]
            records[skill_id] = skill.usage.after(
                called=any(use.called for use in uses),
                helped=any(use.called and use.helped for use in uses),
            )
    return record_usage(library, records)


def changed_usage(before: LibraryView, after: LibraryView) -> dict[str, Usage]:
    """The records that `after` holds and `before` does not, by skill."""
    return {
        skill.id: skill.usage
        for skill in after.skills.values()
        if (old := before.get(skill.id)) is None or old.usage != skill.usage
    }


def _submit(evaluator: Evaluator, task: Task, result: EpisodeResult) -> Ticket:
    try:
        return evaluator.submit(task.id, result.submission)
    except EvaluatorError as error:
        return error


def _judged(
    result: EpisodeResult, ticket: Ticket, evaluator: Evaluator, shown: bool
) -> tuple[Episode, EpisodeRow]:
    """The episode, with its verdict if operators may see that, and its row with the verdict."""
    try:
        if isinstance(ticket, EvaluatorError):
            raise ticket
        verdict = evaluator.verdict(ticket)
    except EvaluatorError as error:
        return result.episode, replace(result.row, error=result.row.error or str(error))
    if result.row.error:  # what broke off has failed, whatever state it left its world in
        verdict = replace(verdict, success=False)
    row = replace(result.row, success=verdict.success, checks=dict(verdict.checks))
    return replace(result.episode, verdict=verdict if shown else None), row
