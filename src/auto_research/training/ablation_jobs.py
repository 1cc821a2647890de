"""The jobs of an ablation: first stages, trainings, and tests of a trained model under a method.

Each runs in a process of its own. A training is exactly what `auto-research train` does; a first
stage is a job of its own because all trainings of its seed begin from it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from auto_research.agent_research.agents.micro.checkpoint import CONFIG
from auto_research.evaluate import prepare
from auto_research.furnishing import EvalRequest
from auto_research.plugins import Registry, load_plugins
from auto_research.training.ablation_own import own_start
from auto_research.training.ablation_plan import Arm, Plan
from auto_research.training.backends import Progress, Told, TrainRequest
from auto_research.training.local import MODEL, LocalBackend, set_threads, started
from auto_research.training.local_config import LocalConfig, read_local_config

# What takes seconds to import, and every job's process needs.
PRELOAD = (__name__, "torch._dynamo", "torch.utils.tensorboard")


@dataclass(frozen=True)
class Job:
    """One job. `model` is what a test tests; `own_steps` those of a start on own successes."""

    name: str
    kind: Literal["start", "train", "test"]
    request: TrainRequest
    needs: tuple[str, ...] = ()
    model: Path | None = None
    own_steps: int = 0


def run_path(plan: Plan, arm: Arm, seed: int) -> Path:
    """The directory of one arm's run with one seed."""
    return plan.directory / f"{arm.name}-seed{seed}"


def is_finished(plan: Plan, arm: Arm, seed: int) -> bool:
    """Whether the run has been carried out to its end."""
    path = run_path(plan, arm, seed)
    model = not arm.model_of and path / MODEL / CONFIG
    return (path / "metrics.json").is_file() and (not model or model.is_file())


def open_jobs(plan: Plan) -> list[Job]:
    """What is left to be done, seed by seed, in order; each job's needs stand before it."""
    jobs: dict[str, Job] = {}
    for seed in plan.seeds:
        for arm in plan.arms:
            if not is_finished(plan, arm, seed):
                jobs |= {job.name: job for job in _jobs(plan, arm, seed)}
    return [replace(job, needs=tuple(n for n in job.needs if n in jobs)) for job in jobs.values()]


def carry_out(job: Job, told: Told) -> None:
    """Do a job, or go on with it. Raises UserError, EvaluatorError."""
    registry, request = load_plugins(), job.request
    config = read_local_config(request.config, request.config_path)
    set_threads(config)
    if job.kind == "test":
        _test(job, config, registry, told)
        return
    if job.kind == "start" or job.own_steps:
        start = started(request, config, told)
        if job.own_steps:
            start = own_start(request, config, start, job.own_steps, registry, told)
            request = replace(request, config={**request.config, "start": str(start)})
    if job.kind == "train":
        LocalBackend(registry).train(request, told)


def _jobs(plan: Plan, arm: Arm, seed: int) -> Iterator[Job]:
    """One run's job, after that of its first stage, which other runs may share."""
    path = run_path(plan, arm, seed)
    request = TrainRequest(
        method=arm.method,
        benchmark=plan.benchmark,
        path=path,
        seed=seed,
        config=arm.config.model_dump(mode="json"),
        resume=(path / "run.yaml").exists(),
    )
    if arm.model_of:
        trained = run_path(plan, plan.arm(arm.model_of), seed)
        yield Job(path.name, "test", request, (trained.name,), trained / MODEL)
    elif arm.config.start is not None:
        yield Job(path.name, "train", request)
    else:
        start, own = f"start-{_first_alike(plan, arm).name}-seed{seed}", arm.own_steps
        yield Job(start, "start", request, own_steps=own)
        yield Job(path.name, "train", request, (start,), own_steps=own)


def _first_alike(plan: Plan, arm: Arm) -> Arm:
    """The first arm that begins as this one does, which names their common start."""
    return next(
        other
        for other in plan.arms
        if not other.model_of
        and (other.config.sft, other.config.sft_seed) == (arm.config.sft, arm.config.sft_seed)
        and other.own_steps == arm.own_steps
    )


def _test(job: Job, config: LocalConfig, registry: Registry, told: Told) -> None:
    """The same test as after a training, of a model that another run has trained."""
    request, test = job.request, config.test
    asked = EvalRequest(
        request.method,
        benchmark=request.benchmark,
        agent="micro",
        episodes=test.episodes,
        seed=test.seed,
        train_seed=request.seed,
        train_scenarios=0,
        split=test.split,
        agent_options={
            "checkpoint": str(job.model),
            "device": config.device,
            "threads": str(config.threads),
        },
    )
    done = 0

    def progressed(phase: str, count: int) -> None:
        nonlocal done
        done += count
        told(Progress(phase, done, test.episodes))

    evaluation = prepare(asked, registry)
    evaluation.run(request.path, resume=request.resume, progressed=progressed)
