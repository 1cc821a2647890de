"""One finished episode as a row of `episodes.jsonl`: what a run keeps, and all it needs to keep.

Nothing in a row may differ between two equal runs: no clocks, no paths, no process ids.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from pydantic import TypeAdapter, ValidationError

from auto_research.agent_research.budget import Phase
from auto_research.agent_research.library import Change, Create, Merge, Retire, Revise
from auto_research.agent_research.operators import Use
from auto_research.benchmarks.base import Json

Op = Literal["create", "revise", "fork", "merge", "retire"]


@dataclass(frozen=True, slots=True)
class ChoiceRow:
    """What retrieval chose: ids, best first, and the probability with which each was drawn."""

    ranked: tuple[str, ...] = ()
    propensities: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True)
class ChangeRow:
    """One change of a library. `skill` is the new version, or for ``retire`` the one retired.

    `bases` are the versions it came from; `cause` the ids of the episodes that caused it.
    """

    op: Op
    skill: str
    bases: tuple[str, ...] = ()
    cause: tuple[str, ...] = ()
    reason: str = ""


@dataclass(frozen=True, slots=True)
class TranscriptLine:
    """One thing that happened in an episode: `at` names the stage, `text` tells it."""

    at: str
    text: str


@dataclass(frozen=True, slots=True)
class EpisodeRow:
    """One finished episode.

    `index` counts the episodes of the phase in stream order; `group` and `sibling` place it in
    training. `success` is the sealed verdict, None when the episode could not be judged.
    `units` is the sum of `units_by_kind`; `cost` is ``min(1, units / B)``. Of the `tokens` of all
    model calls, `generated` are those of the replies.
    """

    episode: str
    phase: Phase
    index: int
    scenario: str
    task: str
    position: int
    instruction: str
    success: bool | None
    own_check: bool
    units: int
    cost: float
    group: int | None = None
    sibling: int = 0
    checks: Mapping[str, bool] = field(default_factory=dict)
    units_by_kind: Mapping[str, int] = field(default_factory=dict)
    steps: int = 0
    tokens: int = 0
    generated: int = 0
    model_calls: int = 0
    choice: ChoiceRow = ChoiceRow()
    uses: tuple[Use, ...] = ()
    written: tuple[str, ...] = ()
    changes: tuple[ChangeRow, ...] = ()
    reward: float | None = None
    advantage: float | None = None
    plan: tuple[tuple[str, ...], ...] | None = None
    answer: str | None = None
    error: str = ""
    transcript: tuple[TranscriptLine, ...] = ()

    def to_json(self) -> dict[str, Json]:
        """The row as plain JSON values, every field present."""
        plain: dict[str, Json] = _ROW.dump_python(self, mode="json")
        return plain

    @staticmethod
    def from_json(record: Mapping[str, Json]) -> EpisodeRow:
        """The row that `to_json` gave. Raises ValueError naming the first field that is wrong."""
        if unknown := sorted(set(record) - _FIELDS):
            raise ValueError(f"unknown field {unknown[0]}")
        try:
            return _ROW.validate_python(record)
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            place = ".".join(map(str, first["loc"]))
            raise ValueError(f"{place}: {first['msg']}") from None

    def line(self) -> bytes:
        """The row as one compact UTF-8 line with sorted keys, its newline included.

        Raises ValueError for NaN or an infinite number.
        """
        return json_line(self.to_json())


_ROW: TypeAdapter[EpisodeRow] = TypeAdapter(EpisodeRow)
_FIELDS = frozenset(EpisodeRow.__dataclass_fields__)


def json_line(record: Json) -> bytes:
    """`record` as one compact UTF-8 line: keys sorted, no NaN. Raises ValueError for NaN."""
    text = json.dumps(
        record, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False
    )
    # A model may emit half a surrogate pair, which UTF-8 cannot hold; it must not end the run.
    return text.encode(errors="replace") + b"\n"


def change_row(change: Change) -> ChangeRow:
    """A library change as a row keeps it."""
    if isinstance(change, Retire):
        return ChangeRow("retire", change.base, (change.base,), change.cause, change.reason)
    if isinstance(change, Create):
        return ChangeRow("create", change.skill.id, (), change.cause)
    if isinstance(change, Merge):
        return ChangeRow("merge", change.skill.id, change.bases, change.cause)
    op: Op = "revise" if isinstance(change, Revise) else "fork"
    return ChangeRow(op, change.skill.id, (change.base,), change.cause)
