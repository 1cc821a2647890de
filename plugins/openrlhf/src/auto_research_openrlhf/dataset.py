"""The rows that a training reads, as far as a launcher must know them: one row a chain."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from auto_research.errors import UserError
from auto_research_openrlhf.label import Label, read_label

INPUT, LABEL = "input", "label"  # the columns


@dataclass(frozen=True, slots=True)
class Rows:
    """A dataset file: the length of the chain of each row, and where the tasks come from."""

    path: Path
    lengths: tuple[int, ...]
    labels: tuple[Label, ...] = ()

    def __len__(self) -> int:
        return len(self.lengths)

    def tasks(self) -> int:
        """Tasks in all rows together."""
        return sum(self.lengths)


def read_rows(path: Path, *, key: str, benchmark: str, evaluation: bool) -> Rows:
    """The rows of a JSONL file. Raises UserError naming the first that is none of `benchmark`."""
    build = "build it with `python -m auto_research_openrlhf.build`"
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or error
        raise UserError(f"{key} cannot be read: {reason}", where=str(path), mend=build) from None
    labels = tuple(_label(line, f"{path}: row {n}", build) for n, line in enumerate(lines, 1))
    if not labels:
        raise UserError(f"{key} has no row", where=str(path), mend=build)
    for number, label in enumerate(labels, 1):
        place = f"{path}: row {number}"
        if label.benchmark != benchmark:
            raise UserError(
                f"the chain is of {label.benchmark}, the training on {benchmark}",
                where=place,
                mend=f"--benchmark {label.benchmark}, or another {key}",
            )
        if label.evaluation != evaluation:
            kind = "evaluation" if label.evaluation else "training"
            raise UserError(f"{key} holds a row for {kind}", where=place, mend="swap the files")
    return Rows(path, tuple(len(label.tasks) for label in labels), labels)


def _label(line: str, where: str, build: str) -> Label:
    try:
        row: Any = json.loads(line)
        if not isinstance(row[INPUT], str):
            raise TypeError(f"{INPUT} is no text")
        return read_label(row[LABEL])
    except UserError as error:
        raise UserError(error.what, where=where, mend=error.mend) from None
    except (ValueError, KeyError, TypeError) as error:
        raise UserError(
            f"the row is no chain of tasks ({type(error).__name__}: {error})",
            where=where,
            mend=build,
        ) from None
