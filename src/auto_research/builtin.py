"""The built-ins as a plugin: they register through the same hooks as a stranger's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from auto_research.agent_research.controls import OPERATORS
from auto_research.agent_research.operators import Operator
from auto_research.benchmarks.base import Benchmark
from auto_research.errors import UserError
from auto_research.hookspecs import (
    AgentFactory,
    BenchmarkFactory,
    BenchmarkOptions,
    MethodFile,
    hookimpl,
)


@hookimpl
def register_operators() -> Sequence[type[Operator]]:
    return OPERATORS


@hookimpl
def register_methods() -> Sequence[MethodFile]:
    return sorted((Path(__file__).parent / "methods").glob("*.yaml"))


@hookimpl
def register_agents() -> Mapping[str, AgentFactory]:
    return {"search": _search}


@hookimpl
def register_benchmarks() -> Mapping[str, BenchmarkFactory]:
    return {"planbench-mini": _planbench_mini, "planbench": _planbench}


def _search(options: Mapping[str, str]) -> Any:
    """Deterministic planner that runs, mends and writes skills; no model."""
    from auto_research.agent_research.agents.search.agent import SearchAgent

    return SearchAgent()


def _planbench_mini(options: BenchmarkOptions) -> Benchmark:
    """Four classical planning worlds, plain, renamed, misleading and drifted; generated."""
    from auto_research.benchmarks.planbench.mini import MiniBenchmark

    return MiniBenchmark(exclude=options.exclude)


def _planbench(options: BenchmarkOptions) -> Benchmark:
    """Real PlanBench checkouts, or any folder of PDDL domain and problem files."""
    from auto_research.benchmarks.planbench.real import PlanBench

    if options.data_dir is None:
        raise UserError("the benchmark 'planbench' needs files", mend="give --data-dir DIR")
    return PlanBench(options.data_dir, exclude=options.exclude)
