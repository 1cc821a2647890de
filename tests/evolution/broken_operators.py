"""A plugin of operators that break a search in every way: each fills one slot of `sage`.

Its agent `served` stands for one whose model server can be gone: for every task of the scenarios
whose names begin with the environment variable ``BROKEN_SERVER``.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Mapping, Sequence

from small_world import TellingAgent, TellingSession

from auto_research.agent_research.agents.base import Attempt
from auto_research.agent_research.budget import Meter
from auto_research.agent_research.library import Change, LibraryView
from auto_research.agent_research.operators import (
    Chain,
    ChainResult,
    Context,
    CreditedGroup,
    LibraryUpdate,
    Operator,
    Progress,
    Reward,
    Rollout,
)
from auto_research.agent_research.skill import Skill
from auto_research.benchmarks.base import Environment, Scenario, Task
from auto_research.errors import RunStopped
from auto_research.hookspecs import AgentFactory, hookimpl


class Update(LibraryUpdate):
    citation = "a test"
    summary = "breaks"

    def after_group(
        self, group: CreditedGroup, library: LibraryView, ctx: Context
    ) -> Sequence[Change]:
        self.breaks(ctx)
        return ()

    def breaks(self, ctx: Context) -> None:
        raise NotImplementedError


class Raises(Update):
    name = "broken.raises"

    def breaks(self, ctx: Context) -> None:
        raise ValueError("broken\non purpose")


class NoNumber(Update):
    """Poisons the cost: what it spends is no number."""

    name = "broken.no-number"

    def breaks(self, ctx: Context) -> None:
        ctx.spend("act", float("nan"))  # type: ignore[arg-type]


class Dies(Update):
    name = "broken.dies"

    def breaks(self, ctx: Context) -> None:
        os._exit(9)


class Spins(Update):
    name = "broken.spins"

    def breaks(self, ctx: Context) -> None:
        for _ in itertools.repeat(None):
            pass


class Text(Reward):
    """A reward that is a text."""

    name = "broken.text"
    citation = "a test"
    summary = "breaks"

    def credit(self, group: Sequence[ChainResult]) -> Sequence[Sequence[float | None]]:
        return [["very good" for _ in chain.episodes] for chain in group]  # type: ignore[misc]


class Endless(Rollout):
    """Trains for ever."""

    name = "broken.endless"
    citation = "a test"
    summary = "breaks"

    def next(self, pool: Sequence[Scenario], progress: Progress, ctx: Context) -> Sequence[Chain]:
        return [Chain(pool[0].id, pool[0].tasks[:1], 2, "carry")]


class Shouts(LibraryUpdate):
    """Works, and prints what would spoil a command's JSON."""

    name = "broken.shouts"
    citation = "a test"
    summary = "prints"

    def after_group(
        self, group: CreditedGroup, library: LibraryView, ctx: Context
    ) -> Sequence[Change]:
        print("so there")
        return ()


class ServedSession(TellingSession):
    def attempt(self, skills: Sequence[Skill], world: Environment | None = None) -> Attempt:
        gone = os.environ.get("BROKEN_SERVER")
        if gone and self.task.scenario.startswith(gone):
            raise RunStopped("the model server gave no reply")
        return super().attempt(skills, world)


class ServedAgent(TellingAgent):
    def session(self, task: Task, meter: Meter) -> ServedSession:
        return ServedSession(self.settings, self._sandbox, task, meter)


@hookimpl
def register_agents() -> Mapping[str, AgentFactory]:
    return {"served": lambda options: ServedAgent()}


@hookimpl
def register_operators() -> Sequence[type[Operator]]:
    return [Raises, NoNumber, Dies, Spins, Text, Endless, Shouts]
