"""A start that a model gives itself: it goes on to learn from what it did with success.

The paper's self-distillation (arXiv 2512.17102, ablation of the initialisation): an early
checkpoint samples the scenarios of the expert's demonstrations under the arm's own method, the
judge turns down what failed, and the first stage goes on with the rest in the expert's place.
As many episodes are sampled as the expert gives demonstrations (interpretation: no number is
published).
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from auto_research.agent_research.agents.micro.agent import MicroAgent
from auto_research.agent_research.budget import Budget
from auto_research.agent_research.chain import ChainJob, ChainOutcome
from auto_research.agent_research.groups import test_jobs
from auto_research.agent_research.library import LibraryView
from auto_research.agent_research.workers import Workplace
from auto_research.errors import UserError
from auto_research.evaluate import Evaluation, prepare
from auto_research.furnishing import EvalRequest
from auto_research.plugins import Registry
from auto_research.training.backends import Progress, Told, TrainRequest
from auto_research.training.demonstrations import Demonstration, export, stream_of
from auto_research.training.local import STARTS
from auto_research.training.local_config import LocalConfig
from auto_research.training.sft import sft


def own_start(
    request: TrainRequest,
    config: LocalConfig,
    start: Path,
    steps: int,
    registry: Registry,
    told: Told,
) -> Path:
    """The checkpoint after `steps` on the successes of the checkpoint `start`.

    What is there already is taken as it is. Raises UserError if there was no success.
    """
    starts = request.path.parent / STARTS
    successes = starts / f"own-{start.name}-{request.method.content_hash()[:8]}.jsonl"
    if not successes.exists():
        found = list(_successes(request, config, start, registry, told))
        if not found:
            why = f"the early start {start.name} succeeded at nothing: there is nothing to learn"
            raise UserError(why, mend="give it more of the first stage's steps")
        export(found, successes)
    return sft(
        config.sft.model_copy(update={"steps": steps}),
        benchmark=request.benchmark,
        options=request.benchmark_options,
        seed=request.seed if config.sft_seed is None else config.sft_seed,
        out=starts,
        device=config.device,
        told=told,
        start=start,
        demonstrations=successes,
    )


def _successes(
    request: TrainRequest, config: LocalConfig, start: Path, registry: Registry, told: Told
) -> Iterator[Demonstration]:
    stream = stream_of(request.seed if config.sft_seed is None else config.sft_seed)
    asked = EvalRequest(
        request.method,
        benchmark=request.benchmark,
        agent="micro",
        episodes=config.sft.demonstrations,
        seed=stream,
        train_scenarios=0,
        split="train",
        agent_options={
            "checkpoint": str(start),
            "temperature": str(config.rl.temperature),
            "device": config.device,
            "threads": str(config.threads),
        },
    )
    evaluation, done = prepare(asked, registry), 0
    here = evaluation.open_workplace()
    assert isinstance(here.agent, MicroAgent)
    decode = here.agent.policy.vocabulary.decode
    for outcome in _chains(evaluation, here, stream):
        done += len(outcome.rows)
        told(Progress("own", done, evaluation.config.episodes))
        for episode, row in zip(outcome.episodes, outcome.rows, strict=True):
            said: Any = episode.evidence
            if row.success and said:
                prompt, tokens = (tuple(decode(said[part])) for part in ("prompt", "tokens"))
                yield Demonstration(prompt, tokens, tuple(said["mask"]), "own", row.task)


def _chains(evaluation: Evaluation, here: Workplace, seed: int) -> Iterator[ChainOutcome]:
    """Each scenario once, its library empty at first, many scenarios at a time."""
    units = evaluation.config.units_per_episode
    template = ChainJob("", seed, "test", 0, None, 0, (), (), {}, Budget(units=units), units)
    jobs = list(test_jobs(evaluation.test, LibraryView(), template, 0))
    try:
        for first in range(0, len(jobs), MicroAgent.test_batch):
            yield from here.run(jobs[first : first + MicroAgent.test_batch])
    finally:
        here.close()
