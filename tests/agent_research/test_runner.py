"""What a run promises to operators, agents and whoever reads its rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from evaluating import Brought, agent_of, library, made, metrics, prepared, rows, update
from small_world import SmallBenchmark, TellingAgent, TellingSession

from auto_research.agent_research.agents.base import Attempt
from auto_research.agent_research.budget import Meter
from auto_research.agent_research.library import Change, Create, LibraryView, Revise
from auto_research.agent_research.operators import (
    ChainResult,
    Choice,
    Context,
    CreditedGroup,
    Episode,
    RetrievalPolicy,
    Reward,
)
from auto_research.agent_research.skill import Skill, function_skill
from auto_research.benchmarks.base import Environment, Submission, Task, Verdict
from auto_research.errors import AutoResearchError, UserError

# Verdicts


@pytest.mark.parametrize("feedback", ["own", "verdict"])
def test_at_test_operators_see_verdicts_only_if_the_run_says_so(
    tmp_path: Path, feedback: str
) -> None:
    seen: dict[tuple[str, str], set[bool]] = {}

    def note(where: str, phase: str, verdict: Verdict | None) -> None:
        seen.setdefault((where, phase), set()).add(verdict is not None)

    def after_episode(e: Episode, library: LibraryView, ctx: Context) -> Sequence[Change]:
        note("after_episode", ctx.phase, e.verdict)
        return ()

    def after_group(g: CreditedGroup, library: LibraryView, ctx: Context) -> Sequence[Change]:
        for chain in g.chains:
            for e in chain.episodes:
                note("after_group", ctx.phase, e.verdict)
        return ()

    class Rewarded(Reward):
        name = "test.reward"
        citation = "test"
        summary = "notes whether verdicts are there"

        def credit(self, group: Sequence[ChainResult]) -> Sequence[Sequence[float | None]]:
            for chain in group:
                for e in chain.episodes:
                    note("credit", e.id.split("-")[0], e.verdict)
            return [[0.0 for _ in chain.episodes] for chain in group]

    operators = [update(after_episode, after_group), Rewarded]
    settings = ["update=test.update", "reward=test.reward"]
    prepared(Brought(operators), settings=settings, test_feedback=feedback).run(tmp_path / "run")
    at_test = {feedback == "verdict"}
    assert seen == {
        ("after_episode", "training"): {False},
        ("after_group", "training"): {True},
        ("credit", "train"): {True},
        ("after_episode", "test"): {False},
        ("after_group", "test"): at_test,
        ("credit", "test"): at_test,
    }
    flags = metrics(tmp_path / "run")["flags"]
    assert flags == (["test-feedback-verdict"] if feedback == "verdict" else [])
    assert all(row["success"] is not None for row in rows(tmp_path / "run"))


def test_an_agent_that_reads_answers_is_flagged(tmp_path: Path) -> None:
    class Expert(TellingAgent):
        name = "oracle"
        reads_answers = True

    plugin = Brought(agents={"oracle": lambda options: Expert()})
    prepared(plugin, method="react", agent="oracle").run(tmp_path / "run")
    assert metrics(tmp_path / "run")["flags"] == ["expert"]


def test_a_limit_that_a_clock_decided_is_flagged(tmp_path: Path) -> None:
    class Slow(TellingSession):
        def attempt(self, skills: Sequence[Skill], world: Environment | None = None) -> Attempt:
            return Attempt(Submission(), own_check=False, flags=("safety-net",))

    run = tmp_path / "run"
    prepared(Brought(agents={"slow": lambda o: agent_of(Slow)}), agent="slow").run(run)
    assert metrics(run)["flags"] == ["safety-net"]


# Errors


@pytest.mark.parametrize("error", [UserError("the model is down"), AutoResearchError("odd")])
def test_an_attempt_that_ends_in_an_error_stays_in_the_denominator(
    tmp_path: Path, error: Exception
) -> None:
    class Failing(TellingSession):
        def attempt(self, skills: Sequence[Skill], world: Environment | None = None) -> Attempt:
            if self.task.position == 1:
                self.meter.spend("act", 5)
                raise error
            return super().attempt(skills)

    run = tmp_path / "run"
    plugin = Brought(agents={"failing": lambda options: agent_of(Failing)})
    prepared(plugin, method="react", agent="failing").run(run)
    figures = metrics(run)["metrics"]
    assert (figures["episodes"], figures["errored"]) == (6, 2)
    assert figures["joint_success"]["value"] == round(4 / 6, 6)
    failed = [row for row in rows(run) if row["error"]]
    assert [row["error"] for row in failed] == [str(error)] * 2
    assert [row["units"] for row in failed] == [5, 5]


def test_an_attempt_that_broke_off_has_failed_even_if_what_it_left_is_right(tmp_path: Path) -> None:
    class Breaking(TellingSession):
        def attempt(self, skills: Sequence[Skill], world: Environment | None = None) -> Attempt:
            done = super().attempt(skills)
            return replace(done, error="broke off") if self.task.position == 1 else done

    run = tmp_path / "run"
    plugin = Brought(agents={"breaking": lambda options: agent_of(Breaking)})
    prepared(plugin, method="react", agent="breaking").run(run)
    assert metrics(run)["metrics"]["joint_success"]["value"] == round(4 / 6, 6)
    assert {row["success"] for row in rows(run) if row["error"]} == {False}


def test_a_task_that_the_agent_cannot_read_is_an_error_of_that_task(tmp_path: Path) -> None:
    class Picky(TellingSession):
        def __init__(self, *arguments: Any) -> None:
            super().__init__(*arguments)
            if self.task.position == 2:
                raise UserError("half of the file is missing")

    run = tmp_path / "run"
    prepared(Brought(agents={"picky": lambda o: agent_of(Picky)}), agent="picky").run(run)
    errors = [row["error"] for row in rows(run, "test")]
    assert errors == ["", "", "half of the file is missing"] * 2


def test_an_agent_for_other_tasks_is_refused_before_the_run_begins() -> None:
    class Blind(TellingAgent):
        def session(self, task: Task, meter: Meter) -> TellingSession:
            raise UserError(f"cannot read a task of kind {task.kind!r}")

    with pytest.raises(UserError, match="cannot read a task of kind 'pddl'"):
        prepared(Brought(agents={"blind": lambda options: Blind()}), agent="blind")


def test_a_dead_evaluator_costs_the_verdicts_of_its_chain_and_no_more(tmp_path: Path) -> None:
    opened: list[Any] = []

    class Watched(SmallBenchmark):
        def evaluator(self, split: Any, seed: int) -> Any:
            opened.append(super().evaluator(split, seed))
            return opened[-1]

    class Murderous(TellingSession):
        def attempt(self, skills: Sequence[Skill], world: Environment | None = None) -> Attempt:
            if self.task.id.startswith("test7x1") and self.task.position == 0:
                for process in opened:
                    process._child.kill()
                    process._child.wait()
            return super().attempt(skills)

    run = tmp_path / "run"
    plugin = Brought(
        agents={"murderous": lambda options: agent_of(Murderous)},
        benchmarks={"watched": lambda options: Watched()},
    )
    prepared(plugin, agent="murderous", benchmark="watched", episodes=9).run(run)
    success = [row["success"] for row in rows(run, "test")]
    assert success == [True] * 3 + [None] * 3 + [True] * 3
    assert all("evaluator is gone" in row["error"] for row in rows(run, "test")[3:6])
    assert metrics(run)["metrics"]["errored"] == 3
    assert metrics(run)["metrics"]["joint_success"]["value"] == round(6 / 9, 6)


def test_a_programming_error_keeps_its_traceback_and_the_run_can_go_on(tmp_path: Path) -> None:
    broken = [True]

    class Broken(TellingSession):
        def attempt(self, skills: Sequence[Skill], world: Environment | None = None) -> Attempt:
            attempt = super().attempt(skills)
            if broken[0] and self.task.id.startswith("test7x1"):
                raise ZeroDivisionError("a bug")
            return attempt

    run = tmp_path / "run"
    plugin = Brought(agents={"broken": lambda options: agent_of(Broken)})
    evaluation = prepared(plugin, agent="broken")
    with pytest.raises(ZeroDivisionError, match="a bug"):
        evaluation.run(run)
    attempts = (run / "attempts.jsonl").read_text().splitlines()
    assert len(attempts) == 1
    assert '"attempt":"test-0001-0"' in attempts[0]
    assert '"why":"ZeroDivisionError"' in attempts[0]
    assert '"units":0' not in attempts[0]
    broken[0] = False
    evaluation.run(run, resume=True)
    prepared(plugin, agent="broken").run(tmp_path / "whole")
    assert rows(run) == rows(tmp_path / "whole")
    assert metrics(run) == metrics(tmp_path / "whole")


# Library


def test_every_use_is_on_record_once_whatever_siblings_and_revisions_there_are(
    tmp_path: Path,
) -> None:
    """Every episode revises the skill that it used, every sibling does the same."""

    def revise(e: Episode, view: LibraryView, ctx: Context) -> Sequence[Change]:
        if not view.active():
            return [Create(skill, (e.id,)) for skill in made(e, ctx)]
        base = view.active()[-1]
        padding = f"\n\ndef _v{base.version}(x):\n    return x + {base.version}\n"
        newer = function_skill(base.source + padding, interface=base.interface, main=base.name)
        return [Revise(base.id, newer, (e.id,))]

    def adopt(g: CreditedGroup, view: LibraryView, ctx: Context) -> Sequence[Change]:
        return g.chains[0].changes

    class Last(RetrievalPolicy):
        name = "test.last"
        citation = "test"
        summary = "the newest skill"

        def choose(self, task: Task, library: LibraryView, ctx: Context) -> Choice:
            return Choice(tuple(s.id for s in library.active()[-1:]))

    settings = [
        "update=test.update",
        "retrieval=test.last",
        "rollout.groups_per_batch=1",
        "rollout.siblings=3",
    ]
    run = tmp_path / "run"
    plugin = Brought([update(revise, adopt), Last])
    prepared(plugin, settings=settings, train_scenarios=3, episodes=3).run(run)
    uses = [(row["episode"], use) for row in rows(run) for use in row["uses"]]
    newest = [s for s in library(run) if isinstance(s, Skill)][-1]
    assert newest.version == 9  # created once, revised in every later episode of a first sibling
    # The last version inherits all uses of its line, and was itself not used yet.
    assert newest.usage.retrieved == newest.usage.called == len(uses) == 18
    assert newest.usage.helped == sum(use["helped"] for _, use in uses)


def test_a_change_is_told_by_one_row(tmp_path: Path) -> None:
    run = tmp_path / "run"
    prepared(episodes=12).run(run)
    told = Counter(
        (change["op"], change["skill"], tuple(change["cause"]))
        for row in rows(run)
        for change in row["changes"]
    )
    assert told
    assert set(told.values()) == {1}


def test_policy_updates_are_counted_only_when_the_policy_changed(tmp_path: Path) -> None:
    prepared(settings=["retrieval=recent"]).run(tmp_path / "run")
    assert metrics(tmp_path / "run")["telemetry"]["policy_updates"] == 0
