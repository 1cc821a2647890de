"""Runs small evaluations in this process, with operators and agents that a test brings along."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import small_world
from small_world import TellingAgent, TellingSession

from auto_research.agent_research.budget import Meter
from auto_research.agent_research.library import Change, LibraryView
from auto_research.agent_research.method import load_method
from auto_research.agent_research.operators import (
    Context,
    CreditedGroup,
    EditRequest,
    Episode,
    LibraryUpdate,
    Operator,
)
from auto_research.agent_research.skill import Skill
from auto_research.agent_research.store import SkillStore
from auto_research.benchmarks.base import Task
from auto_research.evaluate import Evaluation, prepare
from auto_research.furnishing import EvalRequest
from auto_research.hookspecs import hookimpl
from auto_research.plugins import load_plugins


class Brought:
    """A plugin made of what a test brings along."""

    def __init__(
        self,
        operators: Sequence[type[Operator]] = (),
        agents: Mapping[str, Callable[..., Any]] | None = None,
        benchmarks: Mapping[str, Callable[..., Any]] | None = None,
        heard: Callable[[Mapping[str, Any]], None] = lambda row: None,
    ) -> None:
        self.operators, self.heard = operators, heard
        self.agents, self.benchmarks = agents or {}, benchmarks or {}

    @hookimpl
    def register_operators(self) -> Sequence[type[Operator]]:
        return self.operators

    @hookimpl
    def register_agents(self) -> Mapping[str, Callable[..., Any]]:
        return self.agents

    @hookimpl
    def register_benchmarks(self) -> Mapping[str, Callable[..., Any]]:
        return self.benchmarks

    @hookimpl
    def episode_finished(self, row: Mapping[str, Any]) -> None:
        self.heard(row)


def prepared(
    plugin: Brought | None = None,
    *,
    method: str = "sage",
    settings: Sequence[str] = (),
    **request: Any,
) -> Evaluation:
    """An evaluation on the benchmark `small`: 2 train scenarios, 6 test episodes."""
    registry = load_plugins([small_world, plugin or Brought()])
    defaults = {
        "benchmark": "small",
        "agent": "search",
        "episodes": 6,
        "seed": 7,
        "train_scenarios": 2,
    }
    chosen = load_method(method, registry, settings)
    return prepare(EvalRequest(chosen, **{**defaults, **request}), registry)


def rows(run: Path, phase: str | None = None) -> list[dict[str, Any]]:
    """The rows of a run, or of one phase of it."""
    lines = (run / "episodes.jsonl").read_bytes().splitlines()
    return [row for row in map(json.loads, lines) if phase in (None, row["phase"])]


def metrics(run: Path) -> dict[str, Any]:
    """What `metrics.json` holds."""
    content: dict[str, Any] = json.loads((run / "metrics.json").read_bytes())
    return content


def library(run: Path) -> list[Any]:
    """Every skill of a run's library with its record, and every change ever made to it."""
    with SkillStore(run / "library.sqlite", create=False) as store:
        return [*store.view().skills.values(), *store.log()]


def update(
    after_episode: Callable[..., Sequence[Change]] = lambda e, library, ctx: (),
    after_group: Callable[..., Sequence[Change]] = lambda g, library, ctx: (),
) -> type[LibraryUpdate]:
    """An update operator `test.update` that does just this."""

    class Update(LibraryUpdate):
        name = "test.update"
        citation = "test"
        summary = "a test's own"

        def after_episode(
            self, episode: Episode, library: LibraryView, ctx: Context
        ) -> Sequence[Change]:
            return after_episode(episode, library, ctx)

        def after_group(
            self, group: CreditedGroup, library: LibraryView, ctx: Context
        ) -> Sequence[Change]:
            return after_group(group, library, ctx)

    return Update


def with_update(operator: type[LibraryUpdate], **request: Any) -> Any:
    """An evaluation of `sage` with that update operator in place of its own."""
    settings = ["update=test.update", *request.pop("settings", ())]
    return prepared(Brought([operator]), settings=settings, **request)


def agent_of(session: type[TellingSession], name: str = "search") -> TellingAgent:
    """The agent `search` with sessions of that type."""

    class Agent(TellingAgent):
        def session(self, task: Task, meter: Meter) -> TellingSession:
            return session(self.settings, self._sandbox, task, meter)

    return Agent()


def made(e: Episode, ctx: Context) -> Sequence[Skill]:
    """The skills that the agent writes from an episode."""
    return ctx.write(EditRequest("create", episode=e))
