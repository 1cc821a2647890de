"""The controls: the plainest operator for each slot, which every method is held against."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from pydantic import Field

from auto_research.agent_research.library import Change, Create, LibraryView
from auto_research.agent_research.operators import (
    ChainResult,
    Choice,
    Context,
    CreditedGroup,
    EditRequest,
    Episode,
    LibraryUpdate,
    Operator,
    RetrievalPolicy,
    Reward,
    Rollout,
    Settings,
)
from auto_research.benchmarks.base import Task


class TopK(Settings):
    """How many skills a task gets at most."""

    top_k: int = Field(default=3, ge=1)


class TopKRetrieval(RetrievalPolicy):
    """Base of the controls that retrieve: they consider every active skill and pay for each."""

    settings_type: ClassVar[type[Settings]] = TopK
    settings: TopK


class NoRetrieval(RetrievalPolicy):
    """Every task goes without a skill, free of charge."""

    name = "none"
    citation = "control"
    summary = "never retrieves a skill"

    def choose(self, task: Task, library: LibraryView, ctx: Context) -> Choice:
        return Choice()


class RandomRetrieval(TopKRetrieval):
    """A uniform draw without replacement; each skill's propensity is k / n."""

    name = "random"
    citation = "control"
    summary = "top_k active skills drawn at random"

    def choose(self, task: Task, library: LibraryView, ctx: Context) -> Choice:
        ids = sorted(skill.id for skill in library.active())
        if not ids:
            return Choice()
        ctx.spend("retrieve", len(ids))
        drawn = ctx.rng.sample(ids, min(self.settings.top_k, len(ids)))
        return Choice(tuple(drawn), (len(drawn) / len(ids),) * len(drawn))


class RecentRetrieval(TopKRetrieval):
    """The skills created last, the newest first; goes with `control.trace`."""

    name = "recent"
    citation = "control"
    summary = "the top_k most recently created active skills"

    def choose(self, task: Task, library: LibraryView, ctx: Context) -> Choice:
        ids = [skill.id for skill in reversed(library.active())]
        if not ids:
            return Choice()
        ctx.spend("retrieve", len(ids))
        newest = tuple(ids[: self.settings.top_k])
        return Choice(newest, (1.0,) * len(newest))


class SchemaRetrieval(RetrievalPolicy):
    """Nothing learned: the task's own action schemas, each written as a rule, at every task.

    Tells apart what comes from the executor and what comes from learning.
    """

    name = "control.schemas"
    citation = "control"
    summary = "every action schema of the task as a skill, written anew for each task"

    def choose(self, task: Task, library: LibraryView, ctx: Context) -> Choice:
        ids = tuple(skill.id for skill in ctx.write(EditRequest(kind="schemas", task=task)))
        return Choice(ids, (1.0,) * len(ids))


class NoUpdate(LibraryUpdate):
    """The library stays as it is."""

    name = "none"
    citation = "control"
    summary = "never changes the library"


class TraceUpdate(LibraryUpdate):
    """Keeps the raw plan of every success that no skill brought about.

    Tells apart what comes from reuse as such and what comes from generalising.
    """

    name = "control.trace"
    citation = "control"
    summary = "stores the raw plan of each unaided success"

    def after_episode(
        self, episode: Episode, library: LibraryView, ctx: Context
    ) -> Sequence[Change]:
        if not episode.success or episode.used():
            return ()
        written = ctx.write(EditRequest(kind="trace", episode=episode))
        return [Create(skill, cause=(episode.id,)) for skill in written]

    def after_group(
        self, group: CreditedGroup, library: LibraryView, ctx: Context
    ) -> Sequence[Change]:
        return [
            change
            for chain in group.chains
            for change in chain.changes
            if isinstance(change, Create)
        ]


class OutcomeReward(Reward):
    """The task's own outcome; a task that could not be judged earns None.

    `no_submission` is what handing in nothing earns (SAGE's GRPO baseline: -1).
    """

    class Options(Settings):
        no_submission: float = Field(default=0.0, json_schema_extra={"search": []})

    name = "outcome"
    citation = "control"
    summary = "1 for success, 0 for failure"
    settings_type: ClassVar[type[Settings]] = Options
    settings: Options

    def credit(self, group: Sequence[ChainResult]) -> Sequence[Sequence[float | None]]:
        return [[self._outcome(episode) for episode in chain.episodes] for chain in group]

    def _outcome(self, episode: Episode) -> float | None:
        if episode.verdict is None:
            return None
        if not episode.has_submission:
            return self.settings.no_submission
        return float(episode.verdict.success)


class NoRollout(Rollout):
    """No training phase."""

    name = "none"
    citation = "control"
    summary = "never trains"


OPERATORS: tuple[type[Operator], ...] = (
    NoRetrieval,
    RandomRetrieval,
    RecentRetrieval,
    SchemaRetrieval,
    NoUpdate,
    TraceUpdate,
    OutcomeReward,
    NoRollout,
)
