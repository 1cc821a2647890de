"""What the executors of a job left behind, as the episodes of one training, each counted once.

A job that was restarted from a checkpoint has run some rows of the dataset twice. The model has
learned from the later ones; the earlier ones were paid for all the same, and are told apart.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from auto_research.agent_research.durable import whole_lines
from auto_research.agent_research.rows import EpisodeRow
from auto_research.errors import UserError

ROWS = "rows"  # in a job's storage
Place = tuple[str, int, int]  # the row of the dataset with its phase, sibling, position


@dataclass(frozen=True, slots=True)
class Ledger:
    """The episodes of one training.

    `training` and `last` (the last evaluation, by repeat) are complete or the job is unfinished:
    `missing` says how many episodes there should be more. `earlier` are evaluations before the
    last, `lost` training episodes that a restart threw away.
    """

    training: tuple[EpisodeRow, ...]
    earlier: tuple[EpisodeRow, ...]
    last: tuple[tuple[EpisodeRow, ...], ...]
    lost: tuple[EpisodeRow, ...]
    missing: int


def read_ledger(storage: Path, *, passes: int, episodes: int, tests: int, repeats: int) -> Ledger:
    """The ledger in a job's storage.

    Expected are `episodes` of training, each row of the dataset `passes` times, and `repeats`
    times `tests` in the last evaluation. Raises UserError for a row that cannot be read.
    """
    by_place: dict[Place, list[EpisodeRow]] = {}
    for row in _rows(storage / ROWS):
        by_place.setdefault(_place(row), []).append(row)
    training: list[EpisodeRow] = []
    lost: list[EpisodeRow] = []
    earlier: list[EpisodeRow] = []
    last: list[list[EpisodeRow]] = [[] for _ in range(repeats)]
    for (_, sibling, _), rows in sorted(by_place.items()):
        if rows[0].phase == "training":
            training += [_named(row, number) for number, row in enumerate(rows[-passes:])]
            lost += rows[:-passes]
        elif sibling < repeats:
            earlier += [replace(_named(r, n), phase="probes") for n, r in enumerate(rows[:-1])]
            last[sibling].append(_named(rows[-1], len(rows) - 1))
    missing = max(0, episodes - len(training)) + sum(max(0, tests - len(one)) for one in last)
    return Ledger(
        training=tuple(sorted(training, key=_order)),
        earlier=tuple(sorted(earlier, key=_order)),
        last=tuple(tuple(sorted(one, key=_order)) for one in last),
        lost=tuple(lost),
        missing=missing,
    )


def _rows(folder: Path) -> Iterator[EpisodeRow]:
    """All rows, those of a process that stopped earlier before those of one that came after."""
    found = [path for path in folder.glob("*.jsonl") if path.is_file()] if folder.is_dir() else []
    for path in sorted(found, key=lambda path: (path.stat().st_mtime_ns, path.name)):
        for number, line in enumerate(whole_lines(path), start=1):
            try:
                yield EpisodeRow.from_json(json.loads(line))
            except (ValueError, TypeError) as error:
                raise UserError(f"row {number} cannot be read: {error}", where=str(path)) from None


def _place(row: EpisodeRow) -> Place:
    """Episodes are named ``PHASE-ROW.VISIT-SIBLING-POSITION``; a visit counts within a process."""
    return row.episode.rpartition(".")[0], row.sibling, row.position


def _named(row: EpisodeRow, number: int) -> EpisodeRow:
    """The row under a name that is its own in the whole training."""
    head, _, tail = row.episode.rpartition(".")
    return replace(row, episode=f"{head}.{number}-{tail.partition('-')[2]}")


def _order(row: EpisodeRow) -> tuple[str, int, int]:
    return row.episode.rpartition("-")[0].rpartition("-")[0], row.sibling, row.position


def numbered(rows: Sequence[EpisodeRow]) -> tuple[EpisodeRow, ...]:
    """The rows with `index` counting those of each phase."""
    counts: dict[str, int] = {}
    found = []
    for row in rows:
        index = counts.get(row.phase, 0)
        counts[row.phase] = index + 1
        found.append(replace(row, index=index))
    return tuple(found)
