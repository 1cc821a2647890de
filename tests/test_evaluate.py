"""Equal runs are equal to the byte, whatever the hash seed and the number of workers."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from evaluating import Brought, library, metrics, prepared, rows
from shell import SMALL, agent_eval, result
from small_world import SmallBenchmark

from auto_research.agent_research.run import RunDir
from auto_research.benchmarks.base import Scenario, Split
from auto_research.errors import UserError

MINI = ["--benchmark", "planbench-mini", "--seed", "7", "--episodes", "5"]
FEW = ["--train-scenarios", "1", "--units", "1500", "--set", "rollout.siblings=2"]


def figures(run: Path) -> list[str]:
    """All numbers of the report's text; its packed data and the run's name are left out."""
    page = (run / "report.html").read_text(encoding="utf-8")
    page = re.sub(r"<script.*?</script>", "", page, flags=re.S)
    return re.findall(r"\d+(?:\.\d+)?", page)


def evaluated(out: Path, given: list[str], *, workers: int, hash_seed: int) -> Path:
    options = ["--out", out, "--name", "run", "--workers", workers]
    ended = agent_eval(*given, *options, PYTHONHASHSEED=str(hash_seed))
    assert ended.returncode == 0, ended.stderr
    return out / "run"


def equal(one: Path, other: Path) -> None:
    assert result(one) == result(other)
    assert library(one) == library(other)
    assert figures(one) == figures(other)


def test_on_the_real_suite_neither_workers_nor_the_hash_seed_change_a_byte(tmp_path: Path) -> None:
    one = evaluated(tmp_path / "one", [*MINI, *FEW], workers=1, hash_seed=0)
    two = evaluated(tmp_path / "two", [*MINI, *FEW], workers=2, hash_seed=1)
    assert rows(one, "training")
    equal(one, two)


def test_a_long_stream_is_the_same_with_another_hash_seed(tmp_path: Path) -> None:
    given = [*SMALL, "--episodes", "27"]
    one = evaluated(tmp_path / "one", given, workers=1, hash_seed=0)
    two = evaluated(tmp_path / "two", given, workers=2, hash_seed=2)
    equal(one, two)


def test_a_stream_cut_within_a_scenario_is_the_beginning_of_a_longer_one(tmp_path: Path) -> None:
    for episodes in (4, 9):
        prepared(method="react", episodes=episodes).run(tmp_path / str(episodes))
    assert rows(tmp_path / "4") == rows(tmp_path / "9")[:4]


def test_a_benchmark_with_short_scenarios_still_gives_as_many_episodes_as_asked(
    tmp_path: Path,
) -> None:
    class Short(SmallBenchmark):
        def scenarios(self, split: Split, seed: int, limit: int | None = None) -> list[Scenario]:
            found = super().scenarios(split, seed, min(limit or 8, 5))
            return [Scenario(s.id, s.tasks[:1]) for s in found]

    plugin = Brought(benchmarks={"short": lambda options: Short()})
    evaluation = prepared(plugin, method="react", benchmark="short", episodes=4)
    assert evaluation.config.episodes == sum(len(s.tasks) for s in evaluation.test) == 4
    assert prepared(plugin, method="react", benchmark="short", episodes=50).config.episodes == 5


def test_a_benchmark_without_a_task_is_refused() -> None:
    class Empty(SmallBenchmark):
        def scenarios(self, split: Split, seed: int, limit: int | None = None) -> list[Any]:
            return []

    with pytest.raises(UserError, match="has no test task"):
        prepared(
            Brought(benchmarks={"empty": lambda o: Empty()}), method="react", benchmark="empty"
        )


def test_what_is_planned_is_what_is_run(tmp_path: Path) -> None:
    evaluation = prepared(train_scenarios=3, episodes=5)
    planned = evaluation.planned()["episodes"]
    evaluation.run(tmp_path / "run")
    assert planned == {
        "training": len(rows(tmp_path / "run", "training")),
        "test": len(rows(tmp_path / "run", "test")),
    }


def test_the_code_of_a_plugin_is_part_of_what_defines_a_run() -> None:
    assert prepared(method="react").config.code_hash != prepared(method="sage").config.code_hash
    assert prepared(method="sage").config.code_hash == prepared(method="sage").config.code_hash


def test_every_row_adds_up(tmp_path: Path) -> None:
    run = tmp_path / "run"
    prepared(episodes=9).run(run)
    spending = metrics(run)["spending"]
    assert spending["units"]["total"] == sum(row["units"] for row in rows(run))
    for row in rows(run):
        assert row["units"] == sum(row["units_by_kind"].values())
    assert RunDir.open(run).row_count() == sum(spending["episodes"].values())
