"""A paper's tables as data: its arms, the figures that it reports of them, and presets.

`papers/sage.yaml` is one; a file of the user's own has the same form.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from auto_research import strict_yaml
from auto_research.agent_research.method import NAME
from auto_research.errors import UserError, did_you_mean

PAPERS = Path(__file__).parent / "papers"
FIGURES = ("tgc", "sgc", "steps", "tokens")  # that papers report


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)


class Row(_Part):
    """A row of the paper's tables: shares and means; None where it tells nothing."""

    row: str
    source: str
    tgc: float | None = Field(default=None, ge=0, le=1)
    sgc: float | None = Field(default=None, ge=0, le=1)
    steps: float | None = Field(default=None, ge=0)
    tokens: float | None = Field(default=None, ge=0)

    def figures(self) -> dict[str, float | None]:
        """What it reports, by the names of `FIGURES`."""
        return {name: getattr(self, name) for name in FIGURES}


class Start(_Part):
    """What the second stage begins from, as shares of the first stage's steps.

    `expert` of them on the expert's demonstrations; after that `self` of them on what the model
    then does with success.
    """

    expert: float = Field(default=1.0, gt=0, le=1)
    own: float = Field(default=0.0, ge=0, le=1, alias="self")


class ArmSource(_Part):
    """An arm as written: a training, or with `model_of` a test of another arm's model.

    `set` changes the method as ``--set`` does; `config` is laid over the training's config.
    """

    title: str
    method: str
    set: tuple[str, ...] = ()
    config: Mapping[str, Any] = Field(default_factory=dict)
    start: Start = Start()
    model_of: str = ""
    paper: tuple[Row, ...] = ()

    @model_validator(mode="after")
    def _tests_only(self) -> Self:
        if self.model_of and (self.config or self.start != Start()):
            raise ValueError("an arm with model_of trains nothing: it has no config and no start")
        if "test" in self.config:
            raise ValueError("an arm cannot change the test, which is the same for all")
        return self


class Preset(_Part):
    """Arms (all if None are named), training seeds 0 to `seeds` - 1, and changes of the config."""

    arms: tuple[str, ...] | None = None
    seeds: int = Field(ge=1)
    config: Mapping[str, Any] = Field(default_factory=dict)


class Paper(_Part):
    """All of it. Differences are those of the arm `reference` less each other one."""

    name: str
    title: str
    citation: str
    benchmark: str
    reference: str
    presets: Mapping[str, Preset]
    arms: Mapping[str, ArmSource]

    @model_validator(mode="after")
    def _names_are_known(self) -> Self:
        for name in (self.name, *self.arms):
            if not NAME.fullmatch(name):
                raise ValueError(f"{name!r} is no name: small letters, digits, '.', '_' and '-'")
        named = [("reference", self.reference)]
        named += [(f"presets.{p}", a) for p, it in self.presets.items() for a in it.arms or ()]
        for place, name in named:
            if name not in self.arms:
                raise ValueError(f"{place} names an arm {name!r}; {did_you_mean(name, self.arms)}")
        for name, arm in self.arms.items():
            if arm.model_of and (arm.model_of not in self.arms or self.arms[arm.model_of].model_of):
                raise ValueError(f"arms.{name}.model_of names no arm that trains: {arm.model_of!r}")
        return self


def read_paper(name_or_path: str) -> Paper:
    """The paper of that name, or the one in that file (``*.yaml`` or a path). Raises UserError."""
    path = Path(name_or_path)
    if path.suffix not in (".yaml", ".yml") and len(path.parts) == 1:
        known = {file.stem: file for file in PAPERS.glob("*.yaml")}
        if name_or_path not in known:
            mend = did_you_mean(name_or_path, known)
            raise UserError(f"unknown paper {name_or_path!r}", where="--paper", mend=mend)
        path = known[name_or_path]
    data = strict_yaml.read(path)
    try:
        return Paper.model_validate(data)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
    key = ".".join(map(str, first["loc"]))
    place = f"{path}: {key}" if key else str(path)
    if first["type"] == "extra_forbidden":
        raise UserError("there is no such key", where=place)
    raise UserError(first["msg"].removeprefix("Value error, "), where=place)
