"""One pass over a run's rows: everything the report draws, and the transcripts packed small.

Rows are read once and never kept: transcripts go into compressed blocks of `BLOCK` episodes that
the page unpacks when one is opened, so a run of 20,000 episodes is reported within 200 MB.
"""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from markupsafe import Markup

from auto_research.reporting.words import PHASE_NAMES

Row = Mapping[str, Any]
BLOCK = 100
# Rewards that differ by less are equal: what float32 makes of equal rewards is no signal.
TOLERANCE = 1e-6


@dataclass(slots=True)
class Group:
    """The rewards of one training group: total and number, and the range at each position."""

    total: float = 0.0
    judged: int = 0
    ranges: dict[int, tuple[float, float]] = field(default_factory=dict)

    def add(self, position: int, reward: float) -> None:
        self.total += reward
        self.judged += 1
        low, high = self.ranges.get(position, (reward, reward))
        self.ranges[position] = (min(low, reward), max(high, reward))

    @property
    def mean(self) -> float:
        return self.total / self.judged

    @property
    def informative(self) -> bool:
        """Whether the siblings earned different rewards at any position."""
        return any(high - low > TOLERANCE for low, high in self.ranges.values())


@dataclass(frozen=True, slots=True)
class Cell:
    """One test episode in the scenario grid."""

    episode: str
    position: int
    success: bool | None
    cost: float
    error: bool

    @property
    def word(self) -> str:
        if self.error:
            return "error"
        return {True: "success", False: "failure", None: "not judged"}[self.success]

    @property
    def symbol(self) -> str:
        return {"success": "✓", "failure": "✗", "error": "!", "not judged": "?"}[self.word]


@dataclass(slots=True)
class Summary:
    """What one pass over the rows leaves; `running` has a (joint, cost) mean a test episode."""

    episodes: int = 0
    by_phase: dict[str, int] = field(default_factory=dict)
    units: dict[str, dict[str, int]] = field(default_factory=dict)
    errors: dict[str, int] = field(default_factory=dict)
    groups: dict[int, Group] = field(default_factory=dict)
    running: list[tuple[float, float]] = field(default_factory=list)
    sums: dict[str, float] = field(default_factory=dict)
    grid: dict[str, list[Cell]] = field(default_factory=dict)
    places: dict[str, int] = field(default_factory=dict)
    test_from: int | None = None
    index: str = ""
    blocks: list[str] = field(default_factory=list)

    @property
    def test_episodes(self) -> int:
        return self.by_phase.get("test", 0)


def summarise(rows: Iterable[Row], wanted: Collection[str] = ()) -> Summary:
    """One pass over `rows` in stream order; `wanted` episode ids get a place in `places`.

    `index` lists every episode for the page, `blocks` hold the rows, both packed with `pack`.
    """
    summary, index, block = Summary(), [], []
    for row in rows:
        if row["episode"] in wanted:
            summary.places[row["episode"]] = summary.episodes
        _count(summary, row)
        index.append(_index_entry(row))
        block.append(dict(row))
        if len(block) == BLOCK:
            summary.blocks.append(pack(block))
            block = []
    if block:
        summary.blocks.append(pack(block))
    summary.index = pack(index)
    return summary


def pack(data: object) -> Markup:
    """`data` as base64 of deflated ASCII JSON; no byte of it can end a script element.

    Markup, since escaping base64 would change nothing and copy it all.
    """
    text = json.dumps(data, separators=(",", ":"), sort_keys=True)
    return Markup(base64.b64encode(zlib.compress(text.encode("ascii"), 9)).decode("ascii"))


def _count(summary: Summary, row: Row) -> None:
    phase = row["phase"]
    kinds = summary.units.setdefault(phase, {})
    for kind, units in row["units_by_kind"].items():
        kinds[kind] = kinds.get(kind, 0) + units
    summary.by_phase[phase] = summary.by_phase.get(phase, 0) + 1
    errored = row["success"] is None or bool(row["error"])
    summary.errors[phase] = summary.errors.get(phase, 0) + errored
    if phase == "training" and row["group"] is not None and row["reward"] is not None:
        group = summary.groups.setdefault(row["group"], Group())
        group.add(row["position"], row["reward"])
    if phase == "test":
        if summary.test_from is None:
            summary.test_from = summary.episodes
        _count_test(summary, row)
    summary.episodes += 1


def _count_test(summary: Summary, row: Row) -> None:
    figures = {
        "joint_success": row["success"],
        "average_cost": row["cost"],
        "answer_accuracy": row["checks"].get("answer_accuracy"),
        "plan_success": row["checks"].get("plan_success"),
        "steps": row["steps"],
        "tokens": row["tokens"],
    }
    for name, value in figures.items():
        summary.sums[name] = summary.sums.get(name, 0.0) + float(value or 0)
    done = summary.test_episodes
    summary.running.append(
        (summary.sums["joint_success"] / done, summary.sums["average_cost"] / done)
    )
    cell = Cell(row["episode"], row["position"], row["success"], row["cost"], bool(row["error"]))
    summary.grid.setdefault(row["scenario"], []).append(cell)


def _index_entry(row: Row) -> list[object]:
    """What the page's list shows of an episode before it is opened; report.js reads this order."""
    phases = list(PHASE_NAMES)
    return [
        row["episode"],
        phases.index(row["phase"]),
        row["scenario"],
        row["position"],
        None if row["success"] is None else int(row["success"]),
        int(bool(row["error"])),
        row["units"],
        round(row["cost"], 4),
        row["group"],
        row["sibling"],
        row["reward"],
    ]
