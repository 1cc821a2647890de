"""A whole comparison with real jobs: dispatched to Ray, trained, collected and compared.

On a CPU a job runs `auto_research_openrlhf.on_cpu` in the place of OpenRLHF's trainer, with the
flags that the trainer would get. Everything around it is what a cluster with GPUs would run.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parents[1]))
pytest.importorskip("vllm")
pytest.importorskip("openrlhf")

import executor_tiny as tiny
from auto_research_openrlhf.build import main as build
from executor_cases import rows_in
from launch_cases import CLUSTER as HOME
from launch_cases import changed, shipped
from ray_cluster import ADDRESS, Cluster, eventually, installed, two_nodes

from auto_research import strict_yaml
from auto_research.agent_research.rows import EpisodeRow
from auto_research.benchmarks.appworld.home import Home, default_home

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(3600)]

METHODS = ("grpo", "sage", "voyager")
PROGRAM = "auto_research_openrlhf.on_cpu"
STEPS, PROMPTS, G, REPEATS, SCENARIOS = 2, 2, 4, 2, 1
TRAJECTORIES = STEPS * PROMPTS * G * tiny.LENGTH
PATIENCE = 3000.0  # seconds for three trainings, one after the other


@dataclass(frozen=True)
class Dispatched:
    """A comparison whose jobs have ended: its folder, and what each command said."""

    folder: Path
    model: Path
    jobs: Sequence[dict[str, Any]]
    logs: dict[str, str]
    collected: dict[str, Any]
    table: dict[str, Any]

    def rows(self, method: str) -> list[EpisodeRow]:
        """What the executors of a method's job left, read without the collector."""
        return rows_in(self.storage(method))

    def storage(self, method: str) -> Path:
        return self.folder / "storage" / f"all-{method}-1"


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    if not installed():
        pytest.skip("run `make test-cluster`, which installs Ray")
    if not Home(default_home()).installed():
        pytest.skip("AppWorld is not set up here: auto-research appworld setup")
    # One CPU, and an engine wants one: the trainings wait for each other.
    with two_nodes(cpus=1) as found:
        yield found


def _config(folder: Path, model: Path) -> Path:
    shape = json.loads((model / "config.json").read_bytes())
    tests = folder / "evaluation.jsonl"
    given = ("--benchmark", tiny.BENCHMARK, "--evaluation", "--scenarios", str(SCENARIOS))
    assert build([*given, "--seed", str(tiny.SEED), "--out", str(tests)]) == 0
    data = changed(
        shipped("smoke"),
        program=PROGRAM,
        model={
            "path": str(model),
            "parameters": (model / "model.safetensors").stat().st_size // 2,
            "layers": shape["num_hidden_layers"],
            "hidden": shape["hidden_size"],
            "intermediate": shape["intermediate_size"],
            "heads": shape["num_attention_heads"],
            "kv_heads": shape["num_key_value_heads"],
            "head_size": shape["hidden_size"] // shape["num_attention_heads"],
            "vocabulary": shape["vocab_size"],
            "context": tiny.CONTEXT,
        },
        cluster__address=ADDRESS,
        cluster__storage=str(folder / "storage"),
        cluster__python=str(HOME / "bin" / "python"),
        chains={"rollout": "sage.sequential", "length": tiny.LENGTH, "siblings": G},
        budget={
            "steps": STEPS,
            "trajectories_per_step": PROMPTS * G * tiny.LENGTH,
            "tokens_per_trajectory": tiny.CONTEXT,
            "tokens_per_turn": 300,
            "turns": 2,
        },
        evaluation={"split": "validation", "repeats": REPEATS, "temperature": 1.0},
        data__train=str(model / "rows.jsonl"),
        data__evaluation=str(tests),
        benchmark__worlds=2,
    )
    data["flags"] |= {"actor.adam.lr": 1e-3, "algo.advantage.is_correction_level": "token"}
    path = folder / "config.yaml"
    path.write_text(strict_yaml.dump(data))
    return path


def _shell(*words: object) -> str:
    """What a command of this project prints, in an environment that has Ray's too."""
    path = f"{HOME / 'bin'}{os.pathsep}{os.environ['PATH']}"
    ended = subprocess.run(
        [str(HOME / "bin" / "auto-research"), *map(str, words)],
        env={**os.environ, "PATH": path},
        capture_output=True,
        text=True,
    )
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


def _said(*words: object) -> Any:
    return json.loads(_shell(*words, "--json"))


def _none_is_open(jobs: Sequence[dict[str, Any]]) -> bool:
    return not {"waiting", "running"} & {job["state"] for job in jobs}


@pytest.fixture(scope="module")
def done(cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Dispatched:
    folder, model = tmp_path_factory.mktemp("all"), tiny.made(tmp_path_factory.getbasetemp())
    asked = ("--methods", ",".join(METHODS), "--seeds", "1", "--benchmark", tiny.BENCHMARK)
    where = ("--config", _config(folder, model), "--out", folder / "runs", "--name", "all")
    told = _said("dispatch", *asked, *where)
    assert (told["program"], len(told["jobs"])) == (PROGRAM, len(METHODS))
    runs = folder / "runs" / "all"
    listed = ("jobs", "list", "--out", runs)
    jobs = eventually(lambda: _said(*listed), _none_is_open, PATIENCE, every=10)
    logs = {job["job"]: _shell("jobs", "logs", job["job"], "--out", runs) for job in jobs}
    assert {job["state"] for job in jobs} == {"succeeded"}, "\n".join(logs.values())
    collected = _said("dispatch", "collect", runs)
    table = _said("compare", *collected["runs"], "--out", folder / "compared")
    return Dispatched(folder, model, jobs, logs, collected, table)


def test_every_job_ran_and_says_what_ran_in_the_trainers_place(done: Dispatched) -> None:
    assert {job["job"] for job in done.jobs} == {f"all-{method}-1" for method in METHODS}
    assert {job["program"] for job in done.jobs} == {PROGRAM}
    for log in done.logs.values():
        assert "in the place of train_ppo_ray" in log
    for run in done.collected["runs"]:
        told: Any = strict_yaml.read(Path(run) / "run.yaml")
        assert told["cluster"]["program"] == PROGRAM


@pytest.mark.parametrize("method", METHODS)
def test_every_job_really_trained_its_method(done: Dispatched, method: str) -> None:
    import torch
    from safetensors.torch import load_file

    lines = [x for x in done.logs[f"all-{method}-1"].splitlines() if x.startswith('{"')]
    steps = [json.loads(line) for line in lines]
    print(*lines, sep="\n")
    assert [step["step"] for step in steps] == list(range(1, STEPS + 1))
    assert {step["samples"] for step in steps} == {TRAJECTORIES / STEPS}
    assert all(step["engine_apart"] < 0.05 for step in steps)
    before, after = (
        load_file(folder / "model.safetensors")
        for folder in (done.model, done.storage(method) / "model")
    )
    learned = any(step["grad_norm"] > 0 for step in steps)
    assert learned
    assert any(not torch.equal(before[name], after[name]) for name in before)
    rows = done.rows(method)
    assert not any(row.error for row in rows)
    training = [row for row in rows if row.phase == "training"]
    assert sum(step["action_tokens"] for step in steps) == sum(row.generated for row in training)
    assert any(row.written for row in training) == (method != "grpo")


def test_the_budgets_are_matched_and_used_up(done: Dispatched) -> None:
    assert done.collected["open"] == []
    assert done.collected["unmatched"] == []
    assert {one["trajectories"] for one in done.collected["spending"]} == {TRAJECTORIES}
    tried = {one["evaluation_trajectories"] for one in done.collected["spending"]}
    assert tried == {SCENARIOS * 3 * REPEATS}
    assert len(done.collected["runs"]) == len(METHODS) * REPEATS


def test_there_is_one_table_whose_spending_is_that_of_the_ledgers(done: Dispatched) -> None:
    table = done.table
    assert [line["method"] for line in table["methods"]] == list(METHODS)
    assert table["warnings"] == []
    for line in table["methods"]:
        rows = done.rows(line["method"])
        episodes = table["episodes_per_run"]
        assert line["episodes"] == episodes * REPEATS == SCENARIOS * 3 * REPEATS
        training, test = (
            sum(row.units for row in rows if row.phase == phase) for phase in ("training", "test")
        )
        # The table tells units an episode. Each repeat shares the training, and pays for it.
        assert line["units"]["training"]["value"] * episodes == pytest.approx(training, abs=1)
        assert line["units"]["test"]["value"] * episodes * REPEATS == pytest.approx(test, abs=1)
        [told] = [o for o in done.collected["spending"] if o["run"] == f"all-{line['method']}-1"]
        mine = [row for row in rows if row.phase == "training"]
        assert told["tokens"] == sum(row.tokens for row in mine)
        assert told["interactions"] == sum(row.steps for row in mine)
        assert told["units"] == training
