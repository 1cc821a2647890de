"""Nothing sealed reaches the agent: the leak tests of the mini-suite, at the level of whole runs.

Two runs train on the same truths; at test one of them has the sealed halves of all tasks moved
about. Whatever reads only what is public cannot tell them apart.
"""

from __future__ import annotations

import gc
import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from evaluating import Brought, prepared, rows

from auto_research.agent_research.agents.base import Attempt
from auto_research.agent_research.agents.search.agent import SearchAgent, SearchSession
from auto_research.agent_research.budget import Meter
from auto_research.agent_research.skill import Skill
from auto_research.benchmarks.base import (
    Environment,
    Evaluator,
    Scenario,
    Split,
    Submission,
    Task,
)
from auto_research.benchmarks.planbench import generate
from auto_research.benchmarks.planbench.mini import MiniBenchmark
from auto_research.benchmarks.planbench.tasks import canary
from auto_research.benchmarks.sealed import SealedProcess

SEED, TRAIN_SEED, SCENARIOS = 7, 0, 3
VERDICT = ("success", "checks")  # what the sealed evaluator alone puts into a row


class Permuted:
    """The mini-suite with true verdicts in training; at test those of another permutation."""

    name = "planbench-mini permuted"
    summary = "for the leak tests"

    def __init__(self, permutation: int | None) -> None:
        self._train, self._test = MiniBenchmark(), MiniBenchmark(permutation=permutation)

    def scenarios(self, split: Split, seed: int, limit: int | None = None) -> Sequence[Scenario]:
        return self._of(split).scenarios(split, seed, limit)

    def evaluator(self, split: Split, seed: int) -> Evaluator:
        return self._of(split).evaluator(split, seed)

    def units_per_episode(self) -> int:
        return 1500

    def content_hash(self) -> str:
        return self._train.content_hash()

    def _of(self, split: Split) -> MiniBenchmark:
        return self._test if split == "test" else self._train


class OracleSession(SearchSession):
    """Looks for the evaluator in this process's memory and asks it before handing in."""

    def attempt(self, skills: Sequence[Skill], world: Environment | None = None) -> Attempt:
        attempt = super().attempt(skills)
        for guess in ("valid", "invalid", attempt.submission.answer):
            told = Submission(attempt.submission.plan, guess)
            if any(_right(judge, self.task, told) for judge in _judges()):
                return Attempt(told, attempt.own_check)
        return Attempt(Submission(attempt.submission.plan, "unknown"), attempt.own_check)


def _judges() -> list[SealedProcess]:
    return [thing for thing in gc.get_objects() if isinstance(thing, SealedProcess)]


def _right(judge: SealedProcess, task: Task, submission: Submission) -> bool:
    try:
        return judge.verdict(judge.submit(task.id, submission)).checks["answer_accuracy"]
    except Exception:  # another evaluator, which does not know the task, or a closed one
        return False


class OracleAgent(SearchAgent):
    """The agent `search`, cheating."""

    def session(self, task: Task, meter: Meter) -> OracleSession:
        return OracleSession(self.settings, self._sandbox, task, meter)


def run(path: Path, permutation: int | None, *, agent: str, method: str = "sage") -> Path:
    plugin = Brought(
        agents={"oracle": lambda options: OracleAgent()},
        benchmarks={"permuted": lambda options: Permuted(permutation)},
    )
    evaluation = prepared(
        plugin,
        method=method,
        settings=["rollout.siblings=2"] if method == "sage" else [],
        benchmark="permuted",
        agent=agent,
        episodes=3 * SCENARIOS,
        seed=SEED,
        train_seed=TRAIN_SEED,
        train_scenarios=2,
    )
    evaluation.run(path)
    return path


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """An honest run, and the same one with the sealed halves permuted at test."""
    out = tmp_path_factory.mktemp("leaks")
    return run(out / "plain", None, agent="search"), run(out / "permuted", 1, agent="search")


def unjudged(run: Path) -> list[dict[str, Any]]:
    """The test rows without what the evaluator put into them."""
    return [
        {key: value for key, value in row.items() if key not in VERDICT}
        for row in rows(run, "test")
    ]


def test_with_the_sealed_halves_permuted_the_whole_test_stream_is_the_same(
    runs: tuple[Path, Path],
) -> None:
    plain, permuted = runs
    assert rows(plain, "training") == rows(permuted, "training")
    assert any(row["uses"] for row in rows(plain, "test"))
    assert json.dumps(unjudged(plain)) == json.dumps(unjudged(permuted))
    # The permutation was in force: the verdicts on the same submissions are others.
    assert [r["checks"] for r in rows(plain, "test")] != [
        r["checks"] for r in rows(permuted, "test")
    ]


def test_an_agent_that_reads_the_oracle_is_caught(tmp_path: Path) -> None:
    plain = run(tmp_path / "plain", None, agent="oracle", method="react")
    permuted = run(tmp_path / "permuted", 1, agent="oracle", method="react")
    assert json.dumps(unjudged(plain)) != json.dumps(unjudged(permuted))
    assert all(row["checks"]["answer_accuracy"] for row in rows(plain, "test"))


def sealed_strings() -> list[str]:
    """What the sealed halves of all tasks of the runs hold and nobody else may know."""
    found: list[str] = []
    told: list[tuple[Split, int, int]] = [("train", TRAIN_SEED, 2), ("test", SEED, SCENARIOS)]
    for split, seed, count in told:
        for scenario in generate.scenarios(split, seed, count):
            for entry in scenario:
                found += [entry.sealed.canary, canary(entry.sealed.origin)]
    return found


def test_no_canary_is_in_anything_that_a_run_leaves_behind(
    runs: tuple[Path, Path], capfd: pytest.CaptureFixture[str]
) -> None:
    canaries = sealed_strings()
    assert len(set(canaries)) == 3 * (2 + SCENARIOS)
    out, err = capfd.readouterr()
    said = [out.encode(), err.encode()]
    left = [path.read_bytes() for path in runs[0].iterdir() if path.is_file()]
    assert len(left) >= 4
    for content in said + left:
        assert b"canary" not in content
        assert not any(word.encode() in content for word in canaries)


def test_no_label_of_a_task_is_in_a_row(runs: tuple[Path, Path]) -> None:
    """Names of variants and sizes, and reference answers, are nowhere in what was recorded."""
    text = (runs[0] / "episodes.jsonl").read_text()
    text = re.sub(r'"instruction":"(?:[^"\\]|\\.)*"', "", text)
    for label in ("mystery", "deceptive", "drifted", "reformulation", "replanning", "canary"):
        assert label not in text


def tampered(session: type[SearchSession]) -> Mapping[str, Any]:
    class Agent(SearchAgent):
        def session(self, task: Task, meter: Meter) -> SearchSession:
            return session(self.settings, self._sandbox, task, meter)

    return {"tampering": lambda options: Agent()}


def test_a_corrupted_plan_or_answer_fails(tmp_path: Path) -> None:
    class Tampering(SearchSession):
        def attempt(self, skills: Sequence[Skill], world: Environment | None = None) -> Attempt:
            attempt = super().attempt(skills)
            plan, answer = attempt.submission.plan or (), attempt.submission.answer
            if self.task.position == 0:
                return Attempt(Submission(plan[:-1], answer), True)
            if self.task.position == 1:
                return Attempt(Submission(plan, f"{answer} x"), True)
            return Attempt(Submission(((plan or (("none",),))[0], *plan), answer), True)

    plugin = Brought(agents=tampered(Tampering))
    prepared(
        plugin,
        method="react",
        agent="tampering",
        benchmark="planbench-mini",
        episodes=3,
        units=1500,
    ).run(tmp_path / "run")
    found = rows(tmp_path / "run")
    assert not any(row["success"] for row in found)
    for row in found:
        wrong = "answer_accuracy" if row["position"] == 1 else "plan_success"
        assert row["checks"][wrong] is False


def test_renaming_the_objects_changes_nothing_but_names(tmp_path: Path) -> None:
    """With every object renamed in order, the same steps are found at the same price."""

    class Renamed(MiniBenchmark):
        def scenarios(
            self, split: Split, seed: int, limit: int | None = None
        ) -> Sequence[Scenario]:
            found = super().scenarios(split, seed, limit)
            return [Scenario(s.id, tuple(map(_renamed, s.tasks))) for s in found]

    for name, benchmark in (("plain", MiniBenchmark), ("renamed", Renamed)):
        plugin = Brought(benchmarks={"suite": lambda options, made=benchmark: made()})
        evaluation = prepared(plugin, method="react", benchmark="suite", episodes=3, units=1500)
        evaluation.run(tmp_path / name)
    one, other = rows(tmp_path / "plain"), rows(tmp_path / "renamed")
    assert [r["units_by_kind"] for r in one] == [r["units_by_kind"] for r in other]
    assert any(r["plan"] for r in one)
    for plain, renamed in zip(one, other, strict=True):
        told = json.dumps(plain["plan"])
        assert re.sub(r"\bzz(?=[a-z]+\d+\b)", "", json.dumps(renamed["plan"])) == told


def _renamed(task: Task) -> Task:
    """The task with `zz` before the name of every object; the order of names stays the same."""
    problem = task.observation["problem"]
    objects = re.search(r"\(:objects(.*?)\)", problem, flags=re.S)
    assert objects is not None
    observation = dict(task.observation)
    for name in re.findall(r"\b[a-z]+\d+\b", objects[1]):
        observation["problem"] = re.sub(rf"\b{name}\b", f"zz{name}", observation["problem"])
    return Task(task.id, task.scenario, task.position, task.kind, task.instruction, observation)
