"""Replies kept in a file, by the hash of the whole request, so that a run needs no server.

A line a request: what came of it, with the attempts that failed before. A request holds a seed
drawn for its episode, so that siblings that ask the same thing ask it under different keys.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from auto_research.benchmarks.base import Json
from auto_research.errors import RunStopped, UserError

Request = Mapping[str, Json]


@dataclass(frozen=True, slots=True)
class Failure:
    """One attempt that brought no reply. `tokens` is an estimate of what the server worked off."""

    why: str
    tokens: int = 0


@dataclass(frozen=True, slots=True)
class Answer:
    """What came of a request, after `failures`.

    `tokens` are those of prompt and reply, `generated` those of the reply, as the server says, or
    else `estimated`. `cut`: the reply reached its limit. `overflow`: the server found the prompt
    too long, so there is no text.
    """

    text: str = ""
    tokens: int = 0
    generated: int = 0
    estimated: bool = False
    cut: bool = False
    overflow: bool = False
    failures: tuple[Failure, ...] = ()


def key_of(request: Request) -> str:
    """Hash of the whole request, 32 hex digits."""
    text = json.dumps(request, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()[:32]


class Record:
    """The answers in a file. Several processes may add to one file; each line is written whole."""

    def __init__(self, path: Path, *, write: bool) -> None:
        self._path, self._write = path, write
        self._answers: dict[str, Answer] = {}
        self._read = 0  # bytes
        if write:
            try:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.touch()
            except OSError as error:
                raise UserError(f"cannot record: {error.strerror}", where=str(path)) from None
        self._catch_up()

    def get(self, key: str) -> Answer | None:
        """The answer under `key`, if the file has it by now."""
        if key not in self._answers and self._write:
            self._catch_up()
        return self._answers.get(key)

    def add(self, key: str, answer: Answer) -> None:
        """Keep an answer."""
        line = json.dumps({"key": key, **asdict(answer)}, sort_keys=True).encode() + b"\n"
        try:
            file = os.open(self._path, os.O_WRONLY | os.O_APPEND)
            try:
                fcntl.flock(file, fcntl.LOCK_EX)
                while line:  # a full disk may take a part only
                    line = line[os.write(file, line) :]
            finally:
                os.close(file)
        except OSError as error:
            mend = "make room; the same command with --resume goes on"
            told = f"cannot record: {error.strerror}"
            raise RunStopped(told, where=str(self._path), mend=mend) from None
        self._answers[key] = answer

    def _catch_up(self) -> None:
        """Read what was added to the file since; a last line without its end is not there yet."""
        try:
            with self._path.open("rb") as file:
                file.seek(self._read)
                content = file.read()
        except OSError as error:
            raise UserError(f"cannot read: {error.strerror}", where=str(self._path)) from None
        whole = content[: content.rfind(b"\n") + 1]
        self._read += len(whole)
        for line in whole.splitlines():
            try:
                data = json.loads(line)
                self._answers.setdefault(data.pop("key"), _answer(data))
            except (ValueError, TypeError, KeyError, AttributeError):
                raise UserError(
                    "a line is no recorded reply", where=str(self._path), mend="record it anew"
                ) from None


def _answer(data: dict[str, Any]) -> Answer:
    failures = tuple(Failure(**failure) for failure in data.pop("failures"))
    return Answer(failures=failures, **data)
