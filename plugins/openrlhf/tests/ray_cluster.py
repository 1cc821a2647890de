"""A real Ray cluster of two nodes on this machine, whose GPUs are only counted, for a test."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from launch_cases import CLUSTER as HOME

PORT, DASHBOARD, AGENT = 26379, 28265, 25365
ADDRESS = f"http://127.0.0.1:{DASHBOARD}"
GPUS = 8  # a node
PATIENCE = 300.0  # seconds for a slow machine; nothing waits so long otherwise


def installed() -> bool:
    """Whether there is an environment with Ray; `make test-cluster` makes it."""
    return (HOME / "bin" / "ray").exists()


def eventually(
    what: Callable[[], Any],
    wanted: Callable[[Any], bool],
    within: float = PATIENCE,
    every: float = 0.2,
) -> Any:
    """What `what` gives once it is as wanted, asked for `every` so many seconds.

    Fails if that takes too long.
    """
    end = time.monotonic() + within
    while not wanted(found := what()):
        assert time.monotonic() < end, f"still {found!r}"
        time.sleep(every)
    return found


@dataclass
class Cluster:
    """The nodes that run; `folder` is Ray's own, by which its processes are known."""

    folder: Path
    nodes: list[subprocess.Popen[bytes]]

    def start(self, *words: str, cpus: int) -> subprocess.Popen[bytes]:
        """Begin a node. It has come up when `ready` says so."""
        number = len(self.nodes)
        log = (self.folder / f"node-{number}.log").open("wb")
        # A busy machine starts a node slowly, and a dashboard more slowly.
        slow = str(int(PATIENCE))
        environment = {
            **os.environ,
            "RAY_USAGE_STATS_ENABLED": "0",
            "RAY_raylet_start_wait_time_s": slow,
            "RAY_DASHBOARD_SUBPROCESS_MODULE_WAIT_READY_TIMEOUT": slow,
        }
        node = subprocess.Popen(
            [
                *(str(HOME / "bin" / "ray"), "start", *words, *_agents(AGENT + 10 * number)),
                *(f"--num-gpus={GPUS}", f"--num-cpus={cpus}", "--block"),
                f"--min-worker-port={20100 + 400 * number}",
                f"--max-worker-port={20450 + 400 * number}",
                # As on machines of their own: a node unpacks a job's files again over another's.
                f"--temp-dir={self.folder / str(number)}",
                "--object-store-memory=100000000",
            ],
            stdout=log,
            stderr=subprocess.STDOUT,
            env=environment,
            start_new_session=True,
        )
        self.nodes.append(node)
        return node

    def end(self) -> None:
        """End what was started here, and nothing of another Ray on this machine."""
        for number in (signal.SIGTERM, signal.SIGKILL):
            for pid in self._mine():
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, number)
        for node in self.nodes:
            node.wait()

    def _mine(self) -> list[int]:
        found = [node.pid for node in self.nodes if node.poll() is None]
        for entry in Path("/proc").glob("[0-9]*/cmdline"):
            with contextlib.suppress(OSError):
                if str(self.folder).encode() in entry.read_bytes():
                    found.append(int(entry.parent.name))
        return found

    def jobs(self) -> dict[str, dict[str, Any]]:
        """The jobs that were submitted, by name, as Ray itself tells them."""
        found: list[dict[str, Any]] = self._asked("/api/jobs/")
        return {job["submission_id"]: job for job in found if job["submission_id"]}

    def log(self, job: str) -> str:
        """What a job has written, as Ray itself tells it."""
        return str(self._asked(f"/api/jobs/{job}/logs")["logs"])

    def _asked(self, path: str) -> Any:
        with urllib.request.urlopen(f"{ADDRESS}{path}") as reply:
            return json.loads(reply.read())

    def answers(self) -> bool:
        """Whether the dashboard takes questions."""
        try:
            self.jobs()
        except OSError:
            return False
        return True

    def ready(self, nodes: int, within: float = PATIENCE) -> bool:
        """Wait as a batch script does until so many nodes are there; whether they are."""
        words = [f"127.0.0.1:{PORT}", "--nodes", str(nodes), "--gpus", str(GPUS * nodes)]
        module = "auto_research_openrlhf.ready"
        python = str(HOME / "bin" / "python")
        command = [python, "-m", module, *words, "--within", str(within)]
        return subprocess.run(command).returncode == 0


def _agents(port: int) -> list[str]:
    """Ports for a node's helpers. Left to find their own, slow ones end a node as it starts."""
    names = (
        "dashboard-agent-listen",
        "dashboard-agent-grpc",
        "runtime-env-agent",
        "metrics-export",
    )
    return [f"--{name}-port={port + number}" for number, name in enumerate(names)]


@contextlib.contextmanager
def two_nodes(cpus: int = 4) -> Iterator[Cluster]:
    """A cluster of a head with `cpus` CPUs and a node that has none, both with GPUs."""
    # Sockets lie in it, and their paths must be short.
    found = Cluster(Path(tempfile.mkdtemp(prefix="ray-")), [])
    try:
        found.start(
            "--head",
            "--node-ip-address=127.0.0.1",
            f"--port={PORT}",
            f"--dashboard-port={DASHBOARD}",
            cpus=cpus,
        )
        assert found.ready(1)
        found.start(f"--address=127.0.0.1:{PORT}", cpus=0)
        assert found.ready(2)
        eventually(found.answers, bool)
        yield found
    finally:
        found.end()
        shutil.rmtree(found.folder, ignore_errors=True)
