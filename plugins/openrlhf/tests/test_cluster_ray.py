"""Jobs on a real Ray cluster with GPUs that are only counted: handed in, read, ended, gone on."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from launch_cases import CLUSTER as HOME
from launch_cases import changed, command, shipped, write_config

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(900)]

PORT, DASHBOARD, AGENT = 26379, 28265, 25365
PATIENCE = 300.0  # seconds for a slow machine; nothing waits so long otherwise
Capsys = pytest.CaptureFixture[str]


def _eventually(what: Callable[[], Any], wanted: Callable[[Any], bool]) -> Any:
    end = time.monotonic() + PATIENCE
    while not wanted(found := what()):
        assert time.monotonic() < end, f"still {found!r}"
        time.sleep(0.2)
    return found


@dataclass
class Cluster:
    folder: Path
    nodes: list[subprocess.Popen[bytes]]

    def start(self, *words: str) -> subprocess.Popen[bytes]:
        log = (self.folder / f"node-{len(self.nodes)}.log").open("wb")
        # A busy machine starts a node slowly, and a dashboard more slowly.
        slow = str(int(PATIENCE))
        environment = {
            **os.environ,
            "RAY_USAGE_STATS_ENABLED": "0",
            "RAY_raylet_start_wait_time_s": slow,
            "RAY_DASHBOARD_SUBPROCESS_MODULE_WAIT_READY_TIMEOUT": slow,
        }
        node = subprocess.Popen(
            [HOME / "bin" / "ray", "start", *words, "--block"],
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

    def jobs(self) -> list[dict[str, Any]]:
        with urllib.request.urlopen(f"http://127.0.0.1:{DASHBOARD}/api/jobs/") as reply:
            found: list[dict[str, Any]] = json.loads(reply.read())
            return [job for job in found if job["submission_id"]]

    def ready(self, nodes: int, gpus: int, within: float = PATIENCE) -> int:
        words = [f"127.0.0.1:{PORT}", "--nodes", str(nodes), "--gpus", str(gpus)]
        module = "auto_research_openrlhf.ready"
        python = str(HOME / "bin" / "python")
        return subprocess.run([python, "-m", module, *words, "--within", str(within)]).returncode


def _agents(port: int) -> list[str]:
    """Ports for a node's helpers. Left to find their own, slow ones end a node as it starts."""
    names = (
        "dashboard-agent-listen",
        "dashboard-agent-grpc",
        "runtime-env-agent",
        "metrics-export",
    )
    return [f"--{name}-port={port + number}" for number, name in enumerate(names)]


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    if not (HOME / "bin" / "ray").exists():
        pytest.skip("run `make test-cluster`, which installs Ray")
    # Sockets lie in it, and their paths must be short.
    found = Cluster(Path(tempfile.mkdtemp(prefix="ray-")), [])
    try:
        yield from _started(found)
    finally:
        found.end()
        shutil.rmtree(found.folder, ignore_errors=True)


def _started(found: Cluster) -> Iterator[Cluster]:
    found.start(
        "--head",
        f"--temp-dir={found.folder}",
        "--node-ip-address=127.0.0.1",
        f"--port={PORT}",
        f"--dashboard-port={DASHBOARD}",
        *_agents(AGENT),
        "--num-gpus=8",
        "--num-cpus=4",
        "--min-worker-port=20100",
        "--max-worker-port=20500",
        "--object-store-memory=100000000",
    )
    assert found.ready(1, 8) == 0

    def answers() -> bool:
        try:
            found.jobs()
        except OSError:
            return False
        return True

    _eventually(answers, bool)
    yield found


@pytest.fixture
def config(cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PATH", f"{HOME / 'bin'}{os.pathsep}{os.environ['PATH']}")
    data = changed(
        shipped("smoke"),
        program="slow_program",
        cluster__address=f"http://127.0.0.1:{DASHBOARD}",
        cluster__storage=str(tmp_path / "storage"),
        cluster__python=str(HOME / "bin" / "python"),
        cluster__env={"PYTHONPATH": str(Path(__file__).parent)},
    )
    return write_config(tmp_path, data, benchmark="workshop-base")


def _train(capsys: Capsys, config: Path, name: str, *arguments: object) -> Any:
    given = ("--backend", "openrlhf", "--benchmark", "workshop-base", "--config", config)
    where = ("--out", config.parent / "runs", "--name", name, "--json")
    ended = command(capsys, "train", *given, *where, *arguments)
    return json.loads(ended.out) if ended.code == 0 else ended


def _jobs(capsys: Capsys, config: Path, *words: object) -> Any:
    ended = command(capsys, "jobs", *words, "--out", config.parent / "runs", "--json")
    assert ended.code == 0, ended.err
    return json.loads(ended.out)


def _state(capsys: Capsys, config: Path, name: str) -> str:
    return str(_jobs(capsys, config, "status", name)["state"])


def _logs(capsys: Capsys, config: Path, name: str) -> str:
    return command(capsys, "jobs", "logs", name, "--out", config.parent / "runs").out


def _finish(capsys: Capsys, config: Path, name: str) -> None:
    go = config.parent / "storage" / name / "go"
    go.parent.mkdir(parents=True, exist_ok=True)  # the job may not have come so far
    go.touch()
    _eventually(lambda: _state(capsys, config, name), lambda state: state == "succeeded")


def test_a_job_is_handed_in_once_and_ends_well(
    cluster: Cluster, config: Path, capsys: Capsys
) -> None:
    first = _train(capsys, config, "once")
    assert (first["state"], first["job"]["job"]) == ("submitted", "once")
    again = _train(capsys, config, "once")
    assert again["job"]["tries"] == 1
    assert [job["submission_id"] for job in cluster.jobs()].count("once") == 1
    _eventually(lambda: _logs(capsys, config, "once"), lambda text: "begins" in text)
    _finish(capsys, config, "once")
    assert "done" in _logs(capsys, config, "once")
    facts = json.loads((config.parent / "storage" / "once" / "benchmark.json").read_bytes())
    assert facts["name"] == "workshop-base@1"
    [row] = [row for row in _jobs(capsys, config, "list") if row["job"] == "once"]
    assert row["state"] == "succeeded"
    # Asked for once more, it has been done.
    assert _train(capsys, config, "once")["job"]["state"] == "succeeded"


def test_other_settings_under_the_same_name_are_refused(config: Path, capsys: Capsys) -> None:
    _train(capsys, config, "mine")
    other = _train(capsys, config, "mine", "--seed", 5)
    assert other.code == 2
    assert "flags.train.seed: 0 -> 5" in other.err
    _finish(capsys, config, "mine")


def test_a_launcher_killed_before_it_knew_finds_its_job_again(
    cluster: Cluster, config: Path, capsys: Capsys
) -> None:
    _train(capsys, config, "lost")
    record = config.parent / "runs" / "lost" / "job.json"
    told = json.loads(record.read_bytes())
    told["tries"][-1]["handle"] = ""  # as the record stands between asking and being answered
    record.write_text(json.dumps(told))
    assert _train(capsys, config, "lost")["job"]["job"] == "lost"
    assert [job["submission_id"] for job in cluster.jobs()].count("lost") == 1
    _finish(capsys, config, "lost")


def test_a_cancelled_job_goes_on_from_its_checkpoint_when_handed_in_again(
    config: Path, capsys: Capsys
) -> None:
    _train(capsys, config, "ended")
    _eventually(lambda: _logs(capsys, config, "ended"), lambda text: "begins" in text)
    _jobs(capsys, config, "cancel", "ended")
    _eventually(lambda: _state(capsys, config, "ended"), lambda state: state == "stopped")
    refused = _train(capsys, config, "ended")
    assert refused.code == 2
    assert "--resume" in refused.err
    again = _train(capsys, config, "ended", "--resume")
    assert (again["job"]["job"], again["job"]["tries"]) == ("ended-2", 2)
    _eventually(lambda: _logs(capsys, config, "ended"), lambda text: "goes on" in text)
    _finish(capsys, config, "ended")


def test_a_job_outlives_the_process_that_handed_it_in(config: Path, capsys: Capsys) -> None:
    out = config.parent / "runs"
    words = ["train", "--backend", "openrlhf", "--benchmark", "workshop-base"]
    words += ["--config", str(config), "--out", str(out), "--name", "alone"]
    main = "from auto_research.cli.main import main; main()"
    python = str(HOME / "bin" / "python")
    driver = subprocess.Popen([python, "-c", main, *words])

    def known() -> bool:
        record = out / "alone" / "job.json"
        return record.exists() and bool(json.loads(record.read_bytes())["tries"])

    _eventually(known, bool)
    driver.kill()
    driver.wait()
    _train(capsys, config, "alone")  # handed in by now, whoever did it
    _eventually(lambda: _logs(capsys, config, "alone"), lambda text: "begins" in text)
    _finish(capsys, config, "alone")


def test_a_second_node_is_waited_for_and_its_death_ends_no_job(
    cluster: Cluster, config: Path, capsys: Capsys
) -> None:
    assert cluster.ready(2, 16, within=0.5) == 1
    node = cluster.start(
        f"--address=127.0.0.1:{PORT}",
        *_agents(AGENT + 10),
        "--num-gpus=8",
        "--num-cpus=2",
        "--min-worker-port=20600",
        "--max-worker-port=20900",
        "--object-store-memory=100000000",
    )
    assert cluster.ready(2, 16) == 0
    _train(capsys, config, "two")
    _eventually(lambda: _logs(capsys, config, "two"), lambda text: "begins" in text)
    node.terminate()  # its raylet goes with it
    node.wait()
    _finish(capsys, config, "two")


def test_a_head_that_never_answers_is_not_waited_for_for_ever() -> None:
    if not (HOME / "bin" / "ray").exists():
        pytest.skip("run `make test-cluster`, which installs Ray")
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"127.0.0.1:{silent.getsockname()[1]}"
        words = [address, "--nodes", "1", "--gpus", "1", "--within", "1"]
        command = [str(HOME / "bin" / "python"), "-m", "auto_research_openrlhf.ready", *words]
        ended = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE)
    assert ended.returncode == 1
    assert "Ray" in ended.stderr.splitlines()[-1]
