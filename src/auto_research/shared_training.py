"""Train once: runs that differ in their test stream alone start from copies of one training.

Draws of the training phase depend on the train seed only, so its rows, library and operator
states are the same in all of them. The training is a run directory that stops where the test
would begin. A run that starts from a copy goes on as a resumed run does, and is equal, byte for
byte, to one that trained for itself; every unit of the training stands in its own rows.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from dataclasses import replace
from pathlib import Path

from auto_research.agent_research.budget import Phase
from auto_research.agent_research.config import RunConfig
from auto_research.agent_research.durable import sync_directory
from auto_research.agent_research.method import TEXTS
from auto_research.agent_research.metrics import Metrics
from auto_research.agent_research.run import RunDir
from auto_research.agent_research.runner import Progressed
from auto_research.agent_research.store import LIBRARY_FILE
from auto_research.errors import UserError
from auto_research.evaluate import Evaluation

_COPIED = ("episodes.jsonl", "attempts.jsonl", LIBRARY_FILE)


def training_part(config: RunConfig) -> RunConfig:
    """`config` without what decides the test alone: equal in all runs that share a training."""
    method = {key: value for key, value in config.method.items() if key not in TEXTS}
    return replace(
        config,
        method={"name": "training", **method},
        seed=0,
        split="test",
        episodes=0,
        frozen=False,
        test_feedback="own",
    )


def training_key(config: RunConfig) -> str:
    """Names the training of a run by its content, 16 hex digits."""
    text = json.dumps(training_part(config).to_json(), sort_keys=True, allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def run_from_training(
    evaluation: Evaluation,
    path: Path,
    trainings: Path,
    *,
    workers: int = 1,
    progressed: Progressed = lambda phase, count: None,
) -> Metrics:
    """Carry a run out in `path`, or go on with it, from the training that `trainings` keeps.

    The training is run first where it is missing or broken off. Raises what `Evaluation.run` does.
    """
    if not evaluation.train or (path / "run.yaml").exists():
        resume = (path / "run.yaml").exists()
        return evaluation.run(path, workers=workers, resume=resume, progressed=progressed)
    training = trainings / training_key(evaluation.config)
    alone = replace(evaluation, config=training_part(evaluation.config))
    alone.train_only(training, workers=workers, progressed=progressed)
    _start_from(training, path, evaluation.config)

    def rest(phase: Phase, count: int) -> None:
        if phase == "test":  # the training has been told of
            progressed(phase, count)

    return evaluation.run(path, workers=workers, resume=True, progressed=rest)


def _start_from(training: Path, path: Path, config: RunConfig) -> None:
    """Make the run `path` out of a finished training; a kill leaves all of it or nothing."""
    copy = path.with_name(path.name + ".copy")
    with RunDir.open(training, write=True):
        shutil.rmtree(copy, ignore_errors=True)  # of a killed process
        with RunDir.create(copy, config.to_json()):
            for name in _COPIED:
                if (training / name).exists():
                    shutil.copyfile(training / name, copy / name)
                    _sync(copy / name)
        sync_directory(copy)
        try:
            os.rename(copy, path)
        except OSError as error:
            raise UserError(
                f"no run can be made there: {error.strerror}", where=str(path)
            ) from None
        sync_directory(path.parent)


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
