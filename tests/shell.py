"""Runs `agent-eval` in processes of its own, as a user's shell would, and looks at what is left."""

from __future__ import annotations

import ctypes
import os
import select
import signal
import subprocess
import sys
from pathlib import Path

COMMAND = [sys.executable, "-c", "from auto_research.cli.main import main; main()", "agent-eval"]
SMALL = ["--benchmark", "small", "--agent", "telling", "--seed", "7", "--train-scenarios", "2"]
_BE_SUBREAPER = 36  # PR_SET_CHILD_SUBREAPER


def environment(**more: str) -> dict[str, str]:
    """The environment of a process that has the plugin `small_world`."""
    plain = {k: v for k, v in os.environ.items() if k not in ("NO_COLOR", "COLUMNS")}
    here = str(Path(__file__).parent)
    return {
        **plain,
        "PYTHONPATH": os.pathsep.join([here, *filter(None, [plain.get("PYTHONPATH")])]),
        "AUTO_RESEARCH_PLUGINS": "small_world",
        **more,
    }


def agent_eval(*arguments: object, **more: str) -> subprocess.CompletedProcess[str]:
    """`agent-eval` to its end."""
    command = [*COMMAND, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, env=environment(**more))


class Started:
    """`agent-eval` in a process group of its own, which tells of its steps through a pipe."""

    command = COMMAND

    def __init__(self, folder: Path, *arguments: object, **more: str) -> None:
        # What a killed process leaves behind becomes ours, so that `ended` can wait for it.
        ctypes.CDLL(None).prctl(_BE_SUBREAPER, 1)
        pipe = folder / "steps"
        os.mkfifo(pipe)
        self._steps = os.open(pipe, os.O_RDWR)
        self._process = subprocess.Popen(
            [*self.command, *map(str, arguments)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=environment(SMALL_EVENTS=str(pipe), **more),
            start_new_session=True,
        )
        self.pid = self._process.pid

    def steps(self, count: int) -> int:
        """Wait until the run has told of `count` more steps; fewer if it ends before."""
        seen = 0
        end = os.pidfd_open(self.pid)
        while seen < count:
            ready, _, _ = select.select([self._steps, end], [], [])
            if self._steps not in ready:
                break
            seen += len(os.read(self._steps, count - seen))
        os.close(end)
        return seen

    def kill(self, number: signal.Signals = signal.SIGKILL, *, group: bool = True) -> None:
        """Send a signal to every process of the run, as a terminal does, or to the first only."""
        if group:
            os.killpg(self.pid, number)
        else:
            os.kill(self.pid, number)

    def ended(self) -> subprocess.CompletedProcess[str]:
        """Wait until no process of the run is left; the exit code and output of the first."""
        out, err = self._process.communicate()
        os.close(self._steps)
        while True:
            try:
                os.waitpid(-self.pid, 0)
            except ChildProcessError:
                break
        ctypes.CDLL(None).prctl(_BE_SUBREAPER, 0)
        return subprocess.CompletedProcess([], self._process.returncode, out, err)


def result(run: Path) -> dict[str, bytes]:
    """What must be equal in equal runs."""
    return {name: (run / name).read_bytes() for name in ("episodes.jsonl", "metrics.json")}
