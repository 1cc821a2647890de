"""The whole plugin contract on one screen: mark any of these functions with `hookimpl`.

A plugin is a module (or object) named by an entry point of group ``auto_research.plugins``.
The built-ins register through the same hooks, in `auto_research.builtin`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pluggy

from auto_research.agent_research.operators import Operator
from auto_research.benchmarks.base import Benchmark, Json

PROJECT = "auto_research"
hookspec = pluggy.HookspecMarker(PROJECT)
hookimpl = pluggy.HookimplMarker(PROJECT)


@dataclass(frozen=True, slots=True)
class BenchmarkOptions:
    """What the user may tell a benchmark: a folder of data, and parts (domains) to leave out.

    `unsafe_worlds` accepts worlds that are not isolated from the answers.
    """

    data_dir: Path | None = None
    exclude: tuple[str, ...] = ()
    unsafe_worlds: bool = False


# A factory raises UserError for options it cannot serve; the first line of its docstring is
# the summary that `benchmarks list` shows. An agent factory is given options by name.
BenchmarkFactory = Callable[[BenchmarkOptions], Benchmark]
AgentFactory = Callable[[Mapping[str, str]], Any]
MethodFile = Path | str | Mapping[str, Json]  # a YAML file, or what would stand in it


@hookspec
def register_operators() -> Sequence[type[Operator]]:
    """Operator classes, each for one slot."""
    return ()


@hookspec
def register_methods() -> Sequence[MethodFile]:
    """Methods, each a YAML file or a mapping: one operator per slot, with settings."""
    return ()


@hookspec
def register_agents() -> Mapping[str, AgentFactory]:
    """Agents by name."""
    return {}


@hookspec
def register_benchmarks() -> Mapping[str, BenchmarkFactory]:
    """Benchmarks by name."""
    return {}


@hookspec
def register_backends() -> Mapping[str, Callable[..., Any]]:
    """Training backends by name."""
    return {}


@hookspec
def run_started(run_dir: Path, config: Mapping[str, Json]) -> None:
    """A run begins or resumes; `config` is its resolved configuration."""


@hookspec
def episode_finished(row: Mapping[str, Json]) -> None:
    """One row of episodes.jsonl was written; called in stream order."""


@hookspec
def run_finished(run_dir: Path, metrics: Mapping[str, Json]) -> None:
    """A run is complete; `metrics` is what metrics.json holds."""
