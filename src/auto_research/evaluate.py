"""Put a run together from what is installed, carry it out, and sum it up.

This is what `agent-eval` calls, and what comparisons and searches call many times.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path

from auto_research.agent_research.agents.base import Agent
from auto_research.agent_research.budget import Phase
from auto_research.agent_research.catalog import MethodSource, find
from auto_research.agent_research.config import Feedback, RunConfig
from auto_research.agent_research.method import Method, resolve_method
from auto_research.agent_research.metrics import Metrics, compute_metrics
from auto_research.agent_research.rows import EpisodeRow
from auto_research.agent_research.run import RunDir
from auto_research.agent_research.runner import Checkpoint, Progressed, Runner
from auto_research.agent_research.store import SkillStore
from auto_research.agent_research.workers import Workplace, open_workers
from auto_research.benchmarks.base import Benchmark, Evaluator, Json, Scenario, Split
from auto_research.errors import UserError
from auto_research.hookspecs import BenchmarkOptions
from auto_research.plugins import Registry, load_plugins


@dataclass(frozen=True, slots=True)
class EvalRequest:
    """What the user asked for. `episodes` is of the test stream, `units` overrides B."""

    method: Method
    benchmark: str = "planbench-mini"
    agent: str = "search"
    episodes: int = 120
    seed: int = 42
    train_seed: int = 0
    train_scenarios: int = 32
    split: Split = "test"
    exclude: tuple[str, ...] = ()
    data_dir: Path | None = None
    frozen: bool = False
    test_feedback: Feedback = "own"
    units: int | None = None
    run_units: int | None = None


@dataclass(frozen=True, slots=True)
class Furnisher:
    """Furnishes a worker process: everything is made anew there from names."""

    method: Mapping[str, Json]
    benchmark: str
    options: BenchmarkOptions
    agent: str
    split: Split
    seed: int
    train_seed: int
    test_scenarios: int
    train_scenarios: int

    def __call__(self) -> Workplace:
        registry = load_plugins()
        benchmark = find("benchmark", self.benchmark, registry.benchmarks)(self.options)
        method = resolve_method(MethodSource(self.method, "run.yaml"), registry)
        benchmark.scenarios(self.split, self.seed, self.test_scenarios)
        benchmark.scenarios("train", self.train_seed, self.train_scenarios)
        train = benchmark.evaluator("train", self.train_seed)
        test = benchmark.evaluator(self.split, self.seed)
        return Workplace(
            find("agent", self.agent, registry.agents)({}),
            method.build(registry),
            {"training": train, "probes": train, "test": test},
        )


@dataclass
class Evaluation:
    """A run that is ready to be carried out: its config, and the public tasks."""

    request: EvalRequest
    registry: Registry
    benchmark: Benchmark
    config: RunConfig
    train: Sequence[Scenario]
    test: Sequence[Scenario]

    def planned(self) -> dict[str, Json]:
        """What the run may spend at most, in episodes and units, by phase."""
        test = sum(len(s.tasks) for s in self.test)
        rollout = self.request.method.rollout.settings.model_dump()
        siblings = int(rollout.get("siblings", 0))
        length = int(rollout.get("chain_length", 0))
        training = len(self.train) * siblings * length
        units = self.config.budget_units
        return {
            "episodes": {"training": training, "test": test},
            "units_per_episode": units,
            "units_at_most": {"training": training * units, "test": test * units},
        }

    def run(
        self,
        path: Path,
        *,
        workers: int = 1,
        resume: bool = False,
        progressed: Progressed = lambda phase, count: None,
    ) -> Metrics:
        """Carry the run out in `path` and write its metrics. Raises UserError."""
        config = self.config.to_json()
        if resume:
            run_dir = RunDir.open(path, write=True)
            run_dir.check_config(config)
        else:
            run_dir = RunDir.create(path, config)
        with run_dir, SkillStore(run_dir.library_path) as store:
            self.registry.notify("run_started", run_dir=path, config=config)
            done = self._carry_out(run_dir, store, workers, progressed)
            metrics = compute_metrics(
                run_dir.rows(),
                counters=dict(done.counters),
                outside=done.outside,
            )
            run_dir.write_metrics(metrics.to_bytes())
            self.registry.notify("run_finished", run_dir=path, metrics=metrics.to_json())
        return metrics

    def _carry_out(
        self, run_dir: RunDir, store: SkillStore, workers: int, progressed: Progressed
    ) -> Checkpoint:
        request = self.request
        furnish = Furnisher(
            request.method.to_dict(),
            request.benchmark,
            _options(request),
            request.agent,
            request.split,
            request.seed,
            request.train_seed,
            len(self.test),
            len(self.train),
        )
        here = Workplace(
            _agent(self.registry, request.agent),
            request.method.build(self.registry),
            self._evaluators(),
        )
        pool = open_workers((lambda: here) if workers == 1 else furnish, workers)
        runner = Runner(
            config=self.config,
            operators=request.method.build(self.registry),
            agent=here.agent,
            workers=pool,
            evaluators=lambda phase: here.evaluators[phase],
            store=store,
            run_dir=run_dir,
            train=self.train,
            test=self.test,
            progressed=progressed,
            notify=self._notify,
        )
        try:
            return runner.run()
        finally:
            pool.close()
            here.close()

    def _evaluators(self) -> dict[Phase, Evaluator]:
        train = self.benchmark.evaluator("train", self.request.train_seed)
        test = self.benchmark.evaluator(self.request.split, self.request.seed)
        return {"training": train, "probes": train, "test": test}

    def _notify(self, row: EpisodeRow) -> None:
        self.registry.notify("episode_finished", row=row.to_json())


def prepare(request: EvalRequest, registry: Registry) -> Evaluation:
    """Check the request against what is installed and fetch the tasks. Raises UserError."""
    benchmark = find("benchmark", request.benchmark, registry.benchmarks)(_options(request))
    agent = _agent(registry, request.agent)
    agent.close()
    if request.episodes < 1:
        raise UserError(f"{request.episodes} episodes asked for", mend="ask for at least 1")
    trains = request.method.rollout.use != "none" and request.train_scenarios > 0
    train = (
        benchmark.scenarios("train", request.train_seed, request.train_scenarios) if trains else ()
    )
    test = _first(
        benchmark.scenarios(request.split, request.seed, math.ceil(request.episodes / 3)),
        request.episodes,
    )
    units = benchmark.units_per_episode()
    config = RunConfig(
        method=request.method.to_dict(),
        method_hash=request.method.content_hash(),
        benchmark=benchmark.name,
        benchmark_hash=benchmark.content_hash(),
        agent=request.agent,
        seed=request.seed,
        train_seed=request.train_seed,
        episodes=request.episodes,
        train_scenarios=len(train),
        budget_units=request.units or units,
        units_per_episode=units,
        version=version("auto-research"),
        code_hash=code_hash(),
        split="validation" if request.split == "validation" else "test",
        exclude=request.exclude,
        data_dir=str(request.data_dir or ""),
        frozen=request.frozen,
        test_feedback=request.test_feedback,
        run_units=request.run_units,
    )
    return Evaluation(request, registry, benchmark, config, train, test)


def code_hash() -> str:
    """Hash of the harness's own source files: a resumed run must not mix two versions."""
    digest = hashlib.sha256()
    root = Path(__file__).parent
    for path in sorted(root.rglob("*.py*")):
        if path.suffix in (".py", ".txt"):
            digest.update(path.relative_to(root).as_posix().encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()[:16]


def _first(scenarios: Sequence[Scenario], episodes: int) -> list[Scenario]:
    """The scenarios that hold the first `episodes` tasks, the last one cut where they end."""
    kept: list[Scenario] = []
    for scenario in scenarios:
        if episodes <= 0:
            break
        kept.append(replace(scenario, tasks=scenario.tasks[:episodes]))
        episodes -= len(scenario.tasks)
    return kept


def _options(request: EvalRequest) -> BenchmarkOptions:
    return BenchmarkOptions(request.data_dir, request.exclude)


def _agent(registry: Registry, name: str) -> Agent:
    factory: Callable[[Mapping[str, str]], Agent] = find("agent", name, registry.agents)
    return factory({})
