"""The files of a search as its report reads them: every field it shows is of the right type.

A search may be unfinished, its files may be damaged, and a page must not tell of what is not there.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from auto_research.agent_research.durable import whole_lines
from auto_research.errors import UserError

Count = Annotated[int, Field(ge=0)]
Hash = Annotated[str, Field(pattern="^[0-9a-f]{64}$")]  # it names files, too


@dataclass(frozen=True, slots=True)
class SearchFiles:
    """What a search left, as plain data; `result` and `ancestry` are empty while unfinished."""

    config: Mapping[str, Any]
    trials: Sequence[Mapping[str, Any]]
    result: Mapping[str, Any]
    ancestry: Mapping[str, Any]


def read_search(folder: Path) -> SearchFiles:
    """The files in `folder`. Raises UserError if one is missing or is not what a search writes."""
    try:
        config = yaml.safe_load((folder / "evolve.yaml").read_bytes())
        _check(_Config, config, "evolve.yaml")
        trials = []
        for number, text in enumerate(whole_lines(folder / "trials.jsonl"), start=1):
            trials.append(_parsed(_Trial, text, f"trials.jsonl, line {number}"))
        return SearchFiles(
            config,
            trials,
            _optional(_Result, folder / "result.json"),
            _optional(_Ancestry, folder / "lineage.json"),
        )
    except (OSError, ValueError, RecursionError, yaml.YAMLError) as error:
        told = error.strerror if isinstance(error, OSError) else error
        raise UserError(f"no search can be read there: {told}", where=str(folder)) from None


class _Part(BaseModel):
    """Says what is read; what else there is does not matter here."""

    model_config = ConfigDict(strict=True, extra="ignore", allow_inf_nan=False)


class _Use(_Part):
    use: str


class _Method(_Part):
    retrieval: _Use
    update: _Use
    reward: _Use
    rollout: _Use


class _Trial(_Part):
    trial: Count
    arm: Literal["evolution", "random"]
    generation: Count
    hash: Hash
    method: _Method
    cached: bool
    status: Literal["done", "failed"]
    reason: str
    joint: float | None
    cost: float | None
    units: dict[str, Count]
    episodes: str
    flags: list[str]

    @model_validator(mode="after")
    def _has_its_figures(self) -> _Trial:
        if self.status == "done" and (self.joint is None or self.cost is None):
            raise ValueError("a trial that is done has figures")
        return self


class _Reading(_Part):
    searched: dict[str, list[str]]
    fixed: dict[str, _Use]
    objectives: list[str]
    not_understood: list[str]


class _Config(_Part):
    benchmark: str
    seed: int
    generations: int
    population: int
    episodes: int
    train_scenarios: int
    direction: str
    reading: _Reading


class _Side(_Part):
    hash: Hash
    failed: str | None = None
    joint_success: float | None = None
    average_cost: float | None = None
    total_cost: float | None = None


class _Test(_Part):
    champion: _Side
    random_champion: _Side
    sage: _Side


class _Interval(_Part):
    value: float
    low: float
    high: float


class _Gap(_Part):
    joint_success: _Interval
    average_cost: _Interval
    total_cost: float


class _Result(_Part):
    test: _Test
    claim: dict[str, _Gap]
    verdict: list[str]


class _Origin(_Use):
    citation: str
    origin: str = Field(alias="from")


class _Origins(_Part):
    retrieval: _Origin
    update: _Origin
    reward: _Origin
    rollout: _Origin


class _Ancestor(_Part):
    hash: Hash
    arm: str
    generation: Count
    parents: list[str]
    slots: _Origins


class _Ancestry(_Part):
    ancestors: list[str]
    genomes: list[_Ancestor]

    @model_validator(mode="after")
    def _knows_its_ancestors(self) -> _Ancestry:
        if not {*self.ancestors} <= {genome.hash for genome in self.genomes}:
            raise ValueError("an ancestor is not among the genomes")
        return self


def _optional(kind: type[_Part], path: Path) -> Mapping[str, Any]:
    return _parsed(kind, path.read_bytes(), path.name) if path.is_file() else {}


def _parsed(kind: type[_Part], text: bytes, where: str) -> Mapping[str, Any]:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{where} is not JSON: {error}") from None
    return _check(kind, found, where)


def _check(kind: type[_Part], found: Any, where: str) -> Mapping[str, Any]:
    """`found` as it is. Raises ValueError with its first fault."""
    try:
        kind.model_validate(found)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"]))[:60]
        at = f"{where}, {place}" if place else where
        raise ValueError(f"{at}: {first['msg']}") from None
    checked: Mapping[str, Any] = found
    return checked
