"""A finished run as a comparison needs it; every figure is checked before it may count.

Rows are read as they stand, without coercion: ``true`` is no number here, nor is ``"0.5"`` or NaN.
What `metrics.json` tells must agree with the rows.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from auto_research.agent_research.budget import PHASES, Phase
from auto_research.agent_research.durable import whole_lines
from auto_research.agent_research.episode import cost_of
from auto_research.agent_research.metrics import rounded
from auto_research.agent_research.run import RunDir
from auto_research.comparison.transcripts import Transcript, transcript_of
from auto_research.errors import UserError


@dataclass(frozen=True, slots=True)
class Outcome:
    """One test episode. Without a verdict it is no success; `errored` also if it broke off.

    `cost` is min(1, units / B).
    """

    scenario: str
    task: str
    success: bool
    errored: bool
    cost: float
    units: int
    steps: int
    tokens: int
    transcript: Transcript


@dataclass(frozen=True, slots=True)
class RunRecord:
    """A finished run: its config as in run.yaml, its test episodes, units spent by phase."""

    path: Path
    config: Mapping[str, Any]
    outcomes: tuple[Outcome, ...]
    units: Mapping[Phase, int]
    flags: tuple[str, ...] = ()

    @property
    def method(self) -> str:
        return str(self.config["method"]["name"])

    @property
    def seeds(self) -> tuple[int, int]:
        """Seed and train seed."""
        return self.config["seed"], self.config["train_seed"]

    @property
    def full_cost(self) -> int:
        """B, the units that an episode of cost 1 spends."""
        return int(self.config["budget"]["units_per_episode"])

    @property
    def trains(self) -> bool:
        return bool(self.config["method"]["rollout"]["use"] != "none")


def read_runs(paths: Sequence[Path]) -> list[RunRecord]:
    """The finished runs in directories. Raises UserError that names all unfinished ones."""
    if open_ends := [told for path in paths if (told := _unfinished(path))]:
        raise UserError(
            f"unfinished: {', '.join(open_ends)}",
            mend="finish them with `agent-eval --resume`, or leave them out",
        )
    return [read_run(path) for path in paths]


def _unfinished(path: Path) -> str:
    """How far an unfinished run has come, in words; empty for a finished one."""
    with RunDir.open(path) as run:
        if run.metrics_path.is_file():
            return ""
        done = sum(row.phase == "test" for row in run.rows())
        return f"{path} ({done} of {run.config.get('episodes')} test episodes)"


def read_run(path: Path) -> RunRecord:
    """The finished run in a directory.

    Raises UserError naming file and key where a value is missing, of another type (a bool is no
    number), NaN, or at odds with the rest.
    """
    with RunDir.open(path) as run:
        config = _config(run)
        spent = dict.fromkeys(PHASES, 0)
        outcomes: list[Outcome] = []
        for row, where in _rows(run.episodes_path):
            phase = row.get("phase")
            if phase not in spent:
                raise UserError(f"phase is {phase!r}", where=where)
            spent[phase] += _whole(row, "units", where)
            if phase == "test":
                outcomes.append(_outcome(row, config["budget"]["units_per_episode"], where))
        if len(outcomes) != config["episodes"]:
            raise UserError(
                f"{len(outcomes)} test episodes where {config['episodes']} were asked for",
                where=str(run.episodes_path),
            )
        metrics = _metrics(run.metrics_path)
        where = str(run.metrics_path)
        _agree(metrics, outcomes, where)
        units = {phase: _whole(metrics["spending"]["units"], phase, where) for phase in PHASES}
        if short := [phase for phase in PHASES if units[phase] < spent[phase]]:
            raise UserError(
                f"units of {short[0]} are {units[short[0]]}, its episodes spent {spent[short[0]]}",
                where=where,
            )
        return RunRecord(path, config, tuple(outcomes), units, tuple(map(str, metrics["flags"])))


def _config(run: RunDir) -> Mapping[str, Any]:
    config: Any = run.config
    where = str(run.path / "run.yaml")
    try:
        for key in ("seed", "train_seed", "train_scenarios", "episodes"):
            _whole(config, key, where)
        for key in ("units", "units_per_episode"):
            if _whole(config["budget"], key, where) == 0:
                raise UserError(f"budget.{key} is 0", where=where)
        named = [config[key] for key in ("benchmark", "benchmark_hash", "split", "agent")]
        for text in (config["method"]["name"], config["method"]["rollout"]["use"], *named):
            if not isinstance(text, str):
                raise UserError(f"{text!r} is no name", where=where)
    except (KeyError, TypeError, AttributeError) as error:
        raise UserError(f"no proper configuration of a run: {error}", where=where) from None
    return dict(config)


def _rows(path: Path) -> Iterator[tuple[Mapping[str, Any], str]]:
    """The rows, and where each stands for messages."""
    for number, line in enumerate(whole_lines(path), start=1):
        where = f"{path}: row {number}"
        row = _loaded(line, where)
        if not isinstance(row, dict):
            raise UserError("the row is no object", where=where)
        yield row, where


def _outcome(row: Mapping[str, Any], full_cost: int, where: str) -> Outcome:
    success, units = row.get("success"), _whole(row, "units", where)
    if success is not None and not isinstance(success, bool):
        raise UserError(f"success is {success!r}, not true, false or null", where=where)
    cost = _number(row, "cost", where)
    if cost != cost_of(units, full_cost):
        raise UserError(f"cost is {cost}, {units} units of {full_cost} make another", where=where)
    try:
        scenario, task = row["scenario"], row["task"]
        if not (isinstance(scenario, str) and isinstance(task, str)):
            raise TypeError("scenario or task is no text")
        transcript = transcript_of(row)
        hash(transcript)
    except (KeyError, TypeError) as error:
        raise UserError(f"the row cannot be read: {error}", where=where) from None
    return Outcome(
        scenario=scenario,
        task=task,
        success=success is True,
        errored=success is None or bool(row.get("error")),
        cost=cost,
        units=units,
        steps=_whole(row, "steps", where),
        tokens=_whole(row, "tokens", where),
        transcript=transcript,
    )


def _metrics(path: Path) -> Mapping[str, Any]:
    """The parts of metrics.json that are used, present and of the right shape."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise UserError(f"metrics.json cannot be read: {error.strerror}", where=str(path)) from None
    metrics = _loaded(content, str(path))
    try:
        if not isinstance(metrics["flags"], list):
            raise TypeError("flags are no list")
        dict(metrics["spending"]["units"])
        for figure in metrics["metrics"].values():
            if isinstance(figure, dict):
                for part in figure:
                    _number(figure, part, str(path))
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise UserError(f"no metrics of a run: {error}", where=str(path)) from None
    return dict(metrics)


def _agree(metrics: Mapping[str, Any], outcomes: list[Outcome], where: str) -> None:
    """Raises UserError if metrics.json tells other headline figures than the episodes."""
    found = {
        "joint_success": [float(o.success) for o in outcomes],
        "average_cost": [o.cost for o in outcomes],
    }
    for name, values in found.items():
        told = metrics["metrics"].get(name)
        value = _number(told, "value", where) if isinstance(told, dict) else None
        mean = math.fsum(values) / len(values)
        if value != rounded(mean):
            raise UserError(f"{name} is {value}, the episodes give {rounded(mean)}", where=where)


def _loaded(text: bytes, where: str) -> Any:
    def refused(constant: str) -> None:
        raise ValueError(f"{constant} is no number")

    try:
        return json.loads(text, parse_constant=refused)
    except ValueError as error:
        raise UserError(f"cannot be read: {error}", where=where) from None


def _number(data: Mapping[str, Any], key: str, where: str) -> float:
    """A finite number; bools and texts are none. Raises UserError."""
    value = data.get(key)
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise UserError(f"{key} is {value!r}, not a number", where=where)
    return float(value)


def _whole(data: Mapping[str, Any], key: str, where: str) -> int:
    """A whole number from 0. Raises UserError."""
    value = data.get(key)
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise UserError(f"{key} is {value!r}, not a whole number from 0", where=where)
    return value
