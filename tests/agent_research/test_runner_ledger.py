"""A run's ledger: nothing that an operator does goes uncharged, and no cap is ever passed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest
from evaluating import Brought, made, metrics, prepared, rows, update, with_update
from small_world import UNITS

from auto_research.agent_research.library import Change, LibraryView
from auto_research.agent_research.operators import (
    Choice,
    Context,
    CreditedGroup,
    EditRequest,
    Episode,
    RetrievalPolicy,
    TaskRef,
)
from auto_research.benchmarks.base import Task
from auto_research.errors import BudgetExceeded, UserError


def test_an_operator_that_passes_the_cap_is_refused_and_the_episode_goes_on(tmp_path: Path) -> None:
    refused: Counter[str] = Counter()

    def greedy(e: Episode, library: LibraryView, ctx: Context) -> Sequence[Change]:
        for skill in made(e, ctx):
            while True:
                try:
                    ctx.spend("bind", 30)
                    ctx.fit(e.task, skill)
                except BudgetExceeded:
                    refused[ctx.phase] += 1
                    break
        while True:
            ctx.write(EditRequest("create", episode=e))  # uncaught: the harness takes it

    run = tmp_path / "run"
    with_update(update(after_episode=greedy)).run(run)
    assert refused["test"] and refused["training"]
    assert len(rows(run, "test")) == 6
    for row in rows(run):
        assert row["success"] is True
        assert row["units"] <= UNITS
        assert row["transcript"][-1]["text"].startswith("the library is left as it is: units:")


def test_the_step_after_a_group_is_paid_from_what_its_episodes_left(tmp_path: Path) -> None:
    def greedy(g: CreditedGroup, library: LibraryView, ctx: Context) -> Sequence[Change]:
        while True:
            ctx.spend("bind")

    run = tmp_path / "run"
    with_update(update(after_group=greedy), settings=["retrieval=none"]).run(run)
    assert {row["units"] for row in rows(run)} == {UNITS}
    for row in rows(run):
        assert row["cost"] == 1.0
        assert sum(row["units_by_kind"].values()) == row["units"]
    spending = metrics(run)["spending"]
    assert spending["units"]["total"] == UNITS * len(rows(run))
    assert spending["units_by_kind"]["test"]["bind"] > 0


def test_units_are_never_paid_back(tmp_path: Path) -> None:
    def refund(e: Episode, library: LibraryView, ctx: Context) -> Sequence[Change]:
        ctx.spend("bind", -100)
        return ()

    with pytest.raises(ValueError, match="nothing is ever paid back"):
        with_update(update(after_episode=refund)).run(tmp_path / "run")


def test_probes_are_charged_told_apart_and_seen_with_their_verdicts(tmp_path: Path) -> None:
    probed: list[Episode] = []

    def probing(g: CreditedGroup, library: LibraryView, ctx: Context) -> Sequence[Change]:
        same = [ctx.pool[0], ctx.pool[0], ctx.pool[1]]
        probed.extend(ctx.probe(same, library))
        return ()

    run = tmp_path / "run"
    with_update(update(after_group=probing)).run(run)
    found = rows(run, "probes")
    groups = 2 + 2  # of training and of the test
    assert len(found) == len(probed) == 3 * groups
    assert len({row["episode"] for row in found}) == len(found)
    assert [row["index"] for row in found] == list(range(len(found)))
    assert all(e.verdict is not None for e in probed)
    spending = metrics(run)["spending"]
    assert spending["units"]["probes"] == sum(row["units"] for row in found) > 0
    assert spending["total_units_per_test_episode"] == round(spending["units"]["total"] / 6, 6)


def test_a_task_probed_twice_gets_different_draws_and_the_same_ones_in_an_equal_run(
    tmp_path: Path,
) -> None:
    class Drawn(RetrievalPolicy):
        name = "test.drawn"
        citation = "test"
        summary = "spends a random number of units"

        def choose(self, task: Task, library: LibraryView, ctx: Context) -> Choice:
            ctx.spend("bind", ctx.rng.randrange(100))
            return Choice()

    def probing(g: CreditedGroup, library: LibraryView, ctx: Context) -> Sequence[Change]:
        ctx.probe([ctx.pool[0]] * 4, library)
        return ()

    for name in ("one", "two"):
        plugin = Brought([update(after_group=probing), Drawn])
        settings = ["update=test.update", "retrieval=test.drawn"]
        prepared(plugin, settings=settings).run(tmp_path / name)
    first = rows(tmp_path / "one", "probes")[:4]
    assert len({row["task"] for row in first}) == 1
    assert len({row["units_by_kind"]["bind"] for row in first}) > 1
    assert rows(tmp_path / "one") == rows(tmp_path / "two")


def test_only_train_tasks_can_be_probed_and_only_between_episodes(tmp_path: Path) -> None:
    refused: set[str] = set()

    def during(e: Episode, library: LibraryView, ctx: Context) -> Sequence[Change]:
        with pytest.raises(UserError, match="probes run only between groups"):
            ctx.probe(ctx.pool[:1], library)
        return ()

    def after(g: CreditedGroup, library: LibraryView, ctx: Context) -> Sequence[Change]:
        task = g.chains[0].episodes[0].task
        if ctx.phase == "test":
            with pytest.raises(UserError, match="not a train task") as error:
                ctx.probe([TaskRef(task.scenario, task.id)], library)
            refused.add(error.value.what)
        return ()

    with_update(update(during, after)).run(tmp_path / "run")
    assert len(refused) == 2
    assert not rows(tmp_path / "run", "probes")


@pytest.mark.parametrize("cap", [0, 150, 2 * 3 * UNITS + 17])
def test_the_budget_of_the_whole_run_is_never_passed_and_the_starved_fail(
    tmp_path: Path, cap: int
) -> None:
    def spending(g: CreditedGroup, library: LibraryView, ctx: Context) -> Sequence[Change]:
        ctx.probe(ctx.pool[:1], library)
        return ()

    run = tmp_path / "run"
    with_update(update(after_group=spending), run_units=cap, episodes=12).run(run)
    assert metrics(run)["spending"]["units"]["total"] <= cap
    assert len(rows(run, "test")) == metrics(run)["metrics"]["episodes"] == 12
    if cap <= 150:
        assert metrics(run)["metrics"]["joint_success"]["value"] < 1
        assert rows(run, "test")[-1]["success"] is False
        assert rows(run, "test")[-1]["units"] == 0
