"""What a training leaves to be read: training.jsonl, clocks beside it, TensorBoard's scalars."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from auto_research.agent_research.durable import append_lines, keep_lines, whole_lines
from auto_research.agent_research.rows import json_line
from auto_research.benchmarks.base import Json
from auto_research.training.backends import Progress, Told

FILE = "training.jsonl"  # in the run's directory; a row an iteration, the same in equal runs
CLOCKS = "training-clocks.jsonl"
BOARD = "tensorboard"


class TrainingLog:
    """Figures by iteration. Nothing here decides anything."""

    def __init__(self, folder: Path, planned: int, told: Told) -> None:
        self._path, self._clocks, self._told = folder / FILE, folder / CLOCKS, told
        self._folder = folder
        self._planned = planned
        self._waiting: list[tuple[Mapping[str, float], Mapping[str, float]]] = []
        self._seconds: dict[str, float] = {}
        self._stage, self._since = "sample", time.monotonic()
        self._board: Any = None

    def begin(self, stage: str) -> None:
        """From here on the time is that of `stage`."""
        now = time.monotonic()
        self._seconds[self._stage] = self._seconds.get(self._stage, 0.0) + now - self._since
        self._stage, self._since = stage, now

    def end_iteration(self, iteration: int, figures: Mapping[str, float]) -> None:
        """Tell of an iteration; it is kept with the next `save`."""
        self.begin("sample")
        seconds, self._seconds = self._seconds, {}
        self._waiting.append(({"iteration": iteration, **figures}, seconds))
        if self._board is not None:
            for name, value in figures.items():
                self._board.add_scalar(name, value, iteration)
            for stage, spent in seconds.items():
                self._board.add_scalar(f"seconds/{stage}", spent, iteration)
        self._told(Progress("train", iteration, self._planned, figures))

    def save(self, iteration: int) -> None:
        """Write what was told of; before the commit that it belongs to."""
        rows = [dict(rounded(row)) for row, _ in self._waiting]
        if rows:
            append_lines(self._path, b"".join(map(json_line, rows)))
            clocks: list[Json] = [
                {"iteration": row["iteration"], **{k: round(v, 3) for k, v in seconds.items()}}
                for row, seconds in self._waiting
            ]
            append_lines(self._clocks, b"".join(map(json_line, clocks)), sync=False)
        self._waiting.clear()

    def restore(self, iteration: int) -> None:
        """Begin, or go on: cut off the rows after `iteration`."""
        self._board = _board(self._folder / BOARD)
        for path in (self._path, self._clocks):
            if path.exists():
                keep_lines(path, iteration)

    def close(self) -> None:
        """No more iterations."""
        if self._board is not None:
            self._board.close()
            self._board = None


def read_log(folder: Path) -> Iterator[dict[str, float]]:
    """The rows of training.jsonl, in order."""
    for line in whole_lines(folder / FILE):
        yield json.loads(line)


def rounded(row: Mapping[str, float]) -> Iterator[tuple[str, float]]:
    """The pairs of `row`, six digits each."""
    for name, value in row.items():
        yield name, value if isinstance(value, int) else round(value, 6)


def _board(folder: Path) -> Any:
    """A TensorBoard writer; None where tensorboard is not installed."""
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError:
        return None
    return SummaryWriter(str(folder))
