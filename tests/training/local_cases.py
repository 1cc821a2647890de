"""A training small enough for a test: an untrained model of few weights, and a few chains."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import torch

from auto_research.agent_research.agents.micro.checkpoint import Policy, save
from auto_research.agent_research.agents.micro.model import Model, Shape
from auto_research.agent_research.agents.micro.vocabulary import Vocabulary
from auto_research.agent_research.method import load_method
from auto_research.benchmarks.base import Json
from auto_research.benchmarks.workshop import rules
from auto_research.plugins import load_plugins
from auto_research.training.backends import Told, Trained, TrainRequest, opened_backend

WORDS = Vocabulary(
    "workshop",
    ("goto", "pick", "drop", *rules.GIVES),
    (*rules.THING_NAMES, *rules.ROOM_NAMES, *rules.STATIONS),
    ("INIT", "GOAL", "GO", ",", *rules.GIVES.values()),
)


def untrained(folder: Path, seed: int = 0) -> Path:
    """A checkpoint of a tiny model with random weights; it speaks, and makes no sense."""
    shape = Shape(len(WORDS.words), width=16, layers=1, heads=2, context=320)
    model = Model(shape, torch.Generator().manual_seed(seed))
    save(Policy(model.eval(), WORDS), folder)
    return folder


def config(start: Path, **changes: Json) -> dict[str, Json]:
    """Three iterations with a validation each."""
    parts: dict[str, Json] = {
        "start": str(start),
        "rl": {"iterations": 3, "groups": 2},
        "validation": {"every": 1, "scenarios": 2},
        "test": {"episodes": 6, "split": "validation", "seed": 7},
    }
    return parts | changes


def train(
    out: Path,
    parts: Mapping[str, Json],
    *,
    method: str = "sage-paper",
    settings: tuple[str, ...] = ("rollout.siblings=3",),
    resume: bool = False,
    dry_run: bool = False,
    told: Told = lambda progress: None,
) -> Trained:
    """What `auto-research train --backend local` does."""
    registry = load_plugins()
    request = TrainRequest(
        load_method(method, registry, settings),
        "workshop-hid",
        out,
        config=parts,
        resume=resume,
        dry_run=dry_run,
    )
    return opened_backend("local", registry).train(request, told)
