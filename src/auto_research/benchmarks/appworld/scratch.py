"""Temporary folders that do not pile up, however the process that made them ended.

Each is locked for as long as its process lives; the kernel lets go of the lock even where that
process was killed. Whoever makes the next one, or ends, removes those that nobody holds any more.
"""

from __future__ import annotations

import atexit
import contextlib
import fcntl
import os
import shutil
import tempfile
import weakref
from pathlib import Path

PREFIX = "auto-research-appworld-"


class Scratch:
    """A folder of this process's own, gone once it is closed or forgotten, or the process ends."""

    def __init__(self) -> None:
        sweep()
        self.path, held = _made()
        self.close = weakref.finalize(self, _remove, self.path, held)  # safe to call twice

    def __enter__(self) -> Path:
        return self.path

    def __exit__(self, *error: object) -> None:
        self.close()


def sweep() -> None:
    """Remove every such folder of this user that no process holds."""
    for path in Path(tempfile.gettempdir()).glob(f"{PREFIX}*"):
        with contextlib.suppress(OSError):  # another sweeps it too, or locks are not known here
            if path.lstat().st_uid != os.getuid():
                continue
            held = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
            try:
                fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(path, ignore_errors=True)
            finally:
                os.close(held)


atexit.register(sweep)  # worker processes end without ado, and before the one that began them


def _made() -> tuple[Path, int]:
    while True:
        path = Path(tempfile.mkdtemp(prefix=PREFIX))
        with contextlib.suppress(FileNotFoundError):  # swept before it was locked
            held = os.open(path, os.O_RDONLY)
            with contextlib.suppress(OSError):  # a file system without locks: it stays, at worst
                fcntl.flock(held, fcntl.LOCK_EX)
            if path.exists():
                return path, held
            os.close(held)


def _remove(path: Path, held: int) -> None:
    shutil.rmtree(path, ignore_errors=True)
    os.close(held)
