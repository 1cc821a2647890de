"""What a trial comes to: the run that `agent-eval` would make, whatever was evaluated before it."""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
import small_world
from evaluating import Brought, prepared, rows

from auto_research.agent_research.method import load_method
from auto_research.evolution.trial import Bench, Job, TrialEvaluator, transcript_path
from auto_research.furnishing import EvalRequest
from auto_research.plugins import load_plugins

REGISTRY = load_plugins([small_world, Brought()])


def job(folder: Path, method: str = "sage", *settings: str) -> Job:
    found = load_method(method, REGISTRY, settings)
    return Job(found.to_dict(), folder / "running" / found.content_hash()[:16])


def evaluator(folder: Path, units: int | None = None) -> TrialEvaluator:
    for name in ("running", "transcripts"):
        (folder / name).mkdir(exist_ok=True)
    request = EvalRequest(
        load_method("sage", REGISTRY),
        benchmark="small",
        episodes=6,
        seed=7,
        train_scenarios=2,
        split="validation",
        run_units=units,
    )
    return TrialEvaluator(Bench(request, replace(request, split="test"), 1000), REGISTRY)


@pytest.fixture
def evaluate(tmp_path: Path) -> Iterator[TrialEvaluator]:
    made = evaluator(tmp_path)
    yield made
    made.close()


def test_a_trial_is_the_run_that_agent_eval_makes(evaluate: TrialEvaluator, tmp_path: Path) -> None:
    outcome = evaluate(job(tmp_path))
    metrics = prepared(split="validation").run(tmp_path / "plain")
    run = rows(tmp_path / "plain", "test")
    assert outcome.episodes == "".join("1" if row["success"] else "0" for row in run)
    assert outcome.joint == metrics.metrics["joint_success"]["value"]
    assert outcome.units == metrics.spending["units"]
    assert outcome.cost == round(outcome.units["total"] / 6 / small_world.UNITS, 6)
    packed = transcript_path(job(tmp_path).path).read_bytes()
    shown = json.loads(zlib.decompress(packed))
    assert [row["transcript"] for row in shown] == [row["transcript"] for row in run]


def test_what_was_evaluated_before_changes_nothing(
    evaluate: TrialEvaluator, tmp_path: Path
) -> None:
    jobs = [job(tmp_path), job(tmp_path, "raw-trace"), job(tmp_path, "sage-paper"), job(tmp_path)]
    first, _, _, last = map(evaluate, jobs)
    assert first == last
    assert list((tmp_path / "running").iterdir()) == []


def test_a_trial_that_uses_up_its_units_has_failed(tmp_path: Path) -> None:
    made = evaluator(tmp_path, units=500)
    outcome = made(job(tmp_path, "sage-paper"))
    made.close()
    assert outcome.reason == "used up what a trial may spend, 500 units"
    assert outcome.fitness is None
    assert outcome.units["total"] <= 500


def test_a_final_run_is_kept_and_goes_on_where_it_was(
    evaluate: TrialEvaluator, tmp_path: Path
) -> None:
    path = tmp_path / "final"
    final = replace(job(tmp_path), path=path, final=True)
    assert evaluate(final).reason == ""
    before = (path / "metrics.json").read_bytes()
    assert evaluate(final).reason == ""
    assert (path / "metrics.json").read_bytes() == before
