"""The first stage: a model learns from demonstrations, word by word.

    L = - mean over words of the agent, in a batch, of log pi(word | all before it)

Prompts and the world's answers are read and not learned. Batches hold sequences of like length,
shuffled anew in each epoch; the optimizer is AdamW under a linear warm-up and decay. Everything
that is drawn comes from the seed and the step's number, so that a stage that was killed goes on
from its last checkpoint to the same bytes (on a CPU, with as many threads).
"""

from __future__ import annotations

import fcntl
import hashlib
import io
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from pydantic import BaseModel, ConfigDict, Field

from auto_research.agent_research.agents.micro.attempt import Listening, prompt_of
from auto_research.agent_research.agents.micro.checkpoint import (
    CONFIG,
    Policy,
    content_hash,
    load,
    save,
)
from auto_research.agent_research.agents.micro.model import Model, Shape
from auto_research.agent_research.agents.micro.options import Limits
from auto_research.agent_research.agents.micro.reader import Reader
from auto_research.agent_research.agents.micro.sampler import Request, sample
from auto_research.agent_research.catalog import find
from auto_research.agent_research.durable import write_atomic
from auto_research.benchmarks.base import Benchmark, Evaluator, Json, Submission, Worldly
from auto_research.errors import UserError
from auto_research.hookspecs import BenchmarkOptions
from auto_research.plugins import load_plugins
from auto_research.rng import derive
from auto_research.training.backends import Progress, Told
from auto_research.training.demonstrations import (
    WORKSHOP,
    Demonstration,
    Mixture,
    demonstrate,
    imported,
)
from auto_research.training.grpo import finite_step
from auto_research.training.lessons import Batches, lesson, lesson_loss

STATE = "state.pt"  # in the folder while the stage is under way
RECORD = "sft.json"  # what the stage was asked for, and how it went
_UNITS = 10_000  # of an episode in validation: words and errors are what limits it


class SftConfig(BaseModel):
    """The first stage. `demonstrations` are drawn in the `mixture` of styles; a step takes `batch`
    of them.

    The learning rate rises over `warmup` steps and falls to `last_rate` of itself at the end. Every
    `validate_every` steps the share of validation tasks solved (TGC; greedily, without a library)
    is measured, and the stage ends once it is `stop_at` or more; else after `steps`. A checkpoint
    to resume from is kept every `save_every` steps. `width`, `layers`, `heads` and `context` are
    the model's.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    steps: int = Field(default=1500, ge=1)
    batch: int = Field(default=16, ge=1)
    demonstrations: int = Field(default=20_000, ge=1)
    mixture: Mixture = Mixture()
    learning_rate: float = Field(default=1.6e-3, gt=0)
    warmup: int = Field(default=50, ge=0)
    last_rate: float = Field(default=0.1, ge=0, le=1)
    weight_decay: float = Field(default=0.01, ge=0)
    max_norm: float = Field(default=1.0, gt=0)
    stop_at: float | None = Field(default=0.45, gt=0, le=1)
    validate_every: int = Field(default=100, ge=1)
    validation_scenarios: int = Field(default=40, ge=1)
    save_every: int = Field(default=500, ge=1)
    width: int = Field(default=96, ge=2)
    layers: int = Field(default=3, ge=1)
    heads: int = Field(default=4, ge=1)
    context: int = Field(default=512, ge=2)

    def rate(self, step: int) -> float:
        """The learning rate of a step (from 0)."""
        risen = min(1.0, (step + 1) / self.warmup) if self.warmup else 1.0
        left = 1 - step / self.steps
        return self.learning_rate * risen * (self.last_rate + (1 - self.last_rate) * left)


def sft(
    config: SftConfig,
    *,
    benchmark: str,
    seed: int,
    out: Path,
    options: BenchmarkOptions | None = None,
    device: str = "cpu",
    told: Told = lambda progress: None,
    start: Path | None = None,
    demonstrations: Path | None = None,
) -> Path:
    """Carry the stage out in a folder below `out`, named by all that decides its result; the folder
    holds the checkpoint. One that is there already is returned at once, one that was broken off is
    gone on with, and one that another process works on is waited for.

    `start` is a checkpoint to go on from (default: an untrained model), `demonstrations` a file
    (default: the benchmark's expert). Raises UserError.
    """
    opened: Benchmark = find("benchmark", benchmark, load_plugins().benchmarks)(
        options or BenchmarkOptions()
    )
    asked: dict[str, Json] = {
        "config": config.model_dump(mode="json"),
        "benchmark": opened.name,
        "content": opened.content_hash(),
        "seed": seed,
        "start": None if start is None else content_hash(start),
        "demonstrations": None if demonstrations is None else _hash_of(demonstrations),
    }
    digest = hashlib.sha256(json.dumps(asked, sort_keys=True).encode()).hexdigest()[:8]
    folder = out / f"sft-{benchmark}-seed{seed}-{digest}"
    folder.mkdir(parents=True, exist_ok=True)
    with _alone(folder):
        if not (folder / CONFIG).exists():
            if demonstrations is None:
                shown = demonstrate(opened, config.demonstrations, seed, config.mixture)
                learned, rejected = shown.kept, shown.rejected
            else:
                learned, rejected = imported(demonstrations), 0
            stage = _Stage(config, opened, seed, folder, _policy(config, seed, start, device))
            told(Progress("demonstrations", len(learned), len(learned) + rejected))
            stage.run(learned, told)
            record = {**asked, "learned": len(learned), "rejected": rejected, **stage.record()}
            write_atomic(folder / RECORD, (json.dumps(record, indent=1) + "\n").encode())
            save(stage.policy, folder)
            (folder / STATE).unlink(missing_ok=True)
    return folder


def solved(
    policy: Policy, benchmark: Benchmark, judge: Evaluator, seed: int, scenarios: int
) -> float:
    """TGC on validation scenarios: the share of tasks that `judge` accepts, each attempted once,
    greedily and without a skill."""
    assert isinstance(benchmark, Worldly)
    limits, vocabulary = Limits(), policy.vocabulary
    drawn = benchmark.scenarios("validation", seed, scenarios)
    tasks = [task for scenario in drawn for task in scenario.tasks]
    worlds = [benchmark.environment(task) for task in tasks]
    requests: list[Request] = []
    for task, world in zip(tasks, worlds, strict=True):
        prompt = prompt_of(task.observation["words"], (), vocabulary)
        reader = Reader(vocabulary, world.execute, {}, limits.words, limits.errors, _UNITS)
        requests.append(Request(prompt, Listening(reader), derive(seed, task.id)))
    sample(policy.model, requests, 0.0, limits.words)
    tickets = [
        judge.submit(task.id, Submission(payload=world.submission()))
        for task, world in zip(tasks, worlds, strict=True)
    ]
    return sum(judge.verdict(ticket).success for ticket in tickets) / len(tickets)


class _Stage:
    """The loop, and where it stands."""

    def __init__(
        self, config: SftConfig, benchmark: Benchmark, seed: int, folder: Path, policy: Policy
    ) -> None:
        self.config, self.benchmark, self.seed, self.policy = config, benchmark, seed, policy
        self._state = folder / STATE
        self._optimizer = torch.optim.AdamW(
            policy.model.parameters(), betas=(0.9, 0.98), weight_decay=config.weight_decay
        )
        self._step = self._skipped = 0
        self._history: list[dict[str, float]] = []
        self._restore()

    def record(self) -> Mapping[str, Any]:
        """How it went."""
        return {"steps": self._step, "skipped_steps": self._skipped, "history": self._history}

    def run(self, demonstrations: Sequence[Demonstration], told: Told) -> None:
        """Step after step, until it is over."""
        judge = self.benchmark.evaluator("validation", self.seed)
        try:
            self._run(demonstrations, judge, told)
        finally:
            judge.close()

    def _run(self, demonstrations: Sequence[Demonstration], judge: Evaluator, told: Told) -> None:
        config, model = self.config, self.policy.model
        words, context = self.policy.vocabulary, model.shape.context
        lessons = [lesson(shown, words, context) for shown in demonstrations]
        batches = Batches([len(given.tokens) for given in lessons], config.batch, self.seed)
        while not self._is_over():
            for group in self._optimizer.param_groups:
                group["lr"] = config.rate(self._step)
            loss = lesson_loss(model, [lessons[number] for number in batches.of(self._step)])
            loss.backward()
            norm = finite_step(self._optimizer, model.parameters(), config.max_norm)
            self._skipped += norm is None
            self._step += 1
            if self._step % config.validate_every == 0 or self._step == config.steps:
                self._measure(judge, loss.item(), told)
            if self._step % config.save_every == 0:
                self._keep()

    def _is_over(self) -> bool:
        target, seen = self.config.stop_at, self._history
        reached = target is not None and bool(seen) and seen[-1]["tgc"] >= target
        return reached or self._step >= self.config.steps

    def _measure(self, judge: Evaluator, loss: float, told: Told) -> None:
        config, model = self.config, self.policy.model
        model.eval()
        tgc = solved(self.policy, self.benchmark, judge, self.seed, config.validation_scenarios)
        model.train()
        figures = {"loss": round(loss, 6), "tgc": round(tgc, 6)}
        self._history.append({"step": self._step, **figures})
        told(Progress("sft", self._step, config.steps, figures))

    def _keep(self) -> None:
        state = {
            "model": self.policy.model.state_dict(),
            "optimizer": self._optimizer.state_dict(),
            **self.record(),
        }
        content = io.BytesIO()
        torch.save(state, content)
        write_atomic(self._state, content.getvalue())

    def _restore(self) -> None:
        if self._state.exists():
            state = torch.load(self._state, map_location="cpu", weights_only=True)
            self.policy.model.load_state_dict(state["model"])
            self._optimizer.load_state_dict(state["optimizer"])
            self._step, self._skipped = state["steps"], state["skipped_steps"]
            self._history = state["history"]


def _policy(config: SftConfig, seed: int, start: Path | None, device: str) -> Policy:
    if start is not None:
        return load(start, device)
    generator = torch.Generator().manual_seed(derive(seed, "sft", "weights").getrandbits(63))
    sizes = (config.width, config.layers, config.heads, config.context)
    try:
        model = Model(Shape(len(WORKSHOP.words), *sizes), generator)
    except ValueError as error:
        raise UserError(str(error), where="sft") from None
    return Policy(model.to(device), WORKSHOP)


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Hold the folder; whoever else wants it waits. The system frees it if this process dies."""
    descriptor = os.open(folder / ".lock", os.O_RDWR | os.O_CREAT, 0o644)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _hash_of(path: Path) -> str:
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()[:16]
    except OSError as error:
        raise UserError(f"demonstrations cannot be read: {error}", where=str(path)) from None
