"""The backend `local`: both of SAGE's stages (arXiv 2512.17102, section 3) on this machine.

First a supervised start from an expert's demonstrations, then GRPO over the method's own chains:
its rollout asks for them, its retrieval and update give the agent its skills, its reward credits
them, and after each batch the model takes a step. The training is the training phase of an
ordinary run, and the evaluation its test phase: rows, library, ledger and report are the same.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import torch

from auto_research.agent_research.agents.micro.agent import MicroAgent
from auto_research.agent_research.agents.micro.checkpoint import content_hash, save
from auto_research.agent_research.chain import ChainJob
from auto_research.agent_research.groups import test_jobs
from auto_research.agent_research.library import view_of
from auto_research.agent_research.method import Method
from auto_research.agent_research.metrics import Metrics
from auto_research.agent_research.workers import Workplace
from auto_research.benchmarks.base import Json, world_opener
from auto_research.errors import UserError
from auto_research.evaluate import Evaluation, prepare
from auto_research.furnishing import EvalRequest
from auto_research.plugins import Registry
from auto_research.training.backends import Progress, Told, Trained, TrainRequest
from auto_research.training.figures import chain_figures
from auto_research.training.local_config import LocalConfig, read_local_config
from auto_research.training.log import TrainingLog
from auto_research.training.policy_learner import PolicyLearner
from auto_research.training.trainable import require_trainable

STARTS = "starts"  # beside the runs: the first stage's checkpoints, shared by equal ones
MODEL = "model"  # in a run's directory: the trained checkpoint


class LocalBackend:
    """Trains the agent `micro`; nothing leaves this machine."""

    name = "local"
    benchmark = "workshop-hid"

    def __init__(self, registry: Registry) -> None:
        self.registry = registry

    def train(self, request: TrainRequest, told: Told) -> Trained:
        """Both stages and the test. Raises UserError."""
        if request.agent not in ("", "micro"):
            raise UserError(
                f"backend 'local' trains no agent {request.agent!r}", mend="--agent micro"
            )
        require_trainable(request.method, self.registry, shared_library=True)
        config = read_local_config(request.config, request.config_path)
        set_threads(config)
        if request.dry_run:
            return Trained("planned", request.path, details=self._planned(request, config))
        start = started(request, config, told)
        training = _Training(request, config, start, self.registry, told)
        metrics = training.run()
        run = training.evaluation.config
        details: dict[str, Json] = {
            "seed": run.seed,
            "train_seed": run.train_seed,
            "episodes": run.episodes,
            "budget": {"units": run.budget_units, "run_units": run.run_units},
            "telemetry": metrics.telemetry,
            "spending": metrics.spending,
        }
        return Trained("finished", request.path, request.path / MODEL, metrics.metrics, details)

    def _planned(self, request: TrainRequest, config: LocalConfig) -> dict[str, Json]:
        rl = config.rl
        return {
            "method": request.method.name,
            "iterations": rl.iterations,
            "groups": rl.iterations * rl.groups,
            "optimizer_steps": rl.iterations * rl.minibatches,
            "test_episodes": config.test.episodes,
            "sft_steps": 0 if config.start else config.sft.steps,
        }


def in_batches(method: Method, groups: int) -> Method:
    """`method` with batches of `groups` where its rollout lets one choose: a batch is a step of
    the model here, and what a rollout gives at once is not cut."""
    rollout = method.rollout
    if "groups_per_batch" not in type(rollout.settings).model_fields:
        return method
    settings = rollout.settings.model_copy(update={"groups_per_batch": groups})
    return replace(method, rollout=replace(rollout, settings=settings))


def set_threads(config: LocalConfig) -> None:
    """How many threads torch takes for one operation, here and from now on."""
    torch.set_num_threads(config.threads)


def started(request: TrainRequest, config: LocalConfig, told: Told) -> Path:
    """The checkpoint that the second stage begins from: the one that is named, or the first
    stage's, which is made once for all trainings of an equal config that lie side by side."""
    if config.start is not None:
        return config.start
    from auto_research.training.sft import sft

    seed = request.seed if config.sft_seed is None else config.sft_seed
    return sft(
        config.sft,
        benchmark=request.benchmark,
        options=request.benchmark_options,
        seed=seed,
        out=request.path.parent / STARTS,
        device=config.device,
        told=told,
    )


class _Training:
    """One run: its evaluation, its workplace, and the learner that goes with it."""

    def __init__(
        self,
        request: TrainRequest,
        config: LocalConfig,
        start: Path,
        registry: Registry,
        told: Told,
    ) -> None:
        self.request, self.config, self.told = request, config, told
        rl, test, options = config.rl, config.test, request.benchmark_options
        asked = EvalRequest(
            in_batches(request.method, rl.groups),
            benchmark=request.benchmark,
            agent="micro",
            episodes=test.episodes,
            seed=test.seed,
            train_seed=request.seed,
            train_scenarios=rl.iterations * rl.groups,
            split=test.split,
            exclude=options.exclude,
            data_dir=options.data_dir,
            agent_options={
                "checkpoint": str(start),
                "device": config.device,
                "threads": str(config.threads),
            },
            unsafe_worlds=options.unsafe_worlds,
        )
        self.evaluation = self._evaluation(prepare(asked, registry), content_hash(start))
        self.workplace = self.evaluation.open_workplace()
        agent = self.workplace.agent
        assert isinstance(agent, MicroAgent)
        self.agent = agent
        self.agent.temperature = rl.temperature
        benchmark = self.evaluation.benchmark
        self._validation = benchmark.scenarios(
            "validation", request.seed, config.validation.scenarios
        )
        self._judging = Workplace(
            agent,
            request.method.build(registry),
            lambda: {"test": benchmark.evaluator("validation", request.seed)},
            world_opener(benchmark),
        )

    def _evaluation(self, evaluation: Evaluation, start: str) -> Evaluation:
        """The evaluation under a config that says how its agent's model is made."""
        made = self.config.model_dump(mode="json", exclude={"start", "device", "threads", "test"})
        agent = {**evaluation.config.agent_config, "start": start, "training": made}
        agent.pop("checkpoint")
        return replace(evaluation, config=replace(evaluation.config, agent_config=agent))

    def run(self) -> Metrics:
        """Train, then test."""
        request = self.request
        log = TrainingLog(request.path, self.config.rl.iterations, self.told)
        learner = PolicyLearner(
            self.agent, self.config, request.seed, request.path / "learner", self._validate, log
        )
        counted = {"test": 0}

        def progressed(phase: str, count: int) -> None:
            if phase == "test":
                counted[phase] += count
                self.told(Progress("test", counted[phase], self.evaluation.config.episodes))

        try:
            metrics = self.evaluation.run(
                request.path,
                resume=request.resume,
                progressed=progressed,
                at=self.workplace,
                learner=learner,
            )
            save(self.agent.policy, request.path / MODEL)
        finally:
            log.close()
            self._judging.close()
            self.workplace.close()
        return metrics

    def _validate(self, now: ChainJob) -> Mapping[str, float]:
        """Figures of the model as it is, greedily, on validation scenarios; nothing is kept."""
        jobs = list(test_jobs(self._validation, view_of(now.library), now, 0))
        self.agent.temperature = 0.0
        try:
            return chain_figures(list(self._judging.run(jobs)))
        finally:
            self.agent.temperature = self.config.rl.temperature
