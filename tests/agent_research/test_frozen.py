"""What a test with a frozen library promises: nothing is learned, and no task waits for another."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from evaluating import Brought, agent_of, library, metrics, prepared, rows
from small_world import TellingSession

from auto_research.agent_research.agents.base import Attempt
from auto_research.agent_research.library import LibraryView
from auto_research.agent_research.operators import (
    ChainResult,
    Choice,
    Context,
    RetrievalPolicy,
    Reward,
)
from auto_research.agent_research.skill import Skill
from auto_research.benchmarks.base import Environment, Json, Task


def test_a_frozen_library_is_the_same_after_the_test_as_before(tmp_path: Path) -> None:
    trained: list[str] = []

    def heard(row: Any) -> None:
        if row["phase"] == "test" and not trained:
            trained.append(content(tmp_path / "run"))

    def content(run: Path) -> str:
        return hashlib.sha256(repr(library(run)).encode()).hexdigest()

    prepared(Brought(heard=heard), frozen=True).run(tmp_path / "run")
    assert trained == [content(tmp_path / "run")]
    assert any(row["uses"] for row in rows(tmp_path / "run", "test"))
    assert not any(row["changes"] or row["written"] for row in rows(tmp_path / "run", "test"))
    prepared().run(tmp_path / "free")
    assert content(tmp_path / "free") != trained[0]


class Counting(RetrievalPolicy):
    """Remembers how many tasks it has chosen for."""

    name = "test.counting"
    citation = "test"
    summary = "says how often it was asked"

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.asked = 0

    def choose(self, task: Task, library: LibraryView, ctx: Context) -> Choice:
        self.asked += 1
        return Choice((), trace=self.asked)

    def state(self) -> Json:
        return self.asked

    def restore(self, state: Json) -> None:
        self.asked = state if isinstance(state, int) else 0


def test_each_task_begins_where_the_training_ended_and_its_reward_is_of_the_whole_chain(
    tmp_path: Path,
) -> None:
    credited: list[list[tuple[int, Json]]] = []

    class Rewarded(Reward):
        name = "test.reward"
        citation = "test"
        summary = "notes the chains that it is shown"

        def credit(self, group: Sequence[ChainResult]) -> Sequence[Sequence[float | None]]:
            credited.extend([(e.position, e.choice.trace) for e in c.episodes] for c in group)
            return [[1.0 for _ in chain.episodes] for chain in group]

    plugin = Brought([Counting, Rewarded])
    settings = ["retrieval=test.counting", "reward=test.reward"]
    chosen: dict[str, Any] = {"settings": settings, "train_scenarios": 0}
    prepared(plugin, frozen=True, **chosen).run(tmp_path / "frozen")
    assert credited == [[(0, 1), (1, 1), (2, 1)]] * 2
    credited.clear()
    assert [row["position"] for row in rows(tmp_path / "frozen", "test")] == [0, 1, 2] * 2
    prepared(plugin, **chosen).run(tmp_path / "free")
    assert credited == [[(0, 1), (1, 2), (2, 3)]] * 2


def test_a_frozen_run_that_broke_off_within_a_chain_goes_on_and_says_what_it_lost(
    tmp_path: Path,
) -> None:
    broken = [True]

    class Broken(TellingSession):
        def attempt(self, skills: Sequence[Skill], world: Environment | None = None) -> Attempt:
            attempt = super().attempt(skills)
            if broken[0] and self.task.id.startswith("test7x1") and self.task.position == 1:
                raise ZeroDivisionError("a bug")
            return attempt

    plugin = Brought(agents={"broken": lambda options: agent_of(Broken)})
    evaluation = prepared(plugin, agent="broken", frozen=True)
    with pytest.raises(ZeroDivisionError, match="a bug"):
        evaluation.run(tmp_path / "run")
    (attempt,) = (tmp_path / "run" / "attempts.jsonl").read_text().splitlines()
    assert '"attempt":"test-0001-1"' in attempt
    broken[0] = False
    evaluation.run(tmp_path / "run", resume=True)
    prepared(plugin, agent="broken", frozen=True).run(tmp_path / "whole")
    assert rows(tmp_path / "run") == rows(tmp_path / "whole")
    assert metrics(tmp_path / "run") == metrics(tmp_path / "whole")
