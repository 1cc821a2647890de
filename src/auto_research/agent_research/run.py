"""The run directory: everything a run leaves behind, safe against kills, owned by one writer.

`episodes.jsonl` is the truth; `metrics.json` and `report.html` can be made again from it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from types import TracebackType

import yaml

from auto_research import strict_yaml
from auto_research.agent_research import strict_json
from auto_research.agent_research.durable import (
    WriterLock,
    append_lines,
    keep_lines,
    sync_directory,
    whole_lines,
    write_atomic,
)
from auto_research.agent_research.rows import EpisodeRow, json_line
from auto_research.benchmarks.base import Json
from auto_research.errors import UserError

Config = Mapping[str, Json]


class RunDir:
    """One run on disk. `create` and `open(write=True)` hold its lock until `close`."""

    def __init__(self, path: Path, config: Config, lock: WriterLock | None) -> None:
        """Not for callers: use `create` or `open`."""
        self.path = path
        self.config = config
        self._lock = lock

    @classmethod
    def create(cls, path: Path, config: Config) -> RunDir:
        """Start a run in `path`, which must be absent or empty.

        `config` holds only what decides results (so not the number of workers).
        Raises UserError if `path` already holds a run or anything else.
        """
        try:
            path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise UserError(
                f"cannot make the run's directory: {error.strerror}", where=str(path)
            ) from None
        lock = WriterLock(path)
        try:
            # A kill before run.yaml was in place leaves only these two: no run yet.
            if strangers := {p.name for p in path.iterdir()} - {".lock", "run.yaml.tmp"}:
                raise _taken(path, is_run="run.yaml" in strangers)
            write_atomic(path / "run.yaml", _to_yaml(config))
            (path / "episodes.jsonl").touch()
            sync_directory(path)
            sync_directory(path.parent)
        except BaseException:
            lock.release()
            raise
        return cls(path, _plain(config), lock)

    @classmethod
    def open(cls, path: Path, *, write: bool = False) -> RunDir:
        """Open an existing run; to read it, or with `write` to go on with it.

        Opening to write cuts off a torn last line of every log.
        Raises UserError if there is no run, or another process is writing it.
        """
        config = _read_config(path)
        lock = WriterLock(path) if write else None
        run = cls(path, config, lock)
        if write:
            for log in (run.episodes_path, run.attempts_path, run.timing_path):
                keep_lines(log)
        return run

    @property
    def episodes_path(self) -> Path:
        return self.path / "episodes.jsonl"

    @property
    def attempts_path(self) -> Path:
        return self.path / "attempts.jsonl"

    @property
    def timing_path(self) -> Path:
        return self.path / "timing.jsonl"

    @property
    def library_path(self) -> Path:
        return self.path / "library.sqlite"

    @property
    def metrics_path(self) -> Path:
        return self.path / "metrics.json"

    @property
    def report_path(self) -> Path:
        return self.path / "report.html"

    def check_config(self, new: Config) -> None:
        """Raises UserError naming every key in which `new` differs from the run's own config."""
        old_keys, new_keys = _flat(self.config), _flat(_plain(new))
        differing = [
            f"{key}: {_short(old_keys, key)} -> {_short(new_keys, key)}"
            for key in sorted(old_keys.keys() | new_keys.keys())
            if _short(old_keys, key, cut=False) != _short(new_keys, key, cut=False)
        ]
        if differing:
            raise UserError(
                f"the run was started with another config: {', '.join(differing)}",
                where=str(self.path / "run.yaml"),
                mend="resume it with its own settings, or start a new run",
            )

    def append(self, rows: Iterable[EpisodeRow]) -> None:
        """Commit a group of rows, in stream order: one write, one fsync."""
        self._append(self.episodes_path, b"".join(row.line() for row in rows))

    def rows(self) -> Iterator[EpisodeRow]:
        """The complete rows, one in memory at a time. Raises UserError for a malformed one."""
        for number, line in enumerate(self.lines(), start=1):
            try:
                record = strict_json.loads(line)
                if not isinstance(record, dict):
                    raise ValueError("it is no object")
                yield EpisodeRow.from_json(record)
            except (ValueError, TypeError) as error:
                raise UserError(
                    f"row {number} cannot be read: {error}",
                    where=str(self.episodes_path),
                    mend="the file was changed or the disk damaged it; run again elsewhere",
                ) from None

    def lines(self) -> Iterator[bytes]:
        """The complete rows as they stand in the file. Raises UserError if it cannot be read."""
        try:
            yield from whole_lines(self.episodes_path)
        except OSError as error:
            raise UserError(
                f"the rows cannot be read: {error.strerror}", where=str(self.episodes_path)
            ) from None

    def row_count(self) -> int:
        """How many complete rows there are."""
        return sum(1 for _ in whole_lines(self.episodes_path))

    def truncate_rows(self, count: int) -> int:
        """Keep the first `count` complete rows; returns how many are left (never more)."""
        self._need_lock()
        return keep_lines(self.episodes_path, count)

    def append_attempts(self, records: Iterable[Mapping[str, Json]]) -> None:
        """Log the spending of killed or failed attempts, which `metrics.json` leaves out."""
        self._append(self.attempts_path, b"".join(map(json_line, records)))

    def attempts(self) -> Iterator[Mapping[str, Json]]:
        """The attempts logged so far."""
        return map(json.loads, whole_lines(self.attempts_path))

    def append_timing(self, records: Iterable[Mapping[str, Json]]) -> None:
        """Log clocks; the only file that holds any. Not synced: nothing depends on it."""
        self._append(self.timing_path, b"".join(map(json_line, records)), sync=False)

    def write_metrics(self, content: bytes) -> None:
        """Write `metrics.json`; see `Metrics.to_bytes`."""
        self._need_lock()
        write_atomic(self.metrics_path, content)

    def close(self) -> None:
        """Let another process write the run; safe to call twice."""
        if self._lock is not None:
            self._lock.release()
            self._lock = None

    def __enter__(self) -> RunDir:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _append(self, path: Path, content: bytes, *, sync: bool = True) -> None:
        self._need_lock()
        if content:
            append_lines(path, content, sync=sync)

    def _need_lock(self) -> None:
        if self._lock is None:
            raise RuntimeError(f"{self.path} is not open for writing")


def _taken(path: Path, *, is_run: bool) -> UserError:
    if is_run:
        return UserError(
            "a run is already there",
            where=str(path),
            mend="go on with it by --resume, or choose another --out",
        )
    return UserError("the directory is not empty", where=str(path), mend="choose another --out")


def _read_config(path: Path) -> Config:
    where = path / "run.yaml"
    try:
        there = where.is_file()
    except OSError:  # a name that no file can have
        there = False
    if not there:
        raise UserError(
            "no run is there", where=str(path), mend="give the directory that holds run.yaml"
        )
    config = strict_yaml.read_written(where)
    if not isinstance(config, dict):
        raise UserError("run.yaml is not a mapping", where=str(where))
    return config


def _to_yaml(config: Config) -> bytes:
    return yaml.safe_dump(_plain(config), sort_keys=True, allow_unicode=True).encode()


def _plain(config: Config) -> Config:
    plain: Config = json.loads(json.dumps(config, allow_nan=False))
    return plain


def _flat(config: Config, prefix: str = "") -> dict[str, Json]:
    """Dotted keys to values; a list is one value, an empty mapping too."""
    flat: dict[str, Json] = {}
    for key, value in config.items():
        if isinstance(value, Mapping) and value:
            flat.update(_flat(value, f"{prefix}{key}."))
        else:
            flat[f"{prefix}{key}"] = value
    return flat


def _short(flat: Mapping[str, Json], key: str, *, cut: bool = True) -> str:
    if key not in flat:
        return "absent"
    text = json.dumps(flat[key], sort_keys=True, ensure_ascii=False)
    return text if not cut or len(text) <= 40 else text[:37] + "..."
