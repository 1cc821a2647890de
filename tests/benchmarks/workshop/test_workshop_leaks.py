"""Where operations are done leaves the workshop by ok and err alone."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from evaluating import Brought, prepared, rows

from auto_research.benchmarks.base import Evaluator, Scenario, Split, Submission, Task
from auto_research.benchmarks.workshop import WorkshopBenchmark
from auto_research.benchmarks.workshop.rules import OPERATIONS, PLACES, THING_NAMES
from auto_research.benchmarks.workshop.world import WorkshopWorld

VERDICT = ("success", "checks")  # what the sealed evaluator alone puts into a row


def test_other_stations_leave_the_public_tasks_byte_identical() -> None:
    plain, moved = WorkshopBenchmark("hid"), WorkshopBenchmark("hid", permutation=1)
    tasks = plain.scenarios("train", 0, 30)
    assert repr(moved.scenarios("train", 0, 30)) == repr(tasks)
    others = [plain.truth(s.tasks[0].id) != moved.truth(s.tasks[0].id) for s in tasks]
    assert sum(others) > 15


def test_nothing_that_can_be_shown_shows_a_station() -> None:
    """Two benchmarks whose stations differ look alike, whatever is printed of them."""
    plain, moved = WorkshopBenchmark("hid"), WorkshopBenchmark("hid", permutation=1)
    for scenario in plain.scenarios("train", 0, 10):
        moved.scenarios("train", 0, 10)
        for task in scenario.tasks:
            shown = [
                (repr(b.truth(task.id)), repr(b._drawn[task.id]), _public(b.environment(task)))
                for b in (plain, moved)
            ]
            assert shown[0] == shown[1]


def _public(world: WorkshopWorld) -> dict[str, object]:
    names = [name for name in dir(world) if not name.startswith("_")]
    return {name: repr(type(getattr(world, name))) for name in names}


def test_the_world_answers_every_action_with_ok_or_err_and_nothing_else() -> None:
    benchmark = WorkshopBenchmark("hid")
    task = benchmark.scenarios("train", 0, 1)[0].tasks[0]
    world = benchmark.environment(task)
    for verb in ("goto", "pick", "drop", *OPERATIONS):
        for thing in (*THING_NAMES, *sorted(PLACES)):
            seen = world.execute(f"{verb} {thing}")
            assert (seen.text, seen.failed) in (("ok", False), ("err", True))
            assert (seen.calls, seen.finished) == (1, False)


def test_ok_and_err_do_tell_the_stations() -> None:
    """The other way round: an agent that tries finds out, so there is something to learn."""
    benchmark = WorkshopBenchmark("hid")
    for scenario in benchmark.scenarios("train", 0, 5):
        task = scenario.tasks[0]
        truth, world = benchmark.truth(task.id), benchmark.environment(task)
        target = truth.targets[0]
        assert world.execute(f"goto {target.start}\npick {target.thing}").text == "ok"
        for operation in truth.operations:
            works = [
                station
                for station in operation.candidates
                if world.execute(f"goto {station}\n{operation.name} {target.thing}").text == "ok"
                and operation.name != "wrap"
            ]
            assert works == ([operation.station] if operation.name != "wrap" else [])


class JudgedOtherwise(WorkshopBenchmark):
    """The workshop with its own worlds, judged at test as if the stations were elsewhere."""

    def __init__(self, permutation: int | None) -> None:
        super().__init__("hid")
        self._other = WorkshopBenchmark("hid", permutation)

    def scenarios(self, split: Split, seed: int, limit: int | None = None) -> Sequence[Scenario]:
        self._other.scenarios(split, seed, limit)
        return super().scenarios(split, seed, limit)

    def evaluator(self, split: Split, seed: int) -> Any:
        return (self._other if split != "train" else super()).evaluator(split, seed)


def run(path: Path, permutation: int | None) -> list[dict[str, Any]]:
    plugin = Brought(benchmarks={"judged": lambda options: JudgedOtherwise(permutation)})
    prepared(
        plugin,
        method="sage",
        settings=["rollout.siblings=2"],
        benchmark="judged",
        episodes=3,
        seed=10,
        split="validation",
        train_scenarios=1,
        units=20_000,
    ).run(path)
    return rows(path)


def test_other_verdicts_at_test_leave_the_rest_of_the_run_byte_identical(tmp_path: Path) -> None:
    plain, moved = run(tmp_path / "plain", None), run(tmp_path / "moved", 1)
    for row in (*plain, *moved):
        row["judged"] = {key: row.pop(key) for key in VERDICT} if row["phase"] == "test" else None
    assert any(row["judged"] and row["judged"]["success"] for row in plain)
    assert [r.pop("judged") for r in plain] != [r.pop("judged") for r in moved]
    assert json.dumps(plain) == json.dumps(moved)


@pytest.mark.parametrize("submission", [Submission(), Submission(answer="sink")])
def test_a_verdict_says_no_more_than_its_parts(submission: Submission) -> None:
    benchmark = WorkshopBenchmark("hid")
    task: Task = benchmark.scenarios("train", 0, 1)[0].tasks[0]
    judge: Evaluator = benchmark.evaluator("train", 0)
    verdict = judge.verdict(judge.submit(task.id, submission))
    judge.close()
    assert {*verdict.checks} == {"plan_success", "delivered", "processed", "hands_free"}
