"""Whole runs in the workshop: the expert is always right, `search` plans, tries and pays for it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from evaluating import metrics, prepared, rows

from auto_research.agent_research.agents import search
from auto_research.agent_research.budget import TARIFF
from auto_research.benchmarks.workshop.pddl import ASSUMED, RESTING
from auto_research.benchmarks.workshop.rules import GIVES, OPERATIONS, STATIONS


def run(path: Path, benchmark: str, **request: Any) -> Path:
    settings = {"method": "react", "split": "validation", "episodes": 6, **request}
    prepared(benchmark=benchmark, **settings).run(path)
    return path


@pytest.mark.parametrize("benchmark", ["workshop-base", "workshop-hid"])
def test_the_expert_reaches_every_goal(tmp_path: Path, benchmark: str) -> None:
    found = metrics(run(tmp_path / "run", benchmark, agent="expert", episodes=30))
    assert found["metrics"]["tgc"]["value"] == found["metrics"]["sgc"]["value"] == 1.0
    assert found["flags"] == ["expert"]


def test_where_nothing_is_hidden_search_hands_in_a_plan(tmp_path: Path) -> None:
    found = rows(run(tmp_path / "run", "workshop-base", units=5000))
    assert all(row["success"] and row["own_check"] for row in found)
    for row in found:
        assert row["steps"] == len(row["plan"]) > 0
        assert not {"step", "api-call"} & set(row["units_by_kind"])


def test_where_stations_are_hidden_search_tries_and_pays_for_every_try(tmp_path: Path) -> None:
    found = rows(run(tmp_path / "run", "workshop-hid", units=20_000))
    assert all(row["success"] and row["own_check"] for row in found)
    for row in found:
        told = [line["text"] for line in row["transcript"] if line["at"] == "world"]
        failures, (steps, turns) = told[:-1], re.findall(r"\d+", told[-1])
        assert all("taken as false: (does " in text for text in failures)
        assert int(turns) == len(told)
        assert int(steps) == row["steps"] == len(row["plan"])
        assert row["units_by_kind"]["step"] == TARIFF["step"] * len(told)
        assert row["units_by_kind"]["api-call"] == row["steps"] + len(failures)
    assert sum(len(row["transcript"]) for row in found) > 2 * len(found)


def test_what_was_tried_teaches_skills_that_help_with_other_stations(tmp_path: Path) -> None:
    path = run(
        tmp_path / "run",
        "workshop-hid",
        method="sage",
        settings=["rollout.siblings=2"],
        train_scenarios=2,
        units=20_000,
    )
    found = rows(path, "training")
    helped = [row for row in found if any(use["helped"] for use in row["uses"])]
    assert helped and all(row["success"] for row in helped)
    assert any(sum(line["at"] == "world" for line in r["transcript"]) > 1 for r in helped)


def test_out_of_units_in_the_middle_what_was_done_is_judged_and_fails(tmp_path: Path) -> None:
    found = rows(run(tmp_path / "run", "workshop-hid", units=750))
    broken = [row for row in found if not row["own_check"]]
    assert broken and not any(row["success"] or row["error"] for row in broken)
    assert all(row["units"] <= 750 for row in found)


def test_no_word_of_the_workshop_is_in_the_agents_code() -> None:
    words = {*GIVES.values(), *OPERATIONS, *STATIONS, *RESTING, "goto", "pick", "workshop"}
    assert ASSUMED == "does" and "wash" in words
    for source in sorted(Path(str(search.__path__[0])).glob("*.py")):
        spoken = set(re.findall(r"[a-z]+", source.read_text().lower()))
        assert not spoken & words, source.name


def test_the_words_of_the_tasks_are_in_the_observation(tmp_path: Path) -> None:
    evaluation = prepared(benchmark="workshop-hid", method="react", split="validation")
    observation: Mapping[str, str] = evaluation.test[0].tasks[0].observation
    assert set(observation) == {"domain", "problem", "words", "assumed"}
