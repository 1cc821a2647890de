"""Worlds as the harness sees them: each a process behind a socket, all forked by one server."""

from __future__ import annotations

import contextlib
import json
import shutil
import socket
import subprocess
import tempfile
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from auto_research.benchmarks.appworld.home import PACKAGE, Home
from auto_research.benchmarks.appworld.scratch import Scratch
from auto_research.benchmarks.base import Json, Observation
from auto_research.errors import UserError

_STARTING = (
    1800.0  # seconds for a server to import AppWorld, on a machine that has other things to do
)
_ENDING = 30.0  # seconds for it to end by itself
_SPOOLED = 1000  # worlds whose outputs are there to be judged
RESUME = "once that is mended, the same command with --resume goes on from there"
UNSAFE, CLOCK, STRAYED = "unsafe-worlds", "safety-net", "strayed-code"
BROKE = "world-broke"
_ENDED = "Execution failed. Traceback:\nThe world has ended: "


@dataclass(frozen=True, slots=True)
class Limits:
    """Safety nets on one piece of code, in seconds: AppWorld's own limit (its default is kept), and
    how long after it a world that still runs is ended from outside."""

    seconds: int = 100
    grace: float = 30.0


class Worlds:
    """Opens the worlds of one data root. The server starts with the first; safe in threads.

    What AppWorld writes of each world goes into the folder `spool`.
    """

    def __init__(
        self,
        home: Home,
        root: Path,
        spool: Path,
        *,
        unsafe: bool = False,
        limits: Limits | None = None,
    ) -> None:
        self._home, self._root, self._unsafe = home, root, unsafe
        self._spool = Path(tempfile.mkdtemp(dir=spool))  # the spool may outlive this
        self._limits = limits or Limits()
        self._server: _Server | None = None
        self._lock = threading.Lock()
        self._count = 0

    def open(self, task: str, keep: Path | None = None) -> World:
        """Open a task's world anew. Raises UserError if no world can be opened."""
        with self._lock:
            self._count += 1
            outputs = self._outputs(self._count)
            self._outputs(self._count - _SPOOLED).unlink(missing_ok=True)
            for attempt in (1, 2):
                server = self._server = self._server or _Server(
                    self._home, self._root, self._spool, self._limits, unsafe=self._unsafe
                )
                try:
                    pid, connection = server.world(task)
                    break
                except OSError as error:  # the server is gone; one more is tried
                    self._end_server()
                    if attempt == 2:
                        raise UserError(
                            f"the server of AppWorld's worlds died: {error}", mend=RESUME
                        ) from None
        flags = (UNSAFE,) if self._unsafe else ()
        return World(server, pid, connection, task, _Files(outputs, keep), self._limits, flags)

    def server_pid(self) -> int:
        """Process id of the server; 0 while none runs."""
        return self._server.pid if self._server else 0

    def close(self) -> None:
        """End every world; the next one opened starts a new server. Safe to call twice."""
        with self._lock:
            self._end_server()

    def _outputs(self, number: int) -> Path:
        return self._spool / f"{number}.json"

    def _end_server(self) -> None:
        server, self._server = self._server, None
        if server is not None:
            server.close()


class World:
    """One task's world: an `Environment`."""

    def __init__(
        self,
        server: _Server,
        pid: int,
        connection: socket.socket,
        task: str,
        files: _Files,
        limits: Limits,
        flags: tuple[str, ...],
    ) -> None:
        self._server, self._pid, self._connection = server, pid, connection
        self._task, self._files, self._limits = task, files, limits
        self._reading = connection.makefile("rb")
        self._flags = set(flags)
        self._why_ended = ""
        self._open = True
        opened = self._ask(None, _STARTING)
        if "opened" not in opened:
            self.close()
            raise UserError(
                f"the world of {task!r} could not be opened",
                where=str(opened.get("error") or self._why_ended),
                mend=RESUME,
            )

    def execute(self, code: str, calls: int | None = None) -> Observation:
        """Run code, at most `calls` API calls of it. A world that hangs or breaks is ended."""
        if self._why_ended:
            return Observation(_ENDED + self._why_ended, failed=True)
        seconds = self._limits.seconds + self._limits.grace
        told = self._ask({"op": "execute", "code": code, "calls": calls}, seconds)
        if self._why_ended:
            return Observation(_ENDED + self._why_ended, failed=True)
        if told.get("timed_out"):
            self._flags.add(CLOCK)
        return Observation(
            text=str(told.get("text")),
            failed=told.get("failed") is not False,
            calls=_count(told.get("calls")),
            finished=told.get("finished") is True,
        )

    def submission(self) -> Mapping[str, Json]:
        """The file with what AppWorld wrote; none if the world has ended."""
        told = {} if self._why_ended else self._ask({"op": "files"}, _ENDING)
        files = told.get("files")
        if not isinstance(files, dict):
            return {"outputs": None}
        return {"outputs": str(self._files.write(self._task, files))}

    def flags(self) -> tuple[str, ...]:
        """What sets it apart: not shut in, stopped by a clock, or code looked where it may not."""
        return tuple(sorted(self._flags))

    def close(self) -> None:
        """End the process; safe to call twice."""
        if self._open:
            self._open = False
            self._reading.close()
            self._connection.close()
            self._server.end(self._pid)

    def _ask(self, request: Mapping[str, Json] | None, seconds: float) -> dict[str, Any]:
        """The world's answer; empty if it gave none, which ends it."""
        self._connection.settimeout(seconds)
        try:
            if request is not None:
                self._connection.sendall(json.dumps(request).encode() + b"\n")
            line = self._reading.readline()
            answer = json.loads(line) if line.endswith(b"\n") else None
        except TimeoutError:
            self._flags.add(CLOCK)
            self._why_ended = f"it did not answer within {seconds:.0f} seconds"
        except (OSError, ValueError):
            self._break_off()
        else:
            if isinstance(answer, dict):
                self._flags.update([STRAYED] if answer.get("strayed") is True else [])
                return answer
            self._break_off()
        return {}

    def _break_off(self) -> None:
        self._flags.add(BROKE)
        self._why_ended = "its process broke off"


@dataclass(frozen=True, slots=True)
class _Files:
    """Where to put what AppWorld wrote of a world: for the judge, and in a folder that keeps it."""

    outputs: Path
    keep: Path | None

    def write(self, task: str, files: Mapping[str, str]) -> Path:
        self.outputs.write_text(json.dumps(files), encoding="utf-8")
        if self.keep is not None:
            self.keep.mkdir(parents=True, exist_ok=True)
            fresh = self.keep / f"{task}.new"
            shutil.copyfile(self.outputs, fresh)
            fresh.replace(self.keep / f"{task}.json")
        return self.outputs


class _Server:
    """The process that forks worlds."""

    def __init__(
        self, home: Home, root: Path, spool: Path, limits: Limits, *, unsafe: bool
    ) -> None:
        self._place = tempfile.mkdtemp(prefix="worlds-", dir=spool)
        self._control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._lock = threading.Lock()
        hidden = {str(home.path), str(PACKAGE), str(PACKAGE.resolve())}
        argv = [
            *(str(home.python), "-m", "auto_research.benchmarks.appworld.inside.server"),
            *("--control", str(theirs.fileno()), "--root", str(root), "--place", self._place),
            *("--seconds", str(limits.seconds), *(["--unsafe"] if unsafe else [])),
            *(f"--hide={path}" for path in sorted(hidden)),
        ]
        with theirs, tempfile.TemporaryFile() as complaints:
            self._child = subprocess.Popen(
                argv,
                stdin=subprocess.DEVNULL,
                stdout=complaints,
                stderr=complaints,
                pass_fds=[theirs.fileno()],
                env=home.environment(),
            )
            theirs.close()
            self._control.settimeout(_STARTING)
            try:
                told = json.loads(self._control.recv(65536) or b"{}")
            except OSError as error:
                told = {"error": str(error)}
            if "ready" not in told:
                self.close()
                complaints.seek(0)
                said = complaints.read().decode(errors="replace").strip().splitlines()
                raise UserError(
                    f"AppWorld's worlds cannot be served: {told.get('error') or said[-1:]}",
                    mend="`auto-research doctor` tells what is missing",
                )

    @property
    def pid(self) -> int:
        return self._child.pid

    def world(self, task: str) -> tuple[int, socket.socket]:
        """Process id and socket of a new world. Raises OSError if this server is gone."""
        ours, theirs = socket.socketpair()
        with theirs, self._lock:
            try:
                message = json.dumps({"open": task}).encode()
                socket.send_fds(self._control, [message], [theirs.fileno()])
                told = json.loads(self._control.recv(65536) or b"{}")
            except (OSError, ValueError):
                told = {}
        if "pid" not in told:
            ours.close()
            raise OSError("it does not answer")
        return int(told["pid"]), ours

    def end(self, pid: int) -> None:
        """End a world's process, and wait until it is gone."""
        with self._lock, contextlib.suppress(OSError):
            self._control.sendall(json.dumps({"end": pid}).encode())
            self._control.recv(65536)

    def close(self) -> None:
        """End all worlds and the server."""
        self._control.close()
        try:
            self._child.wait(timeout=_ENDING)
        except subprocess.TimeoutExpired:
            self._child.kill()
            self._child.wait()
        shutil.rmtree(self._place, ignore_errors=True)


def _count(value: object) -> int:
    return value if isinstance(value, int) and value > 0 else 0


def can_be_shut_in(home: Home) -> str:
    """Why worlds cannot be isolated on this system; empty if they can."""
    module = "auto_research.benchmarks.appworld.inside.isolation"
    with Scratch() as place:
        argv = [str(home.python), "-m", module, str(place)]
        done = subprocess.run(argv, capture_output=True, env=home.environment(), check=False)
        lines = done.stderr.decode(errors="replace").strip().splitlines()
    if done.returncode == 0:
        return ""
    return lines[-1] if lines else f"exit status {done.returncode}"
