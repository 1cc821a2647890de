"""Data sets: what chains they hold, that they are read back, and that they are always the same."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from pathlib import Path
from typing import Any

import executor_bench
import pytest
from auto_research_openrlhf.build import evaluation_rows, main, rollout_of, training_rows
from auto_research_openrlhf.dataset import read_rows
from auto_research_openrlhf.label import read_label
from executor_cases import registry

from auto_research.agent_research.alike import alike
from auto_research.errors import UserError


def train(length: int = 2, rows: int = 12, **more: Any) -> list[dict[str, Any]]:
    return training_rows(
        "sums",
        executor_bench.Sums(),
        rollout_of(registry(), length),
        rows=rows,
        length=length,
        seed=7,
        **more,
    )


@pytest.mark.parametrize("length", [1, 2, 3])
def test_chains_are_tasks_of_one_scenario_each_scenario_in_turn(length: int) -> None:
    labels = [read_label(row["label"]) for row in train(length, limit=4)]
    assert [label.row for label in labels] == list(range(12))
    assert [label.scenario for label in labels] == [f"train7x{n}" for n in (0, 1, 2, 3)] * 3
    for label in labels:
        assert len(set(label.tasks)) == length == label.chain_length and not label.evaluation
        assert all(task.startswith(label.scenario) for task in label.tasks)
    assert len({tuple(label.tasks) for label in labels[::4]}) > 1 or length == 1  # drawn anew


def test_the_same_seed_gives_the_same_rows_and_another_one_others() -> None:
    def seeded(seed: int) -> list[dict[str, Any]]:
        return training_rows(
            "sums", executor_bench.Sums(), rollout_of(registry(), 2), rows=6, length=2, seed=seed
        )

    assert seeded(7) == seeded(7) != seeded(8)


def test_chains_can_be_made_of_tasks_whose_queries_are_alike() -> None:
    labels = [read_label(row["label"]) for row in train(2, rows=12, by="ngrams", limit=8)]
    assert {label.scenario for label in labels} == {f"alike-{n}" for n in range(12)}
    assert max(Counter(t for label in labels for t in label.tasks).values()) == 1
    groups = alike(executor_bench.Sums().scenarios("train", 7, 3), 2, "ngrams")
    assert [len(group.tasks) for group in groups] == [2, 2, 2, 2]


def test_an_evaluation_takes_whole_scenarios_of_another_split() -> None:
    rows: list[Any] = evaluation_rows("sums", executor_bench.Sums(), split="validation", seed=7)
    labels = [read_label(row["label"]) for row in rows]
    assert len(labels) == 8 and {len(label.tasks) for label in labels} == {3}
    assert all(label.evaluation and label.split == "validation" for label in labels)
    assert {row["datasource"] for row in rows} == {"sums-validation"}


def test_a_chain_longer_than_its_scenario_is_refused() -> None:
    with pytest.raises(UserError, match="not 4"):
        train(4)


def test_a_rollout_that_knows_no_chain_length_is_refused() -> None:
    with pytest.raises(UserError, match="no chain_length"):
        rollout_of(registry(), 2, "stream.scenarios")


def test_the_command_writes_rows_that_the_launcher_reads_and_their_hash(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("AUTO_RESEARCH_PLUGINS", "executor_bench")
    path = tmp_path / "data" / "chains.jsonl"
    words = ["--benchmark", "sums", "--seed", "7", "--out", str(path)]
    assert main([*words, "--rows", "5"]) == 0
    told = json.loads(capsys.readouterr().out)
    rows = read_rows(path, key="data.train", benchmark="sums", evaluation=False)
    assert rows.lengths == (2,) * 5
    about = json.loads(path.with_suffix(".json").read_text())
    assert about["sha256"] == told["sha256"] == hashlib.sha256(path.read_bytes()).hexdigest()
    assert about["benchmark"] == "sums@1" and about["rows"] == 5
    assert main([*words, "--evaluation"]) == 0
    read_rows(path, key="data.evaluation", benchmark="sums", evaluation=True)


def test_an_unknown_benchmark_is_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["--benchmark", "appwurld", "--out", str(tmp_path / "x.jsonl")]) == 2
    assert "unknown benchmark 'appwurld'" in capsys.readouterr().err
