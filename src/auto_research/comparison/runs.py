"""A finished run as a comparison needs it; every figure is checked before it may count.

Rows are read as they stand, without coercion: ``true`` is no number here, nor is ``"0.5"`` or NaN.
What `metrics.json` tells must agree with the rows.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from auto_research.agent_research import strict_json
from auto_research.agent_research.budget import PHASES, Phase
from auto_research.agent_research.episode import cost_of
from auto_research.agent_research.metrics import DIGITS, rounded
from auto_research.agent_research.run import RunDir
from auto_research.comparison.checks import (
    check_parts,
    checked_config,
    checked_metrics,
    finite,
    phase_of,
    units_of,
    whole,
)
from auto_research.comparison.transcripts import Transcript, transcript_of
from auto_research.errors import UserError

EXPERT = "expert"  # the agent that reads the answers, and the flag of runs in which one did
HEADLINE = ("joint_success", "average_cost")  # the figures that every run's metrics tell


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
        planned = whole(run.config, "episodes", str(path / "run.yaml"))
        done = sum(row.phase == "test" for row in run.rows())
        return f"{path} ({done} of {planned} test episodes)"


def read_run(path: Path) -> RunRecord:
    """The finished run in a directory.

    Raises UserError naming file and key where a value is missing, of another type (a bool is no
    number), NaN, or at odds with the rest.
    """
    with RunDir.open(path) as run:
        config = checked_config(run.config, str(path / "run.yaml"))
        spent = dict.fromkeys(PHASES, 0)
        outcomes: list[Outcome] = []
        for row, where in _rows(run):
            phase = phase_of(row, where)
            spent[phase] += whole(row, "units", where)
            if phase == "test":
                outcomes.append(_outcome(row, config["budget"]["units_per_episode"], where))
        _check_stream(outcomes, config["episodes"], str(run.episodes_path))
        metrics, where = checked_metrics(run.metrics_path), str(run.metrics_path)
        _agree(metrics, outcomes, where)
        units = units_of(metrics, spent, where)
        flags = dict.fromkeys(metrics["flags"])
        if config["agent"] == EXPERT:
            flags[EXPERT] = None
        return RunRecord(path, config, tuple(outcomes), units, tuple(flags))


def _rows(run: RunDir) -> Iterator[tuple[Mapping[str, Any], str]]:
    """The rows, and where each stands for messages."""
    for number, line in enumerate(run.lines(), start=1):
        where = f"{run.episodes_path}: row {number}"
        try:
            row = strict_json.loads(line)
        except ValueError as error:
            raise UserError(f"cannot be read: {error}", where=where) from None
        if not isinstance(row, dict):
            raise UserError("the row is no object", where=where)
        yield row, where


def _check_stream(outcomes: Sequence[Outcome], planned: int, where: str) -> None:
    """Raises UserError unless there are as many tasks as were asked for, each of them once."""
    if len(outcomes) != planned:
        raise UserError(
            f"{len(outcomes)} test episodes where {planned} were asked for", where=where
        )
    ((task, times),) = Counter(outcome.task for outcome in outcomes).most_common(1)
    if times > 1:
        raise UserError(f"the task {task!r} was tested {times} times", where=where)


def _outcome(row: Mapping[str, Any], full_cost: int, where: str) -> Outcome:
    success, units = row.get("success"), whole(row, "units", where)
    if success is not None and not isinstance(success, bool):
        raise UserError(f"success is {success!r}, not true, false or null", where=where)
    cost = finite(row, "cost", where)
    if cost != cost_of(units, full_cost):
        raise UserError(f"cost is {cost}, {units} units of {full_cost} make another", where=where)
    check_parts(row, where)
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
        steps=whole(row, "steps", where),
        tokens=whole(row, "tokens", where),
        transcript=transcript,
    )


def _agree(metrics: Mapping[str, Any], outcomes: Sequence[Outcome], where: str) -> None:
    """Raises UserError if metrics.json tells other headline figures than the episodes."""
    found = {
        "joint_success": [float(o.success) for o in outcomes],
        "average_cost": [o.cost for o in outcomes],
        "tgc": [float(o.success) for o in outcomes],
        "steps": [float(o.steps) for o in outcomes],
        "tokens": [float(o.tokens) for o in outcomes],
    }
    for name, values in found.items():
        told = metrics["metrics"].get(name)
        if told is None and name not in HEADLINE:
            continue
        value = finite(told, "value", where) if isinstance(told, dict) else None
        mean = math.fsum(values) / len(values)
        if value is None or abs(value - mean) > 10.0**-DIGITS:  # a tie may be rounded either way
            given = rounded(mean)
            raise UserError(f"{name} is {value}, the episodes give {given}", where=where)
