"""Jobs on a real Ray cluster with GPUs that are only counted: handed in, read, ended, gone on."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from launch_cases import CLUSTER as HOME
from launch_cases import changed, command, shipped, write_config
from ray_cluster import ADDRESS, PATIENCE, Cluster, eventually, installed, two_nodes

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(900)]
Capsys = pytest.CaptureFixture[str]


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    if not installed():
        pytest.skip("run `make test-cluster`, which installs Ray")
    with two_nodes() as found:
        yield found


@pytest.fixture
def config(cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PATH", f"{HOME / 'bin'}{os.pathsep}{os.environ['PATH']}")
    data = changed(
        shipped("smoke"),
        program="slow_program",
        cluster__address=ADDRESS,
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


def _named(cluster: Cluster, run: str) -> list[str]:
    """The cluster's jobs of a run: its tries."""
    return [name for name in cluster.jobs() if name.startswith(run)]


def _finish(capsys: Capsys, config: Path, name: str) -> None:
    go = config.parent / "storage" / name / "go"
    go.parent.mkdir(parents=True, exist_ok=True)  # the job may not have come so far
    go.touch()
    eventually(lambda: _state(capsys, config, name), lambda state: state == "succeeded")


def test_a_job_is_handed_in_once_and_ends_well(
    cluster: Cluster, config: Path, capsys: Capsys
) -> None:
    first = _train(capsys, config, "once")
    assert (first["state"], first["job"]["job"]) == ("submitted", "once")
    again = _train(capsys, config, "once")
    assert again["job"]["tries"] == 1
    assert _named(cluster, "once") == ["once"]
    eventually(lambda: _logs(capsys, config, "once"), lambda text: "begins" in text)
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
    assert _named(cluster, "lost") == ["lost"]
    _finish(capsys, config, "lost")


def test_a_cancelled_job_goes_on_from_its_checkpoint_when_handed_in_again(
    config: Path, capsys: Capsys
) -> None:
    _train(capsys, config, "ended")
    eventually(lambda: _logs(capsys, config, "ended"), lambda text: "begins" in text)
    _jobs(capsys, config, "cancel", "ended")
    eventually(lambda: _state(capsys, config, "ended"), lambda state: state == "stopped")
    refused = _train(capsys, config, "ended")
    assert refused.code == 2
    assert "--resume" in refused.err
    again = _train(capsys, config, "ended", "--resume")
    assert (again["job"]["job"], again["job"]["tries"]) == ("ended-2", 2)
    eventually(lambda: _logs(capsys, config, "ended"), lambda text: "goes on" in text)
    _finish(capsys, config, "ended")


def test_a_job_outlives_the_process_that_handed_it_in(
    cluster: Cluster, config: Path, capsys: Capsys
) -> None:
    words = ["train", "--backend", "openrlhf", "--benchmark", "workshop-base"]
    words += ["--config", str(config), "--out", str(config.parent / "runs"), "--name", "alone"]
    main = "from auto_research.cli.main import main; main()"
    python = str(HOME / "bin" / "python")
    driver = subprocess.Popen([python, "-c", main, *words], start_new_session=True)
    eventually(cluster.jobs, lambda jobs: "alone" in jobs)
    os.killpg(driver.pid, signal.SIGKILL)  # and Ray's own command, which it runs
    driver.wait()
    # Nobody hands it in again: the job that is there begins, goes on and ends well.
    eventually(lambda: cluster.log("alone"), lambda text: "begins" in text)
    assert cluster.jobs()["alone"]["status"] == "RUNNING"
    (config.parent / "storage" / "alone" / "go").touch()
    eventually(lambda: cluster.jobs()["alone"]["status"], lambda status: status == "SUCCEEDED")
    # Asked for again, it is found, whatever the driver still wrote down.
    assert _train(capsys, config, "alone")["job"]["state"] == "succeeded"
    assert _named(cluster, "alone") == ["alone"]


def test_a_node_that_does_not_come_is_given_up(cluster: Cluster) -> None:
    assert not cluster.ready(3, within=0.5)


def test_the_death_of_a_node_ends_no_job_of_another(
    cluster: Cluster, config: Path, capsys: Capsys
) -> None:
    _train(capsys, config, "two")
    eventually(lambda: _logs(capsys, config, "two"), lambda text: "begins" in text)
    cluster.nodes[1].terminate()  # its raylet goes with it
    cluster.nodes[1].wait()
    _finish(capsys, config, "two")


def test_a_head_that_never_answers_is_not_waited_for_for_ever() -> None:
    if not installed():
        pytest.skip("run `make test-cluster`, which installs Ray")
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"127.0.0.1:{silent.getsockname()[1]}"
        words = [address, "--nodes", "1", "--gpus", "1", "--within", "1"]
        command = [str(HOME / "bin" / "python"), "-m", "auto_research_openrlhf.ready", *words]
        ended = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE)
    assert ended.returncode == 1
    assert "Ray" in ended.stderr.splitlines()[-1]
