"""How the agent `micro` is set up: what the command line says, checked, and the fixed numbers."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from auto_research.errors import UserError

if TYPE_CHECKING:
    from auto_research.agent_research.agents.micro.agent import MicroAgent


class Options(BaseModel):
    """What the user may choose; `checkpoint` is a folder that training wrote."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    checkpoint: Path
    temperature: float = Field(default=0.0, ge=0.0, le=10.0)
    device: str = "cpu"
    threads: int = Field(default=1, ge=1)  # of torch, on a CPU


class Limits(BaseModel):
    """The fixed numbers of an episode."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    words: int = Field(default=110, ge=1)  # that the model may write
    errors: int = Field(default=9, ge=1)  # answers `err` that end it
    skills: int = Field(default=2, ge=0)  # that stand before the task, the best that fit


def read_options(given: Mapping[str, str]) -> Options:
    """The options by name, as texts. Raises UserError for the first that is wrong or missing."""
    try:
        return Options.model_validate(given)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
    place = "".join(f"--{str(part).replace('_', '-')}" for part in first["loc"])
    if first["type"] == "missing":
        raise UserError("agent 'micro' needs a trained model", mend=f"give {place} DIR") from None
    if first["type"] == "extra_forbidden":
        raise UserError(f"agent 'micro' takes no {place}", mend="it is for --agent llm") from None
    raise UserError(str(first["msg"]), where=place) from None


def opened(options: Options) -> MicroAgent:
    """The agent with the checkpoint loaded. Raises UserError without torch or a checkpoint."""
    try:
        import torch
    except ImportError:
        raise UserError(
            "agent 'micro' needs torch, which is not installed",
            mend="pip install 'auto-research[train]'",
        ) from None
    from auto_research.agent_research.agents.micro.agent import MicroAgent
    from auto_research.agent_research.agents.micro.checkpoint import content_hash, load

    torch.set_num_threads(options.threads)
    policy = load(options.checkpoint, options.device)
    return MicroAgent(policy, options.temperature, told=content_hash(options.checkpoint))
