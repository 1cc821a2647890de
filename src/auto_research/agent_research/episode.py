"""One episode: retrieve, attempt, hand in, update the chain's library; every step charged."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random

from auto_research.agent_research.agents.base import Agent, Attempt
from auto_research.agent_research.budget import Budget, Meter, Phase
from auto_research.agent_research.context import HarnessContext
from auto_research.agent_research.library import Change, LibraryView, view_of
from auto_research.agent_research.method import Operators
from auto_research.agent_research.operators import Arm, Choice, Episode, TaskRef
from auto_research.agent_research.rows import ChoiceRow, EpisodeRow, TranscriptLine, change_row
from auto_research.agent_research.skill import Skill
from auto_research.benchmarks.base import OpenWorld, Submission, Task
from auto_research.errors import AutoResearchError, BudgetExceeded, RunStopped


@dataclass(frozen=True, slots=True)
class Setting:
    """What an episode runs under, apart from its task and library."""

    phase: Phase
    step: int
    arm: Arm
    pool: tuple[TaskRef, ...]
    budget: Budget
    units_per_episode: int  # B of the benchmark, for the cost
    updates: bool = True  # whether the update operator is asked after an attempt without an error
    open_world: OpenWorld | None = None  # where the tasks are worlds
    keep: Path | None = None  # the folder that keeps what was done in them


@dataclass(frozen=True, slots=True)
class EpisodeResult:
    """The episode as operators see it, its row (verdict and reward still open), its changes."""

    episode: Episode
    row: EpisodeRow
    changes: tuple[Change, ...]
    submission: Submission
    flags: tuple[str, ...] = ()


def run_episode(
    name: str,
    task: Task,
    position: int,
    library: LibraryView,
    agent: Agent,
    operators: Operators,
    setting: Setting,
    rng: Random,
    meter: Meter,
) -> EpisodeResult:
    """Run one episode. A failed episode is data: only programming errors are raised."""
    ctx = HarnessContext(
        rng=rng,
        phase=setting.phase,
        step=setting.step,
        arm=setting.arm,
        pool=setting.pool,
        home=task,
        _meter=meter,
        _open=lambda other: agent.session(other, meter),
    )
    arm = setting.arm
    visible = view_of(s for s in library.active() if not arm.bare and s.id not in arm.without)
    choice, attempt, handed_in = _attempt(task, visible, operators, ctx, setting)
    episode = Episode(
        id=name,
        task=task,
        position=position,
        choice=choice,
        uses=attempt.uses,
        own_check=attempt.own_check,
        verdict=None,
        has_submission=attempt.submission.plan is not None or bool(attempt.submission.payload),
        spending=meter.spending(),
        evidence=attempt.evidence,
        error=attempt.error,
        actions=attempt.actions,
        arm=arm,
    )
    lines = list(attempt.transcript)
    changes: Sequence[Change] = ()
    if setting.updates and not attempt.error:
        try:
            changes = operators.update.after_episode(episode, library, ctx)
        except BudgetExceeded as error:
            lines.append(TranscriptLine("update", f"the library is left as it is: {error}"))
    episode = replace(episode, written=tuple(_written(changes)), spending=meter.spending())
    spending = episode.spending
    row = EpisodeRow(
        episode=name,
        phase=setting.phase,
        index=0,
        scenario=task.scenario,
        task=task.id,
        position=position,
        instruction=task.instruction,
        success=None,
        own_check=attempt.own_check,
        units=spending.units,
        cost=cost_of(spending.units, setting.units_per_episode),
        units_by_kind=spending.units_by_kind,
        steps=attempt.steps,
        tokens=spending.totals.get("tokens", 0),
        generated=spending.totals.get("generated", 0),
        model_calls=spending.totals.get("model_calls", 0),
        choice=ChoiceRow(choice.ranked, choice.propensities),
        uses=attempt.uses,
        written=episode.written,
        changes=tuple(change_row(change) for change in changes),
        plan=attempt.submission.plan,
        answer=attempt.submission.answer,
        error=attempt.error,
        transcript=tuple(lines),
    )
    return EpisodeResult(episode, row, tuple(changes), handed_in, attempt.flags)


def cost_of(units: int, full_cost: int) -> float:
    """min(1, units / B), rounded to 6 digits."""
    return round(min(1.0, units / full_cost), 6)


def _attempt(
    task: Task,
    library: LibraryView,
    operators: Operators,
    ctx: HarnessContext,
    setting: Setting,
) -> tuple[Choice, Attempt, Submission]:
    """What was retrieved, what came of it, and what is handed in.

    An agent that gives up is an attempt that failed. Raises UserError if no world can be opened,
    RunStopped if the agent says that the run cannot go on.
    """
    nothing = Submission()
    try:
        session = ctx._session(task)
    except RunStopped:
        raise
    except AutoResearchError as error:
        return Choice(), Attempt(nothing, False, error=str(error)), nothing
    try:
        choice = operators.retrieval.choose(task, library, ctx)
    except BudgetExceeded as error:
        line = TranscriptLine("retrieve", f"no skill could be afforded: {error}")
        return Choice(), Attempt(nothing, False, transcript=(line,)), nothing
    ranked = dict.fromkeys(choice.ranked)
    skills = [s for i in ranked if (s := library.get(i) or ctx._written.get(i))]
    with ExitStack() as closing:
        world = setting.open_world(task, setting.keep) if setting.open_world else None
        if world is not None:
            closing.callback(world.close)
        try:
            attempt = session.attempt(skills, world)
        except RunStopped:
            raise
        except AutoResearchError as error:
            attempt = Attempt(nothing, False, error=str(error))
        if world is None:
            return choice, attempt, attempt.submission
        handed_in = replace(attempt.submission, payload=world.submission())
        flags = (*attempt.flags, *world.flags())
        return choice, replace(attempt, flags=flags), handed_in


def _written(changes: Sequence[Change]) -> list[str]:
    found: list[Skill] = [s for c in changes if (s := getattr(c, "skill", None)) is not None]
    return [skill.id for skill in found]
