"""What an executor leaves behind of a job: rows of finished episodes, and faults, line by line."""

from __future__ import annotations

import logging
import os
import socket
import threading
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from auto_research.agent_research.rows import EpisodeRow, json_line

log = logging.getLogger(__name__)

ROWS, FAULTS = "rows", "faults"  # folders of a job's storage


class Records:
    """Appends to files of this process alone: HOST-PID.jsonl in the folders `rows` and `faults`.

    Safe in threads. A full disk costs the record, not the training: it is logged.
    """

    def __init__(self, storage: Path) -> None:
        name = f"{socket.gethostname()}-{os.getpid()}.jsonl"
        self._rows, self._faults = storage / ROWS / name, storage / FAULTS / name
        self._lock = threading.Lock()
        self.faults: Counter[str] = Counter()  # so far, by kind

    def finished(self, rows: Iterable[EpisodeRow]) -> None:
        """Keep the rows of one group, in one write."""
        self._append(self._rows, b"".join(row.line() for row in rows))

    def fault(self, kind: str, episode: str, what: str) -> None:
        """Count, log and keep that something went wrong in an episode."""
        with self._lock:
            self.faults[kind] += 1
            count = self.faults[kind]
        log.warning("fault %r (%d so far) in %s: %s", kind, count, episode, what)
        self._append(
            self._faults, json_line({"kind": kind, "episode": episode, "what": what[:2000]})
        )

    def _append(self, path: Path, content: bytes) -> None:
        with self._lock:
            try:
                path.parent.mkdir(parents=True, exist_ok=True)
                with path.open("ab") as file:
                    file.write(content)
            except OSError as error:
                log.error("%s cannot be written: %s", path, error)
