"""One SQLite file of ours: opened only if it is ours, shared by processes, safe in a crash."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from auto_research.errors import UserError

BUSY_SECONDS = 30.0
_OUTSIDE_CAUSES = {
    sqlite3.SQLITE_BUSY: "another process holds the {what}",
    sqlite3.SQLITE_CANTOPEN: "the {what} cannot be opened",
    sqlite3.SQLITE_CORRUPT: "the {what} file is corrupt",
    sqlite3.SQLITE_FULL: "the disk is full",
    sqlite3.SQLITE_IOERR: "the disk failed on the {what}",
    sqlite3.SQLITE_NOTADB: "the file is not a {what}",
    sqlite3.SQLITE_PERM: "the {what} may not be read",
    sqlite3.SQLITE_READONLY: "the {what} may not be written",
}


class Database:
    """A SQLite file in WAL mode that holds a `what` (a word for messages).

    `application` marks the file as ours, `version` is that of `schema` (SQL statements, each
    ended by ``;`` and a line break). Every method raises UserError for what is wrong with the
    file or the disk: missing (with ``create=False``), corrupt, of another program, of another
    version, read-only, or held by another process for more than `BUSY_SECONDS`.
    """

    def __init__(
        self, path: Path, *, what: str, application: int, version: int, schema: str, create: bool
    ) -> None:
        self.path, self._what = path, what
        if not path.exists():
            if not create:
                raise UserError(f"no {what} here", where=str(path))
            path.parent.mkdir(parents=True, exist_ok=True)
        with self._outside_causes():
            self._connection = sqlite3.connect(path, timeout=BUSY_SECONDS, isolation_level=None)
        try:
            with self._outside_causes():
                self._open(application, version, schema)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Close the file; safe to call twice."""
        self._connection.close()

    def rows(self, query: str, *values: str | int) -> list[Any]:
        """The rows of one statement, as tuples; outside a transaction it commits by itself."""
        with self._outside_causes():
            return self._connection.execute(query, values).fetchall()

    def version_seen(self) -> int:
        """A number that changes when another connection has committed something."""
        return int(self.rows("PRAGMA data_version")[0][0])

    @contextmanager
    def reading(self) -> Iterator[None]:
        """All reads inside see one moment of the file."""
        self.rows("BEGIN")
        try:
            yield
        finally:
            self.rows("ROLLBACK")

    @contextmanager
    def writing(self) -> Iterator[None]:
        """A transaction that excludes other writers, and is on the disk when it ends.

        An exception inside undoes it.
        """
        self.rows("PRAGMA synchronous=FULL")
        self.rows("BEGIN IMMEDIATE")
        try:
            yield
            self.rows("COMMIT")
        except BaseException:
            if self._connection.in_transaction:
                self.rows("ROLLBACK")
            raise

    def write_unsynced(self, query: str, *values: str | int) -> None:
        """One statement that outlives a killed process, but not yet a power cut."""
        self.rows("PRAGMA synchronous=NORMAL")
        self.rows(query, *values)

    def corrupt(self, detail: str) -> UserError:
        """The error for a row that makes no sense."""
        return UserError(f"the {self._what} file is corrupt: {detail}", where=str(self.path))

    def _open(self, application: int, version: int, schema: str) -> None:
        # Nothing is written to a file before it is known to be ours.
        if self._identity() == (0, 0, 0):
            with self.writing():
                if self._identity() == (0, 0, 0):
                    for statement in schema.strip().split(";\n"):
                        self.rows(statement)
                    self.rows(f"PRAGMA application_id={application}")
                    self.rows(f"PRAGMA user_version={version}")
        found_application, found_version, _ = self._identity()
        if found_application != application:
            raise UserError(f"the file is not a {self._what}", where=str(self.path))
        if found_version != version:
            raise UserError(
                f"the {self._what} has schema version {found_version}, this program uses {version}",
                where=str(self.path),
                mend="export it with the version that wrote it, then import it",
            )
        self._use_wal()

    def _identity(self) -> tuple[int, int, int]:
        """Application id, schema version and number of tables; all 0 in a new file."""
        return (
            self.rows("PRAGMA application_id")[0][0],
            self.rows("PRAGMA user_version")[0][0],
            self.rows("SELECT count(*) FROM sqlite_master")[0][0],
        )

    def _use_wal(self) -> None:
        # SQLite does not wait for the lock of a mode change, so the waiting is done here; a file
        # that is in WAL mode already needs no lock.
        for tries_left in range(int(BUSY_SECONDS * 100), -1, -1):
            try:
                self._connection.execute("PRAGMA journal_mode=WAL")
                return
            except sqlite3.OperationalError as error:
                if tries_left == 0 or _primary(error) != sqlite3.SQLITE_BUSY:
                    raise
                time.sleep(0.01)

    @contextmanager
    def _outside_causes(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.DatabaseError as error:
            cause = _OUTSIDE_CAUSES.get(_primary(error))
            if cause is None:
                raise
            raise UserError(cause.format(what=self._what), where=str(self.path)) from error


def _primary(error: sqlite3.DatabaseError) -> int:
    """The primary SQLite result code; 0 for errors of the Python module itself."""
    return int(getattr(error, "sqlite_errorcode", 0)) & 0xFF
