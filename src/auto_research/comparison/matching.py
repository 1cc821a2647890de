"""What must be equal in runs that are compared, and the lines of the table that they make up."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from auto_research.comparison.runs import RunRecord
from auto_research.errors import UserError

# Keys of run.yaml. train_scenarios counts among methods that train: the others have none.
MATCHED = (
    "benchmark_hash",
    "benchmark",
    "split",
    "agent",
    "agent_config",
    "train_scenarios",
    "episodes",
    "budget.units",
    "budget.units_per_episode",
    "budget.run_units",
    "exclude",
    "frozen",
    "test_feedback",
    "tariff",
    "version",
)
# What a test stream is drawn by, beside the seed.
_STREAM = ("benchmark_hash", "benchmark", "split", "episodes", "exclude")


Tasks = frozenset[tuple[str, str]]  # each with its scenario


@dataclass(frozen=True, slots=True)
class Line:
    """The runs of one method at one setting, in order of seeds: a line of the table."""

    label: str
    runs: tuple[RunRecord, ...]

    @property
    def reads_answers(self) -> bool:
        return any("expert" in run.flags for run in self.runs)


def lines_of(runs: Sequence[RunRecord]) -> list[Line]:
    """Runs by method and setting, in order of first appearance.

    A label is the method's name, with a number where several lines share it. Raises UserError if
    a line has two runs of the same seeds.
    """
    found: dict[tuple[object, ...], list[RunRecord]] = {}
    for run in runs:
        setting = tuple(_told(run, key) for key in MATCHED)
        found.setdefault((run.method, run.config.get("method_hash"), setting), []).append(run)
    lines: list[Line] = []
    used: dict[str, int] = {}
    for (name, *_), members in found.items():
        used[str(name)] = number = used.get(str(name), 0) + 1
        ordered = sorted(members, key=lambda run: run.seeds)
        for one, other in pairwise(ordered):
            if one.seeds == other.seeds:
                raise UserError(
                    f"two runs of {name} with seed {one.seeds[0]} and train seed {one.seeds[1]}",
                    where=f"{one.path}, {other.path}",
                    mend="give one of them",
                )
        lines.append(Line(f"{name}#{number}" if number > 1 else str(name), tuple(ordered)))
    return lines


def mismatches(lines: Sequence[Line]) -> Iterator[str]:
    """Every reason why these lines cannot be compared, in words: what differs, in which runs."""
    runs = [run for line in lines for run in line.runs]
    for key in MATCHED:
        asked = [r for r in runs if r.trains] if key == "train_scenarios" else runs
        yield from _differing(key, {str(run.path): _told(run, key) for run in asked})
    seeds = {line.label: _seeds(line) for line in lines}
    yield from _differing("seeds", seeds)
    yield from _other_tasks(runs)
    for line in lines:
        code = {str(run.path): str(run.config.get("code_hash")) for run in line.runs}
        yield from _differing(f"code_hash of {line.label}", code)
        if line.reads_answers:
            yield f"the agent of {line.label} reads the answers: {_named(map(_path, line.runs))}"


def _differing(what: str, values: Mapping[str, str]) -> Iterator[str]:
    """`what` and its values, each with those that have it; nothing where all agree."""
    holders: dict[str, list[str]] = {}
    for name, value in values.items():
        holders.setdefault(value, []).append(name)
    if len(holders) > 1:
        told = ", ".join(f"{_short(v)} in {_named(names)}" for v, names in holders.items())
        yield f"{what} differs: {told}"


def _other_tasks(runs: Sequence[RunRecord]) -> Iterator[str]:
    """Where runs that drew their stream alike have other tasks, or a task in another scenario."""
    alike: dict[tuple[object, ...], dict[Tasks, list[str]]] = {}
    for run in runs:
        drawn = (run.seeds[0], *(_told(run, key) for key in _STREAM))
        tasks = frozenset((outcome.task, outcome.scenario) for outcome in run.outcomes)
        alike.setdefault(drawn, {}).setdefault(tasks, []).append(str(run.path))
    for (seed, *_), streams in alike.items():
        (first, holders), *others = streams.items()
        for tasks, paths in others:
            odd = sorted(first ^ tasks)
            (task, scenario), more = odd[0], len(odd) - 1
            whose = holders if odd[0] in first else paths
            yield (
                f"tasks of seed {seed} differ between {_named(holders)} and {_named(paths)}: "
                f"only {_named(whose)} has {task!r} in scenario {scenario!r}"
                + (f", and {more} more such" if more else "")
            )


def _named(names: Sequence[str] | Iterator[str]) -> str:
    first, *more = names
    return f"{first} and {len(more)} more" if len(more) > 1 else " and ".join([first, *more])


def _told(run: RunRecord, key: str) -> str:
    value: Any = run.config
    for part in key.split("."):
        value = value.get(part) if isinstance(value, Mapping) else None
    if key == "train_scenarios" and not run.trains:
        value = None
    return json.dumps(value, sort_keys=True)


def _seeds(line: Line) -> str:
    return ", ".join(f"{seed} (train seed {train})" for seed, train in (r.seeds for r in line.runs))


def _short(text: str) -> str:
    return text if len(text) <= 60 else text[:57] + "..."


def _path(run: RunRecord) -> str:
    return str(run.path)
