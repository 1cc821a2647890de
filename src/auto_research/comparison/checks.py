"""What a run's files must hold before a figure of theirs counts: types, bounds, and agreement.

Every function raises UserError that names file and key.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from auto_research.agent_research import strict_json
from auto_research.agent_research.budget import PHASES, Phase
from auto_research.agent_research.method import NAME, content_hash
from auto_research.agent_research.metrics import CONTRACT_CHECKS
from auto_research.errors import UserError

_DIGEST = re.compile(r"[0-9a-f]{64}")
_NAMES = ("benchmark", "benchmark_hash", "split", "agent")
_MARKS = ("version", "code_hash")  # which older runs may lack


def checked_config(config: Mapping[str, Any], where: str) -> Mapping[str, Any]:
    """What run.yaml holds, with all that a comparison needs."""
    try:
        for key in ("seed", "train_seed", "train_scenarios"):
            whole(config, key, where)
        _above_0(config, "episodes", "episodes", where)
        for key in ("units", "units_per_episode"):
            _above_0(config["budget"], key, f"budget.{key}", where)
        marks = [config[key] for key in _MARKS if config.get(key) is not None]
        for text in (config["method"]["rollout"]["use"], *(config[key] for key in _NAMES), *marks):
            if not _is_name(text):
                raise UserError(f"{text!r} is no name", where=where)
        _check_method(config["method"], config.get("method_hash"), where)
    except (KeyError, TypeError, AttributeError) as error:
        raise UserError(f"no proper configuration of a run: {error}", where=where) from None
    return dict(config)


def _above_0(data: Mapping[str, Any], key: str, told: str, where: str) -> None:
    if whole(data, key, where) == 0:
        raise UserError(f"{told} is 0", where=where)


def _check_method(method: Mapping[str, Any], told: object, where: str) -> None:
    name = method["name"]
    if not (isinstance(name, str) and NAME.fullmatch(name)):
        raise UserError(f"{name!r} is no name of a method", where=where)
    if isinstance(told, str) and _DIGEST.fullmatch(told) and told != content_hash(method):
        raise UserError(f"method_hash is not that of the method {name}", where=where)


def phase_of(row: Mapping[str, Any], where: str) -> Phase:
    """The phase of a row."""
    for phase in PHASES:
        if row.get("phase") == phase:
            return phase
    raise UserError(f"phase is {row.get('phase')!r}", where=where)


def check_parts(row: Mapping[str, Any], where: str) -> None:
    """What a row tells in parts must make up the whole: its units, and its verdict."""
    kinds, checks = row.get("units_by_kind"), row.get("checks")
    if isinstance(kinds, dict) and _sum(kinds, where) != row["units"]:
        raise UserError(
            f"units are {row['units']}, units_by_kind make {_sum(kinds, where)}", where=where
        )
    if row.get("success") is not True:
        return
    if error := row.get("error"):
        raise UserError(f"success is true, and it broke off: {error}", where=where)
    if isinstance(checks, dict):
        for name in CONTRACT_CHECKS:
            if checks.get(name) is False:
                raise UserError(f"success is true, and {name} false", where=where)


def checked_metrics(path: Path) -> Mapping[str, Any]:
    """The parts of metrics.json that are used, present and of the right shape."""
    metrics: Any = strict_json.read(path)
    where = str(path)
    try:
        if not (isinstance(metrics["flags"], list) and all(map(_is_name, metrics["flags"]))):
            raise TypeError("flags are no list of names")
        dict(metrics["spending"]["units"])
        for figure in metrics["metrics"].values():
            if isinstance(figure, dict):
                for part in figure:
                    finite(figure, part, where)
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise UserError(f"no metrics of a run: {error}", where=where) from None
    return dict(metrics)


def units_of(
    metrics: Mapping[str, Any], spent: Mapping[Phase, int], where: str
) -> dict[Phase, int]:
    """The units of each phase, no less than its episodes `spent`: some are spent between them."""
    units = {phase: whole(metrics["spending"]["units"], phase, where) for phase in PHASES}
    by_kind = metrics["spending"].get("units_by_kind")
    for phase, amount in units.items():
        if amount < spent[phase]:
            raise UserError(
                f"units of {phase} are {amount}, its episodes spent {spent[phase]}", where=where
            )
        kinds = by_kind.get(phase) if isinstance(by_kind, dict) else None
        if isinstance(kinds, dict) and _sum(kinds, where) != amount:
            raise UserError(
                f"units of {phase} are {amount}, units_by_kind make {_sum(kinds, where)}",
                where=where,
            )
    return units


def finite(data: Mapping[str, Any], key: str, where: str) -> float:
    """A finite number; bools and texts are none."""
    value = data.get(key)
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise UserError(f"{key} is {value!r}, not a number", where=where)
    return float(value)


def whole(data: Mapping[str, Any], key: str, where: str) -> int:
    """A whole number from 0."""
    value = data.get(key)
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise UserError(f"{key} is {value!r}, not a whole number from 0", where=where)
    return value


def _sum(kinds: Mapping[str, Any], where: str) -> int:
    return sum(whole(kinds, kind, where) for kind in kinds)


def _is_name(text: object) -> bool:
    """A text that can stand on a line: with no control character, which a terminal would obey."""
    return isinstance(text, str) and text.isprintable()
