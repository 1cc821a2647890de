"""A start on a model's own successes, for real: what it did is what it learns."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from auto_research.agent_research.agents.micro.checkpoint import content_hash
from auto_research.benchmarks.base import Json
from auto_research.errors import UserError
from auto_research.training.ablation_jobs import carry_out, is_finished, open_jobs
from auto_research.training.backends import Progress
from auto_research.training.demonstrations import imported
from auto_research.training.sft import RECORD
from tests.training.ablation_cases import CONFIG, arm, planned, toy

TASKS = 3  # one scenario, which a small model learns by heart


def config(steps: int) -> dict[str, Json]:
    """A start that has learned the actions of a few tasks by heart."""
    sizes: dict[str, Json] = {"width": 48, "layers": 1, "heads": 4, "context": 320}
    often: dict[str, Json] = {"steps": steps, "demonstrations": TASKS, "validation_scenarios": 1}
    alone: dict[str, Json] = {"define": 0, "define_with_skills": 0, "library": 0}
    rate: dict[str, Json] = {"learning_rate": 6e-3, "warmup": 10}
    rl: dict[str, Json] = {"iterations": 1, "groups": 2, "temperature": 0.05}
    return {**CONFIG, "rl": rl, "sft": {**sizes, **often, **rate, "mixture": alone}}


def carried_out(folder: Path, steps: int) -> list[Progress]:
    """The plan of the one arm, all its jobs done here; what they told."""
    paper = toy(own=arm("sage", start={"expert": 0.5, "self": 0.1}))
    plan = planned(folder, paper, arms=["own"], seeds=[0], config=config(steps))
    told: list[Progress] = []
    for job in open_jobs(plan):
        carry_out(job, told.append)
    assert is_finished(plan, plan.arm("own"), 0)
    return told


def records(folder: Path) -> dict[str, dict[str, Any]]:
    """What each first stage recorded, by the hash of its checkpoint, the earliest first."""
    paths = (folder / "starts").glob(f"*/{RECORD}")
    found = {content_hash(path.parent): json.loads(path.read_text()) for path in paths}
    return dict(sorted(found.items(), key=lambda item: item[1]["start"] is not None))


def test_the_training_begins_from_what_was_learned_of_own_successes(tmp_path: Path) -> None:
    told = carried_out(tmp_path, 120)
    (early, before), (own, after) = records(tmp_path).items()
    assert (before["steps"], before["start"]) == (60, None)
    assert (after["steps"], after["start"]) == (12, early)
    (file,) = (tmp_path / "starts").glob("own-*.jsonl")
    successes = imported(file)
    assert 0 < len(successes) == after["learned"] <= TASKS
    assert {success.style for success in successes} == {"own"}
    assert all({*success.mask} == {0, 1} for success in successes)
    assert f"start: {own}\n" in (tmp_path / "own-seed0" / "run.yaml").read_text()
    assert [part.done for part in told if part.stage == "own"][-1] == TASKS


def test_a_start_that_succeeds_at_nothing_has_nothing_to_learn(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="succeeded at nothing"):
        carried_out(tmp_path, 2)
