"""What run.yaml and metrics.json must hold before a page is made of them.

What is there must be of its type; it need not all be there, since older runs and unfinished ones
hold less.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel, StrictFloat, StrictInt, StrictStr, ValidationError, create_model

from auto_research.errors import UserError
from auto_research.reporting.words import METRICS

_Number = StrictFloat  # of which a whole number is one, and a bool none
_Phases = dict[str, _Number]


class _Figure(BaseModel):
    value: _Number | None = None
    low: _Number | None = None
    high: _Number | None = None


_FIGURES: Any = dict.fromkeys(METRICS, (_Figure | None, None))
_Figures = create_model("_Figures", **_FIGURES)


class _Spending(BaseModel):
    units_by_kind: dict[str, dict[str, StrictInt]] = {}
    episodes: _Phases = {}
    steps: _Phases = {}
    tokens: _Phases = {}
    model_calls: _Phases = {}


class _Telemetry(BaseModel):
    by_phase: dict[str, _Phases] = {}


class _Metrics(BaseModel):
    metrics: _Figures | None = None  # type: ignore[valid-type]
    spending: _Spending | None = None
    telemetry: _Telemetry = _Telemetry()


class _Config(BaseModel):
    method: StrictStr | dict[str, Any]
    budget: Any


def check_config(config: Mapping[str, Any], where: str) -> None:
    """Raises UserError, naming the key, unless a page can be made of this run.yaml."""
    _check(_Config, config, "no configuration of a run", where)


def check_metrics(metrics: object, where: str) -> None:
    """Raises UserError, naming the key, unless a page can be made of this metrics.json."""
    _check(_Metrics, metrics, "no metrics", where)


def _check(kind: type[BaseModel], data: object, what: str, where: str) -> None:
    try:
        kind.model_validate(data)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = ".".join(map(str, first["loc"]))
        told = f"{place}: {first['msg']}" if place else first["msg"]
        raise UserError(f"{what}: {told}", where=where) from None
