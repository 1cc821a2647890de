"""The config of the backend `local`: sizes, steps and rules, checked as a whole."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from auto_research.benchmarks.base import Json, Split
from auto_research.errors import UserError, did_you_mean
from auto_research.training.grpo import Aggregation
from auto_research.training.sft import SftConfig


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Rl(_Part):
    """The second stage. An iteration is at least `groups` groups and `minibatches` steps.

    `temperature` is that of the samples. The clipping and the mean are those of `grpo.Objective`.
    """

    iterations: int = Field(default=80, ge=0)
    groups: int = Field(default=12, ge=1)
    minibatches: int = Field(default=2, ge=1)
    learning_rate: float = Field(default=1.5e-4, gt=0)
    clip_low: float = Field(default=0.2, gt=0, lt=1)
    clip_high: float = Field(default=0.2, gt=0)
    aggregation: Aggregation = "sequence-mean"
    kl_weight: float = Field(default=0.0, ge=0)
    max_norm: float = Field(default=1.0, gt=0)
    temperature: float = Field(default=1.0, gt=0)


class Validation(_Part):
    """What is measured while training, on validation scenarios and greedily.

    `keep` is the model that the training ends with: the `last`, or the `best` SGC in validation
    (of equals the first). With `patience` training stops once that many in a row were no better.
    """

    every: int = Field(default=20, ge=1)
    scenarios: int = Field(default=60, ge=1)
    keep: Literal["last", "best"] = "best"
    patience: int = Field(default=0, ge=0)


class Test(_Part):
    """The evaluation after training: the run's test phase."""

    episodes: int = Field(default=900, ge=1)
    seed: int = Field(default=42, ge=0)
    split: Split = "test"


class LocalConfig(_Part):
    """All of it. `start` is a checkpoint to begin from, in place of the first stage.

    `sft_seed` names the first stage's draws (default: the training's seed).
    """

    start: Path | None = None
    sft: SftConfig = SftConfig()
    sft_seed: int | None = Field(default=None, ge=0)
    rl: Rl = Rl()
    validation: Validation = Validation()
    test: Test = Test()
    device: str = "cpu"
    threads: int = Field(default=1, ge=1)

    @model_validator(mode="after")
    def _something_to_do(self) -> Self:
        if self.validation.patience and self.validation.every > max(self.rl.iterations, 1):
            raise ValueError("patience needs validations: validation.every is above rl.iterations")
        return self


def read_local_config(config: Mapping[str, Json], where: Path | None) -> LocalConfig:
    """The config. Raises UserError for the first thing that is wrong."""
    try:
        return LocalConfig.model_validate(dict(config))
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
    name = ".".join(map(str, first["loc"]))
    place = f"{where or 'config'}" + (f", key {name!r}" if name else "")
    if first["type"] == "extra_forbidden":
        known = _keys(first["loc"][:-1])
        raise UserError(
            f"there is no key {name!r}",
            where=place,
            mend=did_you_mean(str(first["loc"][-1]), known),
        )
    raise UserError(first["msg"].removeprefix("Value error, "), where=place)


def _keys(path: tuple[int | str, ...]) -> list[str]:
    """The keys that may stand at `path`."""
    part: type[BaseModel] = LocalConfig
    for key in path:
        found = part.model_fields[str(key)].annotation
        if not (isinstance(found, type) and issubclass(found, BaseModel)):
            return []
        part = found
    return sorted(part.model_fields)
