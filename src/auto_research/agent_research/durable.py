"""Files that survive a kill: whole or untouched, whole lines only, one writer at a time."""

from __future__ import annotations

import fcntl
import os
import weakref
from collections.abc import Iterator
from pathlib import Path

from auto_research.errors import UserError


def write_atomic(path: Path, content: bytes) -> None:
    """Replace `path` by `content`: after a kill it holds the old bytes or the new, never a mix."""
    temporary = path.with_name(path.name + ".tmp")
    with open(temporary, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    os.replace(temporary, path)
    sync_directory(path.parent)


def sync_directory(path: Path) -> None:
    """Make the names of the files in `path` durable."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def append_lines(path: Path, content: bytes, *, sync: bool = True) -> None:
    """Append whole lines in one write, then one fsync. On an OSError nothing stays appended."""
    descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
    try:
        before = os.fstat(descriptor).st_size
        try:
            left = memoryview(content)
            while left:
                left = left[os.write(descriptor, left) :]
            if sync:
                os.fsync(descriptor)
        except OSError:
            os.ftruncate(descriptor, before)
            raise
    finally:
        os.close(descriptor)


def whole_lines(path: Path) -> Iterator[bytes]:
    """The complete lines of a file, one in memory at a time; a torn last line is left out."""
    if not path.exists():
        return
    with open(path, "rb") as file:
        for line in file:
            if line.endswith(b"\n"):
                yield line


def keep_lines(path: Path, count: int | None = None) -> int:
    """Cut a file back to its first `count` complete lines (None: all); returns how many it has.

    The cut is one truncation at a line's end, so a kill leaves the old file or the new one.
    """
    kept = size = 0
    for line in whole_lines(path):
        if count is not None and kept == count:
            break
        kept, size = kept + 1, size + len(line)
    if path.exists() and path.stat().st_size != size:
        with open(path, "r+b") as file:
            file.truncate(size)
            os.fsync(file.fileno())
    return kept


class WriterLock:
    """Held by the one process that may write a directory; the system frees it when that dies."""

    def __init__(self, directory: Path) -> None:
        """Take the lock. Raises UserError if it is held already, or cannot be written."""
        try:
            self._descriptor = os.open(directory / ".lock", os.O_RDWR | os.O_CREAT, 0o644)
        except OSError as error:
            raise UserError(
                f"the run's directory cannot be written: {error.strerror}", where=str(directory)
            ) from None
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            self._close()
            raise UserError(
                "run is in use by another process",
                where=str(directory),
                mend="wait for it to end, or give this run another name",
            ) from None
        _held.add(self)

    def release(self) -> None:
        """Give the lock back; safe to call twice."""
        _held.discard(self)
        self._close()

    def _close(self) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1


_held: weakref.WeakSet[WriterLock] = weakref.WeakSet()


def _forget_in_child() -> None:
    # A forked worker that outlives its killed parent must not keep the run locked.
    for lock in list(_held):
        lock.release()


os.register_at_fork(after_in_child=_forget_in_child)
