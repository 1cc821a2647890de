"""A trained model on disk: a folder with config.json and the weights that it names.

config.json is replaced last and whole, and holds the weights' hash, so that a kill at any moment
leaves the old checkpoint or the new one, and a torn or swapped file is found when it is loaded.
The same model gives the same bytes.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

import torch

from auto_research.agent_research.agents.micro.model import Model, Shape
from auto_research.agent_research.agents.micro.vocabulary import Vocabulary
from auto_research.agent_research.durable import write_atomic
from auto_research.errors import UserError

CONFIG = "config.json"
_FORMAT = 1


@dataclass(frozen=True)
class Policy:
    """A model and the words that its numbers stand for."""

    model: Model
    vocabulary: Vocabulary


def save(policy: Policy, folder: Path) -> str:
    """Write the checkpoint, over an older one if there is one; returns its content hash."""
    weights = _bytes_of(policy.model)
    digest = hashlib.sha256(weights).hexdigest()
    config = {
        "format": _FORMAT,
        "shape": asdict(policy.model.shape),
        "vocabulary": policy.vocabulary.to_json(),
        "weights": _weights_name(digest),
        "sha256": digest,
    }
    folder.mkdir(parents=True, exist_ok=True)
    write_atomic(folder / _weights_name(digest), weights)
    text = json.dumps(config, indent=1, sort_keys=True) + "\n"
    write_atomic(folder / CONFIG, text.encode())
    for path in folder.glob("weights-*"):
        if path.name != _weights_name(digest):
            os.unlink(path)
    return content_hash(folder)


def content_hash(folder: Path) -> str:
    """Hash of all that a checkpoint is, 16 hex digits. Raises UserError if there is none."""
    return hashlib.sha256(_read(folder / CONFIG)).hexdigest()[:16]


def load(folder: Path, device: str = "cpu") -> Policy:
    """The policy on `device`. Raises UserError for a folder without a whole checkpoint."""
    try:
        config = json.loads(_read(folder / CONFIG))
        if not isinstance(config, Mapping) or config.get("format") != _FORMAT:
            raise ValueError("of another format")
        vocabulary = Vocabulary.from_json(config["vocabulary"])
        model = Model(Shape(**config["shape"]))
        weights = _read(folder / Path(config["weights"]).name)
        if hashlib.sha256(weights).hexdigest() != config["sha256"]:
            raise ValueError("the weights are not those that belong to it")
        if model.shape.words != len(vocabulary.words):
            raise ValueError("as many words as the model has are not in its vocabulary")
        state = torch.load(io.BytesIO(weights), map_location="cpu", weights_only=True)
        model.load_state_dict(state)
        if not all(bool(part.isfinite().all()) for part in model.parameters()):
            raise ValueError("weights that are no numbers")
    except (ValueError, KeyError, TypeError, RuntimeError, EOFError) as error:
        raise _broken(folder, f"{type(error).__name__}: {error}") from None
    try:
        return Policy(model.to(device).eval(), vocabulary)
    except (RuntimeError, AssertionError) as error:
        raise UserError(f"torch has no device {device!r}: {error}") from None


def _bytes_of(model: Model) -> bytes:
    state = {name: part.detach().cpu().clone() for name, part in model.state_dict().items()}
    content = io.BytesIO()
    torch.save(state, content)
    return content.getvalue()


def _weights_name(digest: str) -> str:
    return f"weights-{digest[:16]}.pt"


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise UserError(
            f"no checkpoint of the agent 'micro': {error.strerror}",
            where=str(path),
            mend="train one with `auto-research train`",
        ) from None


def _broken(folder: Path, why: str) -> UserError:
    return UserError(
        f"the checkpoint is broken: {why}",
        where=str(folder),
        mend="train it again, or go back to another one",
    )
