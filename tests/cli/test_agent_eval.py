"""`agent-eval` as a user's shell sees it: its JSON, its refusals, its plans."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import small_world
from evaluating import library, prepared, rows
from shell import SMALL, agent_eval

RunCli = Callable[..., Any]  # the fixture of conftest.py: exit code, stdout, stderr
RUN = "sage-small-seed7"
CONTRACT = ["run_dir", "method", "benchmark", "seed", "train_seed", "episodes", "budget"]
FIGURES = (
    "joint_success",
    "average_cost",
    "answer_accuracy",
    "plan_success",
    "tgc",
    "sgc",
    "steps",
    "tokens",
)


@pytest.fixture
def small(cli: RunCli, tmp_path: Path) -> RunCli:
    """`small("--seed", 8)`: `agent-eval` on the benchmark `small`; later options win."""

    def run(*arguments: object) -> Any:
        given = [*SMALL, "--episodes", 3, "--out", tmp_path, *arguments]
        return cli("agent-eval", *map(str, given), plugins=[small_world])

    return run


def test_json_is_the_contract_and_nothing_else(tmp_path: Path) -> None:
    ended = agent_eval(*SMALL, "--episodes", 3, "--out", tmp_path, "--json")
    assert ended.returncode == 0
    told = json.loads(ended.stdout)
    assert list(told) == [*CONTRACT, "metrics", "telemetry", "spending"]
    assert told["run_dir"] == str(tmp_path / RUN)
    assert [told[key] for key in CONTRACT[1:6]] == ["sage", "small@1", 7, 0, 3]
    assert told["budget"] == {"units": small_world.UNITS, "run_units": None}
    for name in FIGURES:
        figure = told["metrics"][name]
        assert list(figure) == ["high", "low", "value"]
        assert figure["low"] <= figure["value"] <= figure["high"]
    assert set(told["spending"]["units"]) == {"training", "probes", "test", "total"}
    assert told["telemetry"]["skills_created"] > 0
    # Progress is for terminals; what is said goes to stderr.
    assert ended.stderr == f"report: {tmp_path / RUN / 'report.html'}\n"


def test_no_colour_and_no_bar_where_nobody_looks(tmp_path: Path) -> None:
    ended = agent_eval(*SMALL, "--episodes", 3, "--out", tmp_path, NO_COLOR="1")
    assert ended.returncode == 0
    assert "Joint success" in ended.stdout
    assert "\x1b" not in ended.stdout + ended.stderr


def test_a_dry_run_prints_the_planned_budget_and_runs_nothing(
    small: RunCli, tmp_path: Path
) -> None:
    ended = small("--dry-run", "--set", "rollout.siblings=3", "--episodes", 5)
    assert ended.code == 0
    told = json.loads(ended.out)
    assert told["planned"]["episodes"] == {"training": 2 * 3 * 2, "test": 5}
    assert told["planned"]["units_at_most"]["test"] == 5 * small_world.UNITS
    assert told["config"]["seed"] == 7
    assert list(tmp_path.iterdir()) == []


def test_limit_cuts_the_stream_and_units_the_budget(small: RunCli, tmp_path: Path) -> None:
    ended = small("--episodes", 12, "--limit", 2, "--units", 30, "--json")
    assert ended.code == 0
    told = json.loads(ended.out)
    assert (told["episodes"], told["budget"]["units"]) == (2, 30)
    assert all(row["units"] <= 30 for row in rows(tmp_path / RUN))


def test_frozen_leaves_the_trained_library_alone(small: RunCli, tmp_path: Path) -> None:
    assert small("--frozen").code == 0
    prepared(episodes=3).run(tmp_path / "free")
    frozen, free = library(tmp_path / RUN), library(tmp_path / "free")
    assert frozen != free
    assert {s.id for s in frozen if hasattr(s, "id")} <= {s.id for s in free if hasattr(s, "id")}


def test_max_units_holds_for_any_number_of_workers(tmp_path: Path) -> None:
    arguments = [*SMALL, "--episodes", 9, "--max-units", 400, "--out", tmp_path]
    ended = agent_eval(*arguments, "--json", "--workers", 2)
    assert ended.returncode == 0, ended.stderr
    told = json.loads(ended.stdout)
    assert told["spending"]["units"]["total"] <= 400
    assert told["metrics"]["episodes"] == 9
    assert told["metrics"]["joint_success"]["value"] < 1
    prepared(agent="telling", episodes=9, run_units=400).run(tmp_path / "one")
    assert rows(tmp_path / "one") == rows(tmp_path / RUN)


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("--episodes", 0), "0 is out of range (--episodes); from 1 to"),
        (("--episodes", -3), "-3 is out of range (--episodes)"),
        (("--episodes", 10**9), "1000000000 is out of range (--episodes)"),
        (("--seed", -1), "-1 is out of range (--seed)"),
        (("--workers", 0), "0 is out of range (--workers)"),
        (("--workers", 10**6), "out of range (--workers)"),
        (("--train-scenarios", -1), "out of range (--train-scenarios)"),
        (("--units", 0), "0 is out of range (--units)"),
        (("--max-units", -1), "-1 is out of range (--max-units)"),
        (("--limit", 0), "0 is out of range (--limit)"),
        (("--split", "tests"), "unknown value 'tests' (--split)"),
        (("--test-feedback", "none"), "unknown value 'none' (--test-feedback)"),
        (("--method", "sgae"), "unknown method 'sgae'; did you mean 'sage'?"),
        (("--benchmark", "smal"), "unknown benchmark 'smal'; did you mean 'small'?"),
        (("--agent", "serach"), "unknown agent 'serach'; did you mean 'search'?"),
        (("--set", "updat=none"), "did you mean 'update'?"),
        (("--set", "retrieval.topk=3"), "did you mean 'top_k'?"),
        (("--set", "retrieval.top_k=many"), "bad value for 'top_k'"),
        (("--name", "../elsewhere"), "a run's name is no path: '../elsewhere' (--name)"),
        (("--out", "/proc/nowhere"), "cannot make the run's directory"),
        (("--out", "/dev/null"), "cannot make the run's directory"),
        (("--out", "x" * 5000), "cannot look there: File name too long"),
        (("--resume",), f"there is no run '{RUN}' to resume"),
    ],
)
def test_a_bad_value_is_one_line_and_exit_2(
    small: RunCli, tmp_path: Path, arguments: tuple[object, ...], told: str
) -> None:
    ended = small(*arguments)
    assert ended.code == 2
    assert ended.out == ""
    [line] = [text for text in ended.err.splitlines() if not text.startswith("warning")]
    assert line.startswith("error: ")
    assert told in line
    assert list(tmp_path.iterdir()) == []


def test_a_changed_config_is_refused_by_name(small: RunCli, tmp_path: Path) -> None:
    assert small("--train-scenarios", 0).code == 0
    before = {path.name: path.read_bytes() for path in (tmp_path / RUN).iterdir()}
    changes = ("--set", "retrieval.top_k=9", "--units", 77, "--train-seed", 3, "--frozen")
    ended = small("--train-scenarios", 0, "--resume", *changes)
    assert ended.code == 2
    [line] = ended.err.splitlines()
    assert line.startswith("error: the run was started with another config: ")
    for told in ("retrieval.top_k: 3 -> 9", "budget.units: 400 -> 77", "train_seed: 0 -> 3"):
        assert told in line
    assert "frozen: false -> true" in line
    other = small("--train-scenarios", 0, "--resume", "--name", RUN, "--seed", 8)
    assert other.code == 2
    assert " seed: 7 -> 8" in other.err
    benchmark = small("--resume", "--name", RUN, "--benchmark", "planbench-mini", "--limit", 1)
    assert benchmark.code == 2
    assert "benchmark:" in benchmark.err
    assert "benchmark_hash:" in benchmark.err
    after = {path.name: path.read_bytes() for path in (tmp_path / RUN).iterdir()}
    assert after == before


def test_a_second_run_of_the_same_name_gets_a_number(small: RunCli, tmp_path: Path) -> None:
    for _ in range(2):
        assert small("--method", "react", "--name", "mine").code == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["mine", "mine-2"]
    assert rows(tmp_path / "mine") == rows(tmp_path / "mine-2")
