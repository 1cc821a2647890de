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
    return {"expert": _expert, "llm": _llm, "micro": _micro, "search": _search}


@hookimpl
def register_benchmarks() -> Mapping[str, BenchmarkFactory]:
    return {
        "planbench-mini": _planbench_mini,
        "planbench": _planbench,
        "appworld-mini": _appworld_mini,
        "appworld-mini-challenge": _appworld_mini_challenge,
        "appworld": _appworld,
        "appworld-challenge": _appworld_challenge,
        "workshop-base": _workshop_base,
        "workshop-hid": _workshop_hid,
    }


def _search(options: Mapping[str, str]) -> Any:
    """Deterministic planner that runs, mends and writes skills; no model."""
    from auto_research.agent_research.agents.search.agent import SearchAgent

    _no_options("search", options)
    return SearchAgent()


def _expert(options: Mapping[str, str]) -> Any:
    """Runs a benchmark's reference programs, to check the benchmark; reads answers."""
    from auto_research.agent_research.agents.expert import ExpertAgent

    _no_options("expert", options)
    return ExpertAgent()


def _llm(options: Mapping[str, str]) -> Any:
    """A language model behind an OpenAI-compatible server writes and runs Python."""
    from auto_research.agent_research.agents.llm.agent import LlmAgent
    from auto_research.agent_research.agents.llm.options import read_options

    return LlmAgent(read_options(options))


def _micro(options: Mapping[str, str]) -> Any:
    """A tiny language model of our own, trained with `auto-research train`."""
    from auto_research.agent_research.agents.micro.options import opened, read_options

    return opened(read_options(options))


def _no_options(agent: str, options: Mapping[str, str]) -> None:
    if options:
        option = "--" + next(iter(options)).replace("_", "-")
        raise UserError(f"agent {agent!r} takes no {option}", mend="it is for agents with a model")


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


def _appworld_mini(options: BenchmarkOptions) -> Benchmark:
    """A small generated world of apps on AppWorld's engine; test on its normal tasks."""
    return _appworld_named("appworld-mini", options)


def _appworld_mini_challenge(options: BenchmarkOptions) -> Benchmark:
    """The same, but test on tasks with an app that training never saw."""
    return _appworld_named("appworld-mini-challenge", options)


def _appworld(options: BenchmarkOptions) -> Benchmark:
    """AppWorld's official tasks; test on test_normal."""
    return _appworld_named("appworld", options)


def _appworld_challenge(options: BenchmarkOptions) -> Benchmark:
    """AppWorld's official tasks; test on test_challenge."""
    return _appworld_named("appworld-challenge", options)


def _appworld_named(name: str, options: BenchmarkOptions) -> Benchmark:
    from auto_research.benchmarks.appworld.benchmark import AppWorldBenchmark

    _whole(name, options)
    return AppWorldBenchmark(
        name,
        options.data_dir,
        challenge=name.endswith("-challenge"),
        unsafe=options.unsafe_worlds,
    )


def _workshop_base(options: BenchmarkOptions) -> Benchmark:
    """A small workshop for training: fetch, process and deliver; all rules are told."""
    from auto_research.benchmarks.workshop import WorkshopBenchmark

    _whole("workshop-base", options)
    return WorkshopBenchmark("base")


def _workshop_hid(options: BenchmarkOptions) -> Benchmark:
    """The same, but which station does what is found only by trying, anew in each scenario."""
    from auto_research.benchmarks.workshop import WorkshopBenchmark

    _whole("workshop-hid", options)
    return WorkshopBenchmark("hid")


def _whole(name: str, options: BenchmarkOptions) -> None:
    if options.exclude:
        raise UserError(f"the benchmark {name!r} has no parts to leave out", where="--exclude")
