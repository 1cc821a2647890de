"""What the user asked for, and the workplaces that serve it: agent, operators, judges, worlds."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, TypeVar

from auto_research.agent_research.agents.base import Agent, ReadsReferences
from auto_research.agent_research.budget import Phase
from auto_research.agent_research.catalog import Entry, find
from auto_research.agent_research.config import Feedback
from auto_research.agent_research.method import Method
from auto_research.agent_research.workers import Workplace
from auto_research.benchmarks.base import Benchmark, Evaluator, Referenced, Split, world_opener
from auto_research.errors import AutoResearchError, UserError
from auto_research.hookspecs import BenchmarkOptions
from auto_research.plugins import Registry, load_plugins

Made = TypeVar("Made", Agent, Benchmark)
Options = TypeVar("Options")


@dataclass(frozen=True, slots=True)
class EvalRequest:
    """What the user asked for. `episodes` is of the test stream, `units` overrides B."""

    method: Method
    benchmark: str = "planbench-mini"
    agent: str = "search"
    episodes: int = 120
    seed: int = 42
    train_seed: int = 0
    train_scenarios: int = 64
    split: Split = "test"
    exclude: tuple[str, ...] = ()
    data_dir: Path | None = None
    frozen: bool = False
    test_feedback: Feedback = "own"
    units: int | None = None
    run_units: int | None = None
    agent_options: Mapping[str, str] = field(default_factory=dict)
    unsafe_worlds: bool = False


@dataclass(frozen=True, slots=True)
class Furnisher:
    """Furnishes a worker process: everything is made anew there from names."""

    request: EvalRequest
    train_scenarios: int
    test_scenarios: int
    keep: Path

    def __call__(self) -> Workplace:
        request, registry = self.request, load_plugins()
        benchmark = opened_benchmark(request, registry)
        if self.train_scenarios:  # first, as they are needed first: the judge prepares in order
            benchmark.scenarios("train", request.train_seed, self.train_scenarios)
        benchmark.scenarios(request.split, request.seed, self.test_scenarios)
        workplace = opened(request, registry, benchmark)
        workplace.keep = self.keep
        return workplace


def opened(request: EvalRequest, registry: Registry, benchmark: Benchmark) -> Workplace:
    """A workplace of its own: an agent, fresh operators, a judge a phase. Raises UserError."""
    return Workplace(
        opened_agent(request, registry, benchmark),
        request.method.build(registry),
        lambda: _evaluators(benchmark, request),
        world_opener(benchmark),
    )


def opened_benchmark(request: EvalRequest, registry: Registry) -> Benchmark:
    """The benchmark of that name with the request's options. Raises UserError."""
    options = BenchmarkOptions(request.data_dir, request.exclude, request.unsafe_worlds)
    return made("benchmark", request.benchmark, registry.benchmarks, options)


def opened_agent(request: EvalRequest, registry: Registry, benchmark: Benchmark) -> Agent:
    """The agent of that name with the request's options. Raises UserError.

    One that reads answers is shown where, if the benchmark has reference programs.
    """
    agent: Agent = made("agent", request.agent, registry.agents, request.agent_options)
    if isinstance(agent, ReadsReferences) and isinstance(benchmark, Referenced):
        agent.read_from(benchmark)
    return agent


def made(
    kind: Literal["agent", "benchmark"],
    name: str,
    entries: Mapping[str, Entry[Callable[[Options], Made]]],
    options: Options,
) -> Made:
    """What the plugin that registered `name` makes of the options.

    Raises UserError if there is no such name, if an option is wrong, and if the plugin fails.
    """
    make = find(kind, name, entries)
    try:
        thing = make(options)
    except AutoResearchError:
        raise
    except Exception as error:
        at = traceback.extract_tb(error.__traceback__)[-1]
        what = f"{kind} {name!r} cannot be made: {type(error).__name__}: {error}"
        where = f"plugin {entries[name].plugin!r}, {at.filename}:{at.lineno}"
        raise UserError(what, where=where) from error
    if not isinstance(thing, Agent if kind == "agent" else Benchmark):
        what = f"{kind} {name!r} is none: its plugin made a {type(thing).__name__}"
        raise UserError(what, where=f"plugin {entries[name].plugin!r}")
    return thing


def _evaluators(benchmark: Benchmark, request: EvalRequest) -> dict[Phase, Evaluator]:
    train = benchmark.evaluator("train", request.train_seed)
    test = benchmark.evaluator(request.split, request.seed)
    return {"training": train, "probes": train, "test": test}
