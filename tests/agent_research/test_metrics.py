"""Figures of a run: errors count, spending adds up, equal runs give equal bytes."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from typing import Any

import pytest

from auto_research.agent_research.metrics import compute_metrics, rounded
from auto_research.agent_research.operators import Use
from auto_research.agent_research.rows import ChangeRow, ChoiceRow, EpisodeRow
from auto_research.errors import UserError


def row(index: int, success: bool | None = True, **changes: Any) -> EpisodeRow:
    phase = changes.get("phase", "test")
    base = EpisodeRow(
        episode=f"{phase}-{index:04}",
        phase="test",
        index=index,
        scenario=f"{phase}-s{index // 3}",
        task=f"{phase}-t{index}",
        position=index % 3,
        instruction="go",
        success=success,
        own_check=True,
        units=10,
        cost=0.1,
        checks={} if success is None else {"plan_success": True, "answer_accuracy": success},
        units_by_kind={"act": 4, "expand": 6},
        steps=2,
    )
    return replace(base, **changes)


def value(figures: Any, name: str) -> Any:
    return figures.metrics[name]["value"]


def test_errored_episodes_stay_in_the_denominator_and_are_shown() -> None:
    outcomes = [True, True, False, False, False, False, None, None]
    figures = compute_metrics(
        row(i, outcome, error="evaluator died" if outcome is None else "")
        for i, outcome in enumerate(outcomes)
    )
    assert value(figures, "joint_success") == 0.25
    assert value(figures, "answer_accuracy") == 0.25
    assert value(figures, "plan_success") == 0.75
    assert figures.metrics["errored"] == 2
    assert figures.metrics["episodes"] == 8


def test_a_run_in_which_every_episode_errored_scores_zero_in_every_promised_figure() -> None:
    figures = compute_metrics(row(i, None, error="died") for i in range(3))
    for name in ("joint_success", "answer_accuracy", "plan_success", "tgc", "sgc"):
        assert value(figures, name) == 0.0


def test_a_scenario_counts_only_when_all_its_tasks_succeeded() -> None:
    figures = compute_metrics(row(i, i != 4) for i in range(9))
    assert value(figures, "tgc") == value(figures, "joint_success") == round(8 / 9, 6)
    assert value(figures, "sgc") == round(2 / 3, 6)
    assert figures.metrics["scenarios"] == 3


def test_every_figure_lies_in_its_interval() -> None:
    rows = [row(i, i % 4 != 0, cost=i / 30, steps=i, tokens=7 * i, units=i) for i in range(30)]
    metrics: Any = compute_metrics(rows).metrics
    for name in [
        "joint_success",
        "answer_accuracy",
        "plan_success",
        "tgc",
        "sgc",
        "average_cost",
        "steps",
        "tokens",
        "model_calls",
    ]:
        figure = metrics[name]
        assert set(figure) == {"value", "low", "high"}
        assert figure["low"] <= figure["value"] <= figure["high"]
    assert metrics["average_cost"]["low"] < metrics["average_cost"]["high"]


def test_only_the_phase_asked_for_is_scored_but_all_spending_is_shown() -> None:
    rows = [
        row(0, False, phase="training", group=0, units=30, units_by_kind={"expand": 30}),
        row(0, False, phase="probes", units=6, units_by_kind={"act": 6}),
        *(row(i) for i in range(4)),
    ]
    figures = compute_metrics(rows, outside={"training": {"write": 4}})
    spending: Any = figures.spending
    assert value(figures, "joint_success") == 1.0
    assert spending["units"] == {"training": 34, "probes": 6, "test": 40, "total": 80}
    assert spending["units_by_kind"]["training"] == {"expand": 30, "write": 4}
    assert spending["units_by_kind"]["test"] == {"act": 16, "expand": 24}
    assert spending["total_units_per_test_episode"] == 20.0
    assert value(compute_metrics(rows, phase="training"), "joint_success") == 0.0


def test_siblings_of_one_scenario_are_separate_chains() -> None:
    rows = [
        row(i, sibling != 0, phase="training", group=0, sibling=sibling, scenario="s")
        for sibling in range(4)
        for i in range(3)
    ]
    figures = compute_metrics(rows, phase="training")
    assert value(figures, "sgc") == 0.75
    assert figures.metrics["scenarios"] == 1


def test_skill_use_is_a_share_of_all_episodes() -> None:
    chosen = ChoiceRow(("a", "b"), (0.5, 0.5))
    rows = [
        row(0, True, choice=chosen, uses=(Use("a", True, True), Use("b", False, False))),
        row(1, False, choice=chosen, uses=(Use("a", True, True),)),
        row(2, True, choice=chosen),
        row(3, None),
    ]
    figures = compute_metrics(rows)
    assert value(figures, "skill_retrieved") == 0.75
    assert value(figures, "skill_called") == 0.5
    assert value(figures, "skill_helped") == 0.25


def test_telemetry_counts_each_skill_where_it_happened_and_names_the_causes() -> None:
    create = ChangeRow("create", "a", (), ("training-0000",))
    revise = ChangeRow("revise", "b", ("a",), ("training-0001", "training-0002"))
    rows = [
        row(0, phase="training", sibling=0, written=("a",), changes=(create,)),
        row(0, phase="training", sibling=1, written=("a",), changes=(create,)),
        row(1, phase="training", changes=(revise,)),
        row(0, changes=(ChangeRow("fork", "c", ("b",)), ChangeRow("merge", "d", ("b", "c")))),
        row(1, changes=(ChangeRow("retire", "d", ("d",), ("test-0001",), "3 failures in a row"),)),
    ]
    telemetry: Any = compute_metrics(rows, counters={"policy_updates": 5}).telemetry
    assert [telemetry[f"skills_{what}"] for what in ("created", "revised", "forked", "merged")] == [
        1,
        1,
        1,
        1,
    ]
    assert telemetry["skills_retired"] == 1
    assert telemetry["by_phase"]["training"]["skills_created"] == 1
    assert telemetry["by_phase"]["test"]["skills_created"] == 0
    assert telemetry["revisions"] == [
        {"skill": "b", "bases": ["a"], "cause": ["training-0001", "training-0002"], "reason": ""}
    ]
    assert telemetry["retirements"][0]["cause"] == ["test-0001"]
    assert telemetry["retirements"][0]["reason"] == "3 failures in a row"
    assert telemetry["policy_updates"] == 5
    assert telemetry["uninformative_groups"] == 0


def test_reuse_is_use_in_another_task_or_scenario_than_the_skill_was_written_in() -> None:
    used = Use("a", called=True, helped=True)
    rows = [
        row(0, written=("a",)),
        row(0, sibling=1, uses=(used,)),  # the same task again: no reuse
        row(1, uses=(used, Use("b", called=False, helped=False))),  # the next task of the scenario
        row(3, False, uses=(used,)),  # another scenario, and it failed
        row(4, uses=(Use("imported", called=True, helped=True),)),
    ]
    telemetry: Any = compute_metrics(rows).telemetry
    assert telemetry["skills_used"] == 4
    assert telemetry["skills_used_with_success"] == 3
    assert telemetry["cross_task_reuse"] == 3
    assert telemetry["cross_scenario_reuse"] == 2
    assert telemetry["distinct_skills_reused"] == 2


def test_a_revision_by_the_group_counts_as_written_where_its_cause_was() -> None:
    rows = [
        row(0),
        row(2, changes=(ChangeRow("revise", "b", ("a",), ("test-0000",)),)),
        row(0, uses=(Use("b", called=True, helped=True),)),
    ]
    telemetry: Any = compute_metrics(rows).telemetry
    assert telemetry["cross_task_reuse"] == 0


def test_a_run_without_a_test_episode_says_so() -> None:
    with pytest.raises(UserError, match="no finished test episode"):
        compute_metrics([row(0, phase="training")])


def test_floats_are_rounded_and_zero_has_no_sign() -> None:
    assert repr(rounded({"a": -1e-9, "b": [0.12345678, 3]})) == "{'a': 0.0, 'b': [0.123457, 3]}"


def test_the_bytes_do_not_depend_on_hashing() -> None:
    code = (
        "import sys; sys.path.insert(0, sys.argv[1])\n"
        "import test_metrics as t\n"
        "from auto_research.agent_research.metrics import compute_metrics\n"
        "rows = [t.row(i, i % 5 != 0, cost=i / 31, written=(f'k{i}',)) for i in range(60)]\n"
        "sys.stdout.buffer.write(compute_metrics(rows, counters={'x': 1, 'y': 2}).to_bytes())\n"
    )
    here = __file__.rsplit("/", 1)[0]
    outputs = {
        subprocess.run(
            [sys.executable, "-c", code, here],
            env={"PYTHONHASHSEED": seed},
            capture_output=True,
            check=True,
        ).stdout
        for seed in ("0", "1", "2")
    }
    (content,) = outputs
    assert list(json.loads(content)) == ["flags", "metrics", "spending", "telemetry"]
