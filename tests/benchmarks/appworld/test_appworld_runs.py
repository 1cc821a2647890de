"""Whole runs on appworld-mini: their figures against AppWorld's own."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from appworld_cases import CodeAgent, MistakenExpert
from evaluating import Brought, metrics, prepared, rows
from typer.testing import CliRunner

from auto_research.benchmarks.appworld.check import in_percent
from auto_research.benchmarks.appworld.home import Home
from auto_research.cli.main import app
from auto_research.errors import UserError
from auto_research.evaluate import Evaluation

pytestmark = pytest.mark.appworld


def evaluation(plugin: Brought | None = None, **request: Any) -> Evaluation:
    """The dev split (12 tasks) without training, unless told otherwise."""
    defaults = {"method": "react", "agent": "expert", "split": "validation", "episodes": 12}
    return prepared(plugin, benchmark="appworld-mini", **{**defaults, **request})


def by_appworld(run: Path) -> dict[str, Any]:
    """What `auto-research appworld evaluate` says."""
    done = CliRunner().invoke(app, ["appworld", "evaluate", str(run), "--json"], obj=())
    assert done.exit_code == 0, done.output
    return dict(json.loads(done.output))


def percent(run: Path) -> dict[str, float]:
    figures = metrics(run)["metrics"]
    return {name: in_percent(figures[name]["value"]) for name in ("tgc", "sgc")}


def test_the_reference_programs_do_every_task(home: Home, tmp_path: Path) -> None:
    run = tmp_path / "run"
    evaluation().run(run)
    assert percent(run) == {"tgc": 100.0, "sgc": 100.0} == by_appworld(run)["appworld"]
    assert metrics(run)["flags"] == ["expert"]
    for row in rows(run, "test"):
        calls = row["units_by_kind"]["api-call"]
        assert row["checks"] == {"no_op_fail": True, "no_op_pass": True}
        assert (row["units"], row["steps"]) == (10 + calls, 1) and calls > 1
        assert (run / "worlds" / f"{row['task']}.json").exists()


@pytest.mark.slow
def test_one_wrong_answer_costs_its_task_and_its_scenario(home: Home, tmp_path: Path) -> None:
    task = (home.mini / "data" / "datasets" / "dev.txt").read_text().split()[1]
    run = tmp_path / "run"
    plugin = Brought(agents={"mistaken": lambda options: MistakenExpert(task)})
    evaluation(plugin, agent="mistaken", method="sage", train_scenarios=1).run(run)
    # 11 of 12 tasks are right, and all three of 3 of the 4 scenarios
    assert percent(run) == {"tgc": 91.7, "sgc": 75.0} == by_appworld(run)["appworld"]
    assert [row["task"] for row in rows(run, "test") if not row["success"]] == [task]


@pytest.mark.slow
def test_doing_nothing_fails_every_task_and_changes_nothing_else(
    home: Home, tmp_path: Path
) -> None:
    run = tmp_path / "run"
    plugin = Brought(agents={"idle": lambda options: CodeAgent(lambda task: "")})
    evaluation(plugin, agent="idle", episodes=6).run(run)
    assert percent(run) == {"tgc": 0.0, "sgc": 0.0} == by_appworld(run)["appworld"]
    for row in rows(run, "test"):
        assert row["checks"] == {"no_op_fail": False, "no_op_pass": True}
        assert row["units_by_kind"] == {"api-call": 0, "step": 10}


def test_a_benchmark_without_reference_programs_has_no_use_for_the_expert(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="needs a benchmark with reference programs"):
        prepared(agent="expert")


def test_the_order_of_scenarios_is_the_seeds(home: Home) -> None:
    benchmark = evaluation().benchmark
    one, other = ([s.id for s in benchmark.scenarios("test", seed)] for seed in (7, 8))
    assert sorted(one) == sorted(other) and one != other
    assert [s.id for s in benchmark.scenarios("test", 7, 3)] == one[:3]
