"""How a job is handed to a cluster, asked after, read and ended: Ray by its job API, Slurm by its
own commands.

Handing in is the one thing for which Ray's command is called, since it uploads the folder too.
"""

from __future__ import annotations

import json
import shlex
import subprocess
import urllib.error
import urllib.request
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Protocol

from auto_research.errors import UserError

State = Literal["waiting", "running", "succeeded", "failed", "stopped", "unknown"]
ENDED: tuple[State, ...] = ("succeeded", "failed", "stopped")
_RAY: dict[str, State] = {
    "PENDING": "waiting",
    "RUNNING": "running",
    "SUCCEEDED": "succeeded",
    "FAILED": "failed",
    "STOPPED": "stopped",
}
_SLURM: dict[str, State] = {
    "PENDING": "waiting",
    "CONFIGURING": "waiting",
    "REQUEUED": "waiting",
    "SUSPENDED": "waiting",
    "RUNNING": "running",
    "COMPLETING": "running",
    "COMPLETED": "succeeded",
    "CANCELLED": "stopped",
    "FAILED": "failed",
    "TIMEOUT": "failed",
    "NODE_FAIL": "failed",
    "OUT_OF_MEMORY": "failed",
    "PREEMPTED": "failed",
    "BOOT_FAIL": "failed",
    "DEADLINE": "failed",
}
_PATIENCE = 30  # seconds for one answer of the cluster


@dataclass(frozen=True, slots=True)
class Standing:
    """How a job stands, and what the cluster says of it."""

    state: State
    message: str = ""


class Launcher(Protocol):
    """One cluster. A job's `handle` is the name by which the cluster knows it."""

    def submit(self, words: Sequence[str], folder: Path) -> str:
        """Hand a job in from a run's directory; its handle. Raises UserError."""

    def find(self, name: str) -> str | None:
        """The handle of a job of that name that the cluster has; None if it has none."""

    def standing(self, handle: str) -> Standing:
        """Raises UserError if the cluster does not answer."""

    def logs(self, handle: str, folder: Path) -> str:
        """What the job has written so far. Raises UserError."""

    def cancel(self, handle: str) -> None:
        """End the job. Raises UserError."""


class Ray:
    """A Ray cluster at the address of its dashboard; the handle is the submission id."""

    def __init__(self, address: str) -> None:
        self.address = address.rstrip("/")

    def submit(self, words: Sequence[str], folder: Path) -> str:
        _run(words, folder, mend="pip install 'ray[default]' here, and see that it answers")
        return words[words.index("--submission-id") + 1]

    def find(self, name: str) -> str | None:
        return name if self._ask("GET", f"/api/jobs/{name}", none=True) is not None else None

    def standing(self, handle: str) -> Standing:
        told = self._ask("GET", f"/api/jobs/{handle}", none=True)
        if told is None:
            return Standing("unknown", "the cluster has no such job (any more)")
        return Standing(_RAY.get(told["status"], "unknown"), str(told.get("message") or ""))

    def logs(self, handle: str, folder: Path) -> str:
        return str(self._ask("GET", f"/api/jobs/{handle}/logs")["logs"])

    def cancel(self, handle: str) -> None:
        self._ask("POST", f"/api/jobs/{handle}/stop")

    def _ask(self, verb: str, path: str, *, none: bool = False) -> Any:
        request = urllib.request.Request(f"{self.address}{path}", method=verb)
        try:
            with urllib.request.urlopen(request, timeout=_PATIENCE) as reply:
                return json.loads(reply.read())
        except urllib.error.HTTPError as error:
            if none and error.code == 404:
                return None
            said = error.read().decode(errors="replace").strip().splitlines()
            raise UserError(
                f"Ray refused: {said[-1] if said else error.reason}", where=request.full_url
            ) from None
        except (OSError, ValueError) as error:
            reason = getattr(error, "reason", None) or error
            raise UserError(
                f"no Ray cluster answers: {reason}",
                where=self.address,
                mend="start it, or set cluster.address to its dashboard",
            ) from None


class Slurm:
    """The Slurm that this machine's commands belong to; the handle is the job's number."""

    def submit(self, words: Sequence[str], folder: Path) -> str:
        told = _run(words, folder, mend="run this where sbatch is")
        return told.strip().partition(";")[0]

    def find(self, name: str) -> str | None:
        # A job that is being ended is no longer there.
        words = ["squeue", "--me", "--noheader", "--states=PENDING,CONFIGURING,RUNNING,SUSPENDED"]
        told = _run([*words, "--name", name, "--format", "%A"]).split()
        return told[0] if told else None

    def standing(self, handle: str) -> Standing:
        # The controller remembers a job that has ended for some minutes, accounting for longer.
        words = ["squeue", "--noheader", "--states=all", "--jobs", handle, "--format", "%T"]
        told = _run(words, refused="").strip()
        if not told:
            words = ["sacct", "--noheader", "-X", "--jobs", handle, "--format", "State%40"]
            told = _run(words, refused="").strip()
        word = told.split()[0].rstrip("+") if told else ""
        return Standing(_SLURM.get(word, "unknown"), told)

    def logs(self, handle: str, folder: Path) -> str:
        path = folder / f"slurm-{handle}.log"
        try:
            return path.read_text(encoding="utf-8", errors="replace")
        except OSError:
            return ""

    def cancel(self, handle: str) -> None:
        _run(["scancel", handle])


def _run(
    words: Sequence[str],
    folder: Path | None = None,
    *,
    mend: str = "",
    refused: str | None = None,
) -> str:
    """A command's stdout. Raises UserError if it is not there or fails (unless `refused`)."""
    try:
        done = subprocess.run(
            words,
            cwd=folder,
            capture_output=True,
            text=True,
            check=False,
        )
    except FileNotFoundError:
        raise UserError(f"there is no command {words[0]!r} here", mend=mend) from None
    if done.returncode == 0:
        return done.stdout
    if refused is not None:
        return refused
    said = (done.stderr.strip() or done.stdout.strip() or "no message").splitlines()[-1]
    shown = shlex.join(words[:3])
    raise UserError(f"`{shown} ...` failed ({done.returncode}): {said}", mend=mend)
