"""The result directory of a search: what it leaves behind, safe against kills, one writer.

`trials.jsonl` is the truth: a line for each genome of each arm, in the order in which they were
proposed. A resumed search goes through the same proposals again and takes their outcomes from it.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from types import TracebackType

import yaml

from auto_research.agent_research.durable import (
    WriterLock,
    append_lines,
    keep_lines,
    sync_directory,
    whole_lines,
    write_atomic,
)
from auto_research.agent_research.rows import json_line
from auto_research.benchmarks.base import Json
from auto_research.errors import UserError
from auto_research.evolution.lines import read_lines
from auto_research.evolution.search import Place
from auto_research.evolution.trial import Outcome

CONFIG, TRIALS = "evolve.yaml", "trials.jsonl"


@dataclass(frozen=True, slots=True)
class Trial:
    """One line of `trials.jsonl`. `cached`: the genome had been evaluated before, at no cost."""

    number: int
    place: Place
    outcome: Outcome
    cached: bool

    @property
    def hash(self) -> str:
        """The content of its genome."""
        return self.place.proposal.genome.hash

    def to_json(self) -> dict[str, Json]:
        """The line as plain data."""
        proposal = self.place.proposal
        return {
            "trial": self.number,
            "arm": self.place.arm,
            "generation": self.place.generation,
            "hash": self.hash,
            "method": proposal.genome.to_dict(),
            "parents": list(proposal.parents),
            "origins": dict(proposal.origins),
            "cached": self.cached,
            "status": "failed" if self.outcome.fitness is None else "done",
            **asdict(self.outcome),
        }

    def line(self) -> bytes:
        """The line as it is written. Raises ValueError for NaN."""
        return json_line(self.to_json())


class EvolveDir:
    """One search on disk, locked until `close`."""

    def __init__(self, path: Path, config: Mapping[str, Json], resume: bool) -> None:
        """Begin a search in `path`, or with `resume` go on with it.

        Raises UserError if something else is there, another process writes it, or the config of a
        search to go on with was another one, naming the keys.
        """
        self.path, self._config = path, config
        try:
            path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise UserError(
                f"cannot make the run's directory: {error.strerror}", where=str(path)
            ) from None
        self._lock = WriterLock(path)
        try:
            self._begin(config, resume)
        except BaseException:
            self.close()
            raise

    def _begin(self, config: Mapping[str, Json], resume: bool) -> None:
        where = self.path / CONFIG
        if where.exists():
            if not resume:
                raise UserError(
                    "a search is already there",
                    where=str(self.path),
                    mend="go on with it by --resume, or choose another --out",
                )
            _check_same(where, config)
            keep_lines(self.trials_path)
        else:
            if {p.name for p in self.path.iterdir()} - {".lock", f"{CONFIG}.tmp"}:
                raise UserError(
                    "the directory is not empty", where=str(self.path), mend="choose another --out"
                )
            text = yaml.safe_dump(dict(config), sort_keys=True, allow_unicode=True)
            write_atomic(where, text.encode())
            self.trials_path.touch()
        for name in ("running", "transcripts", "test"):
            (self.path / name).mkdir(exist_ok=True)
        sync_directory(self.path)

    @property
    def trials_path(self) -> Path:
        return self.path / TRIALS

    def running(self, genome: str) -> Path:
        """Where a trial runs for the while; such a directory does not stay."""
        return self.path / "running" / genome[:16]

    def test(self, genome: str) -> Path:
        """The run directory of a method on test."""
        return self.path / "test" / genome[:16]

    def lines(self) -> list[dict[str, Json]]:
        """The trials there are. Raises UserError for a line that cannot be one."""
        return read_lines(whole_lines(self.trials_path), str(self.trials_path), self._config)

    def append(self, trial: Trial) -> None:
        """One line, on disk before this returns. Raises ValueError for NaN."""
        append_lines(self.trials_path, trial.line())

    def time(self, record: Mapping[str, Json]) -> None:
        """A clock's reading; `timing.jsonl` is the only file that holds any."""
        append_lines(self.path / "timing.jsonl", json_line(record), sync=False)

    def write(self, name: str, text: str) -> Path:
        """A result file, whole or not at all."""
        write_atomic(self.path / name, text.encode())
        return self.path / name

    def tidy(self) -> None:
        """Remove what trials that were broken off left."""
        shutil.rmtree(self.path / "running", ignore_errors=True)

    def close(self) -> None:
        """Let another process write here; safe to call twice."""
        self._lock.release()

    def __enter__(self) -> EvolveDir:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def _check_same(where: Path, config: Mapping[str, Json]) -> None:
    try:
        old = yaml.safe_load(where.read_bytes())
        before, now = _flat(old), _flat(config)
    except (OSError, yaml.YAMLError, AttributeError) as error:
        raise UserError(f"the config cannot be read: {error}", where=str(where)) from None
    keys = [k for k in sorted(before.keys() | now.keys()) if before.get(k) != now.get(k)]
    if keys:
        told = ", ".join(f"{k}: {before.get(k, 'absent')} -> {now.get(k, 'absent')}" for k in keys)
        raise UserError(
            f"the search was started with another config: {told}",
            where=str(where),
            mend="resume it with its own settings, or start a new one",
        )


def _flat(config: Mapping[str, Json], prefix: str = "") -> dict[str, str]:
    """Dotted keys to short texts of their values."""
    found: dict[str, str] = {}
    for key, value in config.items():
        if isinstance(value, Mapping) and value:
            found |= _flat(value, f"{prefix}{key}.")
        else:
            found[prefix + key] = json.dumps(value, sort_keys=True, ensure_ascii=False)
    return found
