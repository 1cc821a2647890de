"""Whole runs of the agent micro in the workshop, judged by the sealed evaluator."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from evaluating import Brought, library, metrics, rows
from micro_cases import expert, speaking, tiny_checkpoint
from shell import result

from auto_research.agent_research.agents.micro.checkpoint import content_hash
from auto_research.agent_research.method import load_method
from auto_research.benchmarks.workshop import WorkshopBenchmark
from auto_research.errors import UserError
from auto_research.evaluate import Evaluation, prepare
from auto_research.furnishing import EvalRequest
from auto_research.plugins import load_plugins

SLOTS = ("retrieval=sage.scenario", "update=sage.save", "rollout.siblings=2")


def prepared(plugin: Brought | None = None, method: str = "sage", **request: Any) -> Evaluation:
    registry = load_plugins([plugin or Brought()])
    settings = request.pop("settings", SLOTS if method == "sage" else ())
    defaults: dict[str, Any] = {
        "benchmark": "workshop-hid",
        "agent": "micro",
        "episodes": 12,
        "seed": 7,
        "train_scenarios": 2,
        "split": "validation",
    }
    chosen = load_method(method, registry, settings)
    return prepare(EvalRequest(chosen, **{**defaults, **request}), registry)


def spoken() -> Brought:
    """The agent `speaking`: micro, with an expert in place of its model."""
    speak = expert(WorkshopBenchmark("hid"), ("validation", 7, 4), ("train", 0, 2))
    return Brought(agents={"speaking": lambda options: speaking(speak)})


def test_sage_on_it_writes_a_skill_reuses_it_and_is_paid_for_both(tmp_path: Path) -> None:
    run = tmp_path / "run"
    prepared(spoken(), agent="speaking").run(run)
    told = metrics(run)["metrics"]
    assert told["tgc"]["value"] == told["sgc"]["value"] == 1
    test = rows(run, "test")
    assert [bool(row["written"]) for row in test] == [True, False, False] * 4
    assert [any(u["called"] for u in row["uses"]) for row in test] == [False, True, True] * 4
    assert all(row["steps"] <= 4 for row in test if row["position"])  # a call a thing
    assert {row["reward"] for row in rows(run, "training")} == {2.0}  # R1 and R2
    assert {row["model_calls"] for row in rows(run)} == {1}


@pytest.mark.parametrize("temperature", ["0", "1"])
def test_a_run_can_be_repeated_to_the_byte(tmp_path: Path, temperature: str) -> None:
    options = {"checkpoint": str(tiny_checkpoint(tmp_path / "model")), "temperature": temperature}
    runs = [tmp_path / name for name in ("a", "b")]
    for run in runs:
        prepared(agent_options=options).run(run)
    assert result(runs[0]) == result(runs[1])
    mine = rows(runs[0])
    assert all(row["error"] == "" and row["success"] is not None for row in mine)
    assert all(row["generated"] > 0 for row in mine)
    if temperature == "1":
        first = [row["transcript"] for row in rows(runs[0], "training") if row["position"] == 0]
        assert first[0] != first[1]  # siblings go ways of their own


def test_an_empty_hand_is_paid_minus_one(tmp_path: Path) -> None:
    run = tmp_path / "run"
    silent = Brought(agents={"silent": lambda options: speaking(lambda prompt: ["DONE"])})
    prepared(silent, agent="silent").run(run)
    assert {row["reward"] for row in rows(run, "training")} == {-1.0}
    assert library(run) == []


def test_the_checkpoints_hash_stands_in_run_yaml(tmp_path: Path) -> None:
    model = tiny_checkpoint(tmp_path / "model")
    prepared(agent_options={"checkpoint": str(model)}, method="react").run(tmp_path / "run")
    assert content_hash(model) in (tmp_path / "run" / "run.yaml").read_text()
    other = {"checkpoint": str(tiny_checkpoint(tmp_path / "other", seed=1))}
    with pytest.raises(UserError, match=r"agent_config\.checkpoint"):
        prepared(agent_options=other, method="react").run(tmp_path / "run", resume=True)


def test_several_workers_are_refused(tmp_path: Path) -> None:
    model = tiny_checkpoint(tmp_path / "model")
    with pytest.raises(UserError, match="all chains at once in one process"):
        prepared(agent_options={"checkpoint": str(model)}).run(tmp_path / "run", workers=2)


def test_other_benchmarks_are_refused(tmp_path: Path) -> None:
    model = tiny_checkpoint(tmp_path / "model")
    with pytest.raises(UserError, match="told in words"):
        prepared(agent_options={"checkpoint": str(model)}, benchmark="planbench-mini")


@pytest.mark.parametrize("method", ["skillx", "voyager"])
def test_other_methods_run_with_it(tmp_path: Path, method: str) -> None:
    run = tmp_path / "run"
    prepared(spoken(), method, agent="speaking").run(run)
    assert all(row["error"] == "" for row in rows(run)) and len(rows(run, "test")) == 12
