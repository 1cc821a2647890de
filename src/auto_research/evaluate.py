"""Put a run together from what is installed, carry it out, and sum it up.

This is what `agent-eval` calls, and what comparisons and searches call many times.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path

from auto_research.agent_research.agents.base import Agent, Configured
from auto_research.agent_research.budget import Budget, Meter
from auto_research.agent_research.checkpoint import Checkpoint
from auto_research.agent_research.config import RunConfig, code_hash
from auto_research.agent_research.learner import Learner
from auto_research.agent_research.metrics import Metrics, compute_metrics
from auto_research.agent_research.planning import planned_training
from auto_research.agent_research.rows import EpisodeRow
from auto_research.agent_research.run import RunDir
from auto_research.agent_research.runner import Progressed, Runner
from auto_research.agent_research.store import SkillStore
from auto_research.agent_research.workers import Workplace, open_workers
from auto_research.benchmarks.base import (
    Benchmark,
    Json,
    Scenario,
)
from auto_research.errors import UserError
from auto_research.furnishing import (
    EvalRequest,
    Furnisher,
    opened,
    opened_agent,
    opened_benchmark,
)
from auto_research.plugins import Registry

WORLDS = "worlds"  # in a run's directory: what was done in the worlds of the test


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
        """The episodes that are planned and the units they may spend at most, by phase.

        Probes are not among them: only a cap on the whole run bounds those.
        """
        operators = self.request.method.build(self.registry)
        episodes = {
            "training": planned_training(operators.rollout, self.train, self.config),
            "test": sum(len(scenario.tasks) for scenario in self.test),
        }
        units = self.config.budget_units
        return {
            "episodes": episodes,
            "units_per_episode": units,
            "units_at_most": {phase: count * units for phase, count in episodes.items()},
            "run_units": self.config.run_units,
        }

    def run(
        self,
        path: Path,
        *,
        workers: int = 1,
        resume: bool = False,
        progressed: Progressed = lambda phase, count: None,
        at: Workplace | None = None,
        learner: Learner | None = None,
    ) -> Metrics:
        """Carry the run out in `path` and write its metrics.

        `at` is a workplace to borrow, which stays open: one worker, and no process started.
        `learner` trains the model of the agent there while the run trains.
        Raises UserError; EvaluatorError if the sealed evaluator can no longer be started.
        """
        config = self.config.to_json()
        with _run_dir(path, config, resume) as run_dir, SkillStore(run_dir.library_path) as store:
            self.registry.notify("run_started", run_dir=path, config=config)
            with self._workplace(at) as here:
                done = self._carry_out(
                    run_dir, store, here, workers, progressed, Runner.run, learner
                )
                flags = sorted({*done.flags, *self._flags(here.agent)})
            metrics = compute_metrics(
                run_dir.rows(), counters=dict(done.counters), outside=done.outside
            )
            run_dir.write_metrics(metrics.to_bytes(flags))
            self.registry.notify("run_finished", run_dir=path, metrics=metrics.to_json())
        return metrics

    def train_only(
        self,
        path: Path,
        *,
        workers: int = 1,
        progressed: Progressed = lambda phase, count: None,
    ) -> None:
        """Carry out the training phase alone in `path`, or what is left of it there.

        Raises UserError; EvaluatorError if the sealed evaluator can no longer be started.
        """
        config = self.config.to_json()
        begun = (path / "run.yaml").exists()
        with _run_dir(path, config, begun) as run_dir, SkillStore(run_dir.library_path) as store:
            if Checkpoint.from_json(store.state()).trained:
                for row in run_dir.rows():
                    progressed(row.phase, 1)
                return
            self.registry.notify("run_started", run_dir=path, config=config)
            with self._workplace() as here:
                self._carry_out(run_dir, store, here, workers, progressed, Runner.train_only)

    def _carry_out(
        self,
        run_dir: RunDir,
        store: SkillStore,
        here: Workplace,
        workers: int,
        progressed: Progressed,
        steps: Callable[[Runner], Checkpoint],
        learner: Learner | None = None,
    ) -> Checkpoint:
        here.keep = run_dir.path / WORLDS
        furnisher = Furnisher(self.request, len(self.train), len(self.test), here.keep)
        pool = open_workers(here, furnisher, workers)
        try:
            runner = Runner(
                config=self.config,
                operators=self.request.method.build(self.registry),
                agent=here.agent,
                workers=pool,
                store=store,
                run_dir=run_dir,
                train=self.train,
                test=self.test,
                progressed=progressed,
                notify=self._notify,
                learner=learner,
            )
            try:
                return steps(runner)
            except BaseException as error:
                run_dir.append_attempts(runner.lost(here.under_way, type(error).__name__))
                raise
        finally:
            pool.close()

    def open_workplace(self) -> Workplace:
        """A workplace for this evaluation, or for one of another method on the same tasks."""
        return opened(self.request, self.registry, self.benchmark)

    @contextmanager
    def _workplace(self, at: Workplace | None = None) -> Iterator[Workplace]:
        if at is not None:
            at.operators = self.request.method.build(self.registry)
            yield at
            return
        here = self.open_workplace()
        try:
            yield here
        finally:
            here.close()

    def _flags(self, agent: Agent) -> Iterator[str]:
        """What sets the whole run apart from a plain one."""
        if agent.reads_answers:
            yield "expert"
        if self.request.test_feedback == "verdict":
            yield "test-feedback-verdict"

    def _notify(self, row: EpisodeRow) -> None:
        self.registry.notify("episode_finished", row=row.to_json())


def prepare(
    request: EvalRequest, registry: Registry, benchmark: Benchmark | None = None
) -> Evaluation:
    """Check the request against what is installed and fetch the tasks. Raises UserError.

    `benchmark` is one that an equal request has opened before, to be used again.
    """
    if benchmark is None:
        benchmark = opened_benchmark(request, registry)
    agent = opened_agent(request, registry, benchmark)
    if request.episodes < 1:
        raise UserError(f"{request.episodes} episodes asked for", mend="ask for at least 1")
    trains = request.method.rollout.use != "none" and request.train_scenarios > 0
    train = (
        benchmark.scenarios("train", request.train_seed, request.train_scenarios) if trains else ()
    )
    test = _stream(benchmark, request)
    try:
        agent.session(test[0].tasks[0], Meter(Budget()))  # an agent for other tasks says so here
    finally:
        agent.close()
    units = benchmark.units_per_episode()
    operators = request.method.build(registry)
    config = RunConfig(
        method=request.method.to_dict(),
        method_hash=request.method.content_hash(),
        benchmark=benchmark.name,
        benchmark_hash=benchmark.content_hash(),
        agent=request.agent,
        seed=request.seed,
        train_seed=request.train_seed,
        episodes=sum(len(scenario.tasks) for scenario in test),
        train_scenarios=len(train),
        budget_units=request.units or units,
        units_per_episode=units,
        version=version("auto-research"),
        code_hash=code_hash([type(agent), *map(type, operators.by_slot().values())]),
        split="validation" if request.split == "validation" else "test",
        exclude=request.exclude,
        data_dir=str(request.data_dir or ""),
        frozen=request.frozen,
        test_feedback=request.test_feedback,
        run_units=request.run_units,
        agent_config=agent.config() if isinstance(agent, Configured) else {},
    )
    return Evaluation(request, registry, benchmark, config, train, test)


def _stream(benchmark: Benchmark, request: EvalRequest) -> Sequence[Scenario]:
    """The scenarios that hold the first `episodes` tasks, the last one cut where they end."""
    limit = math.ceil(request.episodes / 3)
    while True:
        found = benchmark.scenarios(request.split, request.seed, limit)
        missing = request.episodes - sum(len(scenario.tasks) for scenario in found)
        if missing <= 0 or len(found) < limit:
            break
        limit += missing
    kept: list[Scenario] = []
    left = request.episodes
    for scenario in found:
        if left > 0:
            kept.append(replace(scenario, tasks=scenario.tasks[:left]))
            left -= len(scenario.tasks)
    if not kept:
        raise UserError(
            f"benchmark {benchmark.name!r} has no {request.split} task",
            mend="check --split, --exclude and --data-dir",
        )
    return kept


def _run_dir(path: Path, config: Mapping[str, Json], resume: bool) -> RunDir:
    """The run's directory, open for writing. A run killed before it had a config starts anew."""
    if not resume or (path.is_dir() and not (path / "run.yaml").exists()):
        return RunDir.create(path, config)
    run_dir = RunDir.open(path, write=True)
    try:
        run_dir.check_config(config)
    except BaseException:
        run_dir.close()
        raise
    return run_dir
