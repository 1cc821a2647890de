"""Runs small evaluations in this process, with operators and agents that a test brings along."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import small_world

from auto_research.agent_research.method import load_method
from auto_research.agent_research.operators import Operator
from auto_research.agent_research.store import SkillStore
from auto_research.evaluate import EvalRequest, Evaluation, prepare
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
