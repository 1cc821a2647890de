"""The run's skill library on disk: versions, the log of changes, checkpoints, the crash journal.

Changes go through `library.apply_changes`, as in a chain's private library; this module only
makes the result durable. No clock is stored: equal runs hold equal rows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType, TracebackType
from typing import Self

from auto_research.agent_research.codec import dumps, loads, op_of, skill_from_json, skill_to_json
from auto_research.agent_research.database import Database
from auto_research.agent_research.library import (
    Change,
    LibraryView,
    Retire,
    apply_changes,
    bases_of,
    record_usage,
    subject_of,
    view_of,
)
from auto_research.agent_research.skill import Skill, Usage
from auto_research.benchmarks.base import Json

SCHEMA_VERSION = 1
LIBRARY_FILE = "library.sqlite"  # its name in a run's directory
_APPLICATION_ID = 0x61726C62
_SCHEMA = """
CREATE TABLE skills (position INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, record TEXT NOT NULL);
CREATE TABLE changes (
    number INTEGER PRIMARY KEY, batch INTEGER NOT NULL, op TEXT NOT NULL, skill TEXT NOT NULL,
    bases TEXT NOT NULL, cause TEXT NOT NULL, reason TEXT NOT NULL, effective INTEGER NOT NULL);
CREATE TABLE journal (
    batch INTEGER NOT NULL, place INTEGER NOT NULL, payload TEXT NOT NULL,
    PRIMARY KEY (batch, place)) WITHOUT ROWID;
CREATE TABLE checkpoint (
    only INTEGER PRIMARY KEY CHECK (only = 1), batch INTEGER NOT NULL, state TEXT NOT NULL);
"""


@dataclass(frozen=True, slots=True)
class ChangeRecord:
    """One logged change. `skill` is the new skill's id, or for a retirement the retired one's.

    `cause` holds ids of episodes. `effective` is False for a change that left the library as it
    was (a twin created again, a retired skill retired).
    """

    batch: int
    op: str
    skill: str
    bases: tuple[str, ...]
    cause: tuple[str, ...]
    reason: str
    effective: bool


class SkillStore:
    """A skill library in one SQLite file. A context manager; open one in each thread and process.

    `create=False` refuses a file that is not there. Every method raises UserError for a file
    that is missing, corrupt, foreign, read-only or held by another process for too long.
    """

    def __init__(self, path: Path | str, *, create: bool = True) -> None:
        self.path = Path(path)
        self._view = LibraryView()
        self._seen: int | None = None  # the file's version that `_view` shows
        self._db = Database(
            self.path,
            what="skill library",
            application=_APPLICATION_ID,
            version=SCHEMA_VERSION,
            schema=_SCHEMA,
            create=create,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the file; safe to call twice."""
        self._db.close()

    def view(self) -> LibraryView:
        """Every version in order of creation, as last committed by any process."""
        with self._db.reading():
            return self._current()

    def apply(
        self,
        changes: Sequence[Change],
        *,
        usage: Mapping[str, Usage] = MappingProxyType({}),
        batch: int = 0,
    ) -> LibraryView:
        """Make `changes`, then replace `usage` records; all or nothing, logged under `batch`.

        Returns the library afterwards. Raises ChangeError if a change names an absent skill.
        """
        with self._db.writing():
            after = self._apply(changes, usage, batch)
        self._view = after
        return after

    def commit(
        self, batch: int, changes: Sequence[Change], usage: Mapping[str, Usage], state: Json
    ) -> LibraryView:
        """End a batch in one durable transaction: apply, save the checkpoint, drop its journal.

        Raises ChangeError as `apply` does, ValueError if `batch` is not after the last one.
        """
        with self._db.writing():
            last = self.last_batch()
            if batch <= last:
                raise ValueError(f"batch {batch} is not after batch {last}, which is committed")
            after = self._apply(changes, usage, batch)
            self._db.rows("REPLACE INTO checkpoint VALUES (1, ?, ?)", batch, dumps(state))
            self._db.rows("DELETE FROM journal WHERE batch = ?", batch)
        self._view = after
        return after

    def journal(self, batch: int, index: int, payload: Json) -> None:
        """Keep finished work of a batch that is not yet committed; survives a killed process.

        The same index again replaces.
        """
        self._db.write_unsynced(
            "REPLACE INTO journal VALUES (?, ?, ?)", batch, index, dumps(payload)
        )

    def journalled(self, batch: int) -> dict[int, Json]:
        """The finished work of `batch` by index, in order of index; empty once committed."""
        rows = self._db.rows(
            "SELECT place, payload FROM journal WHERE batch = ? ORDER BY place", batch
        )
        return {index: self._decoded(payload) for index, payload in rows}

    def last_batch(self) -> int:
        """The last committed batch, -1 when there is none."""
        rows = self._db.rows("SELECT batch FROM checkpoint")
        return int(rows[0][0]) if rows else -1

    def state(self) -> Json:
        """The state saved with the last committed batch, None when there is none."""
        rows = self._db.rows("SELECT state FROM checkpoint")
        return self._decoded(rows[0][0]) if rows else None

    def log(self) -> list[ChangeRecord]:
        """Every change ever made, oldest first."""
        rows = self._db.rows(
            "SELECT batch, op, skill, bases, cause, reason, effective FROM changes ORDER BY number"
        )
        return [
            ChangeRecord(batch, op, skill, self._ids(bases), self._ids(cause), reason, bool(works))
            for batch, op, skill, bases, cause, reason, works in rows
        ]

    def _apply(
        self, changes: Sequence[Change], usage: Mapping[str, Usage], batch: int
    ) -> LibraryView:
        before = after = self._current()
        for change in changes:
            step = apply_changes(after, (change,))
            self._log(batch, change, effective=step.skills != after.skills)
            after = step
        stored = dict(before.skills)
        for skill_id, skill in record_usage(after, usage).skills.items():
            if stored.get(skill_id) is not skill:
                stored[skill_id] = self._save(skill)
        return view_of(stored.values())

    def _save(self, skill: Skill) -> Skill:
        """Write a skill; returns it decoded again, exactly as other processes will read it."""
        record = dumps(skill_to_json(skill))
        self._db.rows(
            "INSERT INTO skills (id, record) VALUES (?, ?)"
            " ON CONFLICT (id) DO UPDATE SET record = excluded.record",
            skill.id,
            record,
        )
        return skill_from_json(loads(record))

    def _log(self, batch: int, change: Change, *, effective: bool) -> None:
        retirement = change if isinstance(change, Retire) else None
        self._db.rows(
            "INSERT INTO changes (batch, op, skill, bases, cause, reason, effective)"
            " VALUES (?, ?, ?, ?, ?, ?, ?)",
            batch,
            op_of(change),
            subject_of(change),
            dumps(bases_of(change)),
            dumps(change.cause),
            retirement.reason if retirement else "",
            effective,
        )

    def _current(self) -> LibraryView:
        """The view inside the open transaction; read again only if another process wrote."""
        seen = self._db.version_seen()
        if seen != self._seen:
            rows = self._db.rows("SELECT record FROM skills ORDER BY position")
            self._view = view_of(self._skill(record) for (record,) in rows)
            self._seen = seen
        return self._view

    def _skill(self, record: str) -> Skill:
        try:
            return skill_from_json(loads(record))
        except ValueError as error:
            raise self._db.corrupt(str(error)) from None

    def _decoded(self, text: str) -> Json:
        try:
            return loads(text)
        except ValueError as error:
            raise self._db.corrupt(str(error)) from None

    def _ids(self, text: str) -> tuple[str, ...]:
        value = self._decoded(text)
        return tuple(map(str, value)) if isinstance(value, list) else ()
