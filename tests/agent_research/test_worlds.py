"""Tasks that are worlds: one is opened for an attempt, judged by what was done, and closed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from evaluating import Brought, agent_of, metrics, prepared, rows
from small_world import SmallBenchmark, TellingSession

from auto_research.agent_research.agents.base import Attempt
from auto_research.agent_research.skill import Skill
from auto_research.benchmarks.base import (
    Environment,
    Evaluator,
    Json,
    Observation,
    Split,
    Submission,
    Task,
    Verdict,
)
from auto_research.benchmarks.shared import SharedBenchmark
from auto_research.errors import UserError


@dataclass
class Room:
    """A world that remembers the code it was given."""

    task: Task
    done: list[str] = field(default_factory=list)
    closed: bool = False

    def execute(self, code: str, calls: int | None = None) -> Observation:
        self.done.append(code)
        return Observation(f"{len(self.done)} done")

    def submission(self) -> Mapping[str, Json]:
        assert not self.closed
        return {"done": list(self.done)}

    def flags(self) -> tuple[str, ...]:
        return ("unsafe-worlds",)

    def close(self) -> None:
        self.closed = True


class Judge:
    """Right is who did exactly the thing that the instruction names: the task's own id."""

    def __init__(self) -> None:
        self._verdicts: list[Verdict] = []

    def submit(self, task_id: str, submission: Submission) -> int:
        right = submission.payload.get("done") == [task_id]
        self._verdicts.append(Verdict(right, {"done": right}))
        return len(self._verdicts) - 1

    def verdict(self, ticket: int) -> Verdict:
        return self._verdicts[ticket]

    def close(self) -> None:
        """Nothing was started."""


class Rooms(SmallBenchmark):
    """The small benchmark's tasks, each with a room to act in."""

    def __init__(self) -> None:
        super().__init__()
        self.opened: list[Room] = []

    def environment(self, task: Task, keep: Path | None = None) -> Environment:
        assert keep is not None and keep.parent.joinpath("run.yaml").exists()
        self.opened.append(Room(task))
        return self.opened[-1]

    def evaluator(self, split: Split, seed: int) -> Evaluator:
        return Judge()


class Acting(TellingSession):
    """Does the right thing, hands nothing else in, and gives up in the second task."""

    def attempt(self, skills: Sequence[Skill], world: Environment | None = None) -> Attempt:
        assert world is not None
        seen = world.execute(self.task.id)
        if self.task.position == 1:
            world.execute("something else")
            raise UserError("the model is down")
        return Attempt(Submission(payload={"code": 1}), own_check=seen.text == "1 done")


@pytest.mark.parametrize("shared", [False, True])
def test_what_was_done_in_a_world_is_what_is_judged(tmp_path: Path, shared: bool) -> None:
    rooms = Rooms()
    benchmark = SharedBenchmark(rooms) if shared else rooms
    plugin = Brought(
        agents={"acting": lambda options: agent_of(Acting)},
        benchmarks={"rooms": lambda options: benchmark},
    )
    run = tmp_path / "run"
    prepared(plugin, method="react", agent="acting", benchmark="rooms", episodes=6).run(run)
    assert [row["success"] for row in rows(run, "test")] == [True, False, True] * 2
    assert metrics(run)["metrics"]["errored"] == 2
    assert [room.task.id for room in rooms.opened] == [row["task"] for row in rows(run, "test")]
    assert all(room.closed for room in rooms.opened)
    assert metrics(run)["flags"] == ["unsafe-worlds"]


def test_an_agent_that_needs_no_world_ignores_it(tmp_path: Path) -> None:
    rooms = Rooms()
    plugin = Brought(benchmarks={"rooms": lambda options: rooms})
    prepared(plugin, method="react", benchmark="rooms", episodes=3).run(tmp_path / "run")
    assert len(rooms.opened) == 3 and all(room.closed for room in rooms.opened)
