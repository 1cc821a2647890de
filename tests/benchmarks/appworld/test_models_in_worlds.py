"""The agent llm in AppWorld's worlds under a scripted model: skills, methods, seals, hunts."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import pytest
from appworld_cases import Errands, asks_only, defined, hunt
from evaluating import Brought, library, metrics, prepared, rows
from model_server import ModelServer, Reply, Say, code
from typer.testing import CliRunner

from auto_research.agent_research.library import LibraryView
from auto_research.agent_research.operators import (
    ChainResult,
    Choice,
    Context,
    CreditedGroup,
    Episode,
    Operator,
)
from auto_research.benchmarks.appworld.home import Home
from auto_research.benchmarks.base import Task, Verdict
from auto_research.benchmarks.shared import SharedBenchmark
from auto_research.cli.main import app
from auto_research.evaluate import Evaluation
from auto_research.plugins import load_plugins
from auto_research.reporting.html import write_report

pytestmark = pytest.mark.appworld


def evaluation(
    server: ModelServer, benchmark: SharedBenchmark, plugin: Brought | None = None, **request: Any
) -> Evaluation:
    """Two scenarios of the dev split, in worlds that all tests here share."""
    plugin = plugin or Brought()
    plugin.benchmarks = {"mini": lambda options: benchmark}
    defaults = {"agent": "llm", "split": "validation", "episodes": 6, "train_scenarios": 1}
    options = {"model": "scripted", "base_url": server.url}
    return prepared(plugin, benchmark="mini", agent_options=options, **{**defaults, **request})


@pytest.mark.slow
@pytest.mark.parametrize("unsafe", [False, True])
def test_a_model_that_hunts_for_answers_scores_only_where_worlds_are_open_and_is_reported(
    home: Home, errands: Errands, tmp_path: Path, unsafe: bool
) -> None:
    skipped = ("/usr", "/lib", sys.base_prefix, str(home.path / "venv"), *(["/"] if unsafe else []))

    def hunting(request: Mapping[str, Any]) -> Reply:
        return Say(code(hunt(home.mini.resolve(), errands.asked(request)[0], skipped)))

    run = tmp_path / "run"
    with ModelServer(hunting) as server:
        options = {"model": "scripted", "base_url": server.url}
        prepared(
            method="react",
            benchmark="appworld-mini",
            agent="llm",
            agent_options=options,
            split="validation",
            episodes=12,
            unsafe_worlds=unsafe,
        ).run(run)
    found = [row["success"] for row in rows(run, "test") if asks_only(home, row["task"])]
    assert len(found) == 6 and sum(found) == (6 if unsafe else 0)
    if not unsafe:
        assert metrics(run)["metrics"]["tgc"]["value"] == 0
    assert metrics(run)["flags"] == ["strayed-code", *(["unsafe-worlds"] if unsafe else [])]
    report = write_report(run).read_text()
    assert "looked for files, processes or a network" in report
    assert ("code in them could read the answers" in report) == unsafe


INSTALLED = sorted(load_plugins().methods)


@pytest.mark.slow
@pytest.mark.parametrize(
    "methods",
    [
        ["react", "sage", "expel"],
        pytest.param(INSTALLED, marks=pytest.mark.timeout(1800)),
    ],
    ids=["three", "all"],
)
def test_methods_run_with_a_model_and_are_compared_at_one_budget(
    home: Home, errands: Errands, tmp_path: Path, methods: list[str]
) -> None:
    with ModelServer(errands) as server:
        given = ["--methods", ",".join(methods), "--benchmark", "appworld-mini", "--agent", "llm"]
        given += ["--model", "scripted", "--base-url", server.url, "--split", "validation"]
        given += ["--seeds", "7", "--episodes", "3", "--train-scenarios", "2", "--json"]
        done = CliRunner().invoke(app, ["compare", *given, "--out", str(tmp_path)], obj=())
        assert done.exit_code == 0, done.output
        table = json.loads(done.stdout)
        found = {m["method"]: [rows(Path(run)) for run in m["runs"]] for m in table["methods"]}
        assert sorted(found) == sorted(methods)
        every = [row for runs in found.values() for run in runs for row in run]
        assert [row["error"] for row in every if row["error"]] == []
        assert sum(row["model_calls"] for row in every) == server.calls
        assert sum(row["tokens"] for row in every) == server.tokens
    for runs in found.values():
        assert [row["success"] for row in runs[0] if row["phase"] == "test"] == [True] * 3


@pytest.mark.slow
@pytest.mark.parametrize("spoiled", [False, True])
def test_what_breaks_in_a_world_is_mended_saved_and_defined_in_the_next_unless_the_block_fails(
    mini: SharedBenchmark, errands: Errands, tmp_path: Path, spoiled: bool
) -> None:
    # a default that no later world can work out, in a function that ran well where it was written
    spare = "\n\ndef spare(word=first):\n    return word\n\n\nspare()"

    def erring(request: Mapping[str, Any]) -> Reply:
        said = errands(request)
        assert isinstance(said, Say) and said.text is not None
        if "def sign_in" not in said.text:
            return said
        if len(request["messages"]) == 2:
            return Say(said.text.replace("show_account_passwords", "show_account_words"))
        return Say(said.text.replace("\n```", f"\n\nfirst = 1{spare}\n```" if spoiled else "\n```"))

    run = tmp_path / "run"
    with ModelServer(erring) as server:
        evaluation(server, mini, method="sage-paper", train_scenarios=0).run(run)
        mine = rows(run)
        assert sum(row["model_calls"] for row in mine) == server.calls
        assert sum(row["tokens"] for row in mine) == server.tokens
    assert all(row["success"] for row in mine)
    assert [row["steps"] for row in mine] == [2, *([2, 2] if spoiled else [1, 1])] * 2
    for row in mine[1:3] + mine[4:]:
        dropped = {use["detail"] == "the block was dropped" for use in row["uses"]}
        assert dropped == {spoiled} and any(use["called"] for use in row["uses"]) == (not spoiled)
    saved = [skill.source for skill in library(run) if getattr(skill, "name", "") == "sign_in"]
    assert saved and not any("show_account_words" in source for source in saved)


def verdicts(thing: Any) -> Iterator[Verdict]:
    """The sealed verdicts in what an operator was given."""
    if isinstance(thing, Verdict):
        yield thing
    elif dataclasses.is_dataclass(thing) and not isinstance(thing, type):
        for part in dataclasses.fields(thing):
            yield from verdicts(getattr(thing, part.name))
    elif isinstance(thing, Mapping):
        yield from verdicts(list(thing.values()))
    elif isinstance(thing, list | tuple | set | frozenset):
        for part in thing:
            yield from verdicts(part)


class Seen:
    """What operators saw at test: a task's whole library, and sealed verdicts."""

    skills: ClassVar[list[tuple[Task, list[Any]]]] = []
    verdicts: ClassVar[list[Verdict]] = []

    @classmethod
    def look(cls, *given: object) -> None:
        cls.verdicts.extend(verdicts(list(given)))


def recording() -> list[type[Operator]]:
    """`sage-paper`'s own operators, which also note what they are given at test."""
    own = load_plugins().operators
    retrieval, update, reward = (
        own[slot][name].value
        for slot, name in (
            ("retrieval", "sage.scenario"),
            ("update", "sage.save"),
            ("reward", "sage.skill-integrated"),
        )
    )

    class Retrieval(retrieval):  # type: ignore[misc, valid-type]
        name = "test.retrieval"

        def choose(self, task: Task, library: LibraryView, ctx: Context) -> Choice:
            choice: Choice = super().choose(task, library, ctx)
            if ctx.phase == "test":
                Seen.look(task, dict(library.skills))
                Seen.skills.append((task, list(library.skills.values())))
                assert bool(choice.ranked) == bool(library.skills)
            return choice

    class Update(update):  # type: ignore[misc, valid-type]
        name = "test.update"

        def after_episode(
            self, episode: Episode, library: LibraryView, ctx: Context
        ) -> Sequence[Any]:
            if ctx.phase == "test":
                Seen.look(episode)
            changes: Sequence[Any] = super().after_episode(episode, library, ctx)
            return changes

        def after_group(
            self, group: CreditedGroup, library: LibraryView, ctx: Context
        ) -> Sequence[Any]:
            if ctx.phase == "test":
                Seen.look(group)
            changes: Sequence[Any] = super().after_group(group, library, ctx)
            return changes

    class Reward(reward):  # type: ignore[misc, valid-type]
        name = "test.reward"

        def credit(self, group: Sequence[ChainResult]) -> Any:
            if all(e.id.startswith("test") for chain in group for e in chain.episodes):
                Seen.look(list(group))
            return super().credit(group)

    return [Retrieval, Update, Reward]


@pytest.mark.slow
@pytest.mark.parametrize("feedback", ["own", "verdict"])
def test_at_test_a_task_sees_what_the_model_wrote_earlier_in_its_scenario_and_no_verdict(
    mini: SharedBenchmark, errands: Errands, tmp_path: Path, feedback: str
) -> None:
    Seen.skills.clear(), Seen.verdicts.clear()
    settings = [f"{slot}=test.{slot}" for slot in ("retrieval", "update", "reward")]
    with ModelServer(errands) as server:
        evaluation(
            server,
            mini,
            Brought(recording()),
            method="sage-paper",
            settings=[*settings, "rollout.siblings=2"],
            test_feedback=feedback,
        ).run(tmp_path / "run")
        written: dict[str, dict[str, str]] = {}
        for request in server.requests:
            task, program = errands.asked(request)
            written[task] = defined(program)
    assert len(Seen.skills) == 6 and bool(Seen.verdicts) == (feedback == "verdict")
    for task, skills in Seen.skills:
        scenario = task.id.partition("_")[0]
        earlier = [f"{scenario}_{n}" for n in range(1, task.position + 1)]
        assert bool(skills) == bool(earlier)
        for skill in skills:
            assert skill.provenance.task in earlier
            assert defined(skill.source).items() <= written[skill.provenance.task].items()


@pytest.mark.slow
@pytest.mark.parametrize("frozen", [True, False])
def test_only_a_frozen_test_leaves_a_trained_library_as_it_was(
    mini: SharedBenchmark, errands: Errands, tmp_path: Path, frozen: bool
) -> None:
    run, hashes = tmp_path / "run", list[str]()

    def heard(row: Mapping[str, Any]) -> None:
        hashes.append(hashlib.sha256(repr(library(run)).encode()).hexdigest())

    settings = ["retrieval=sage.query-ngram", "rollout.siblings=2"]
    with ModelServer(errands) as server:
        plugin = Brought(heard=heard)
        evaluation(server, mini, plugin, settings=settings, frozen=frozen).run(run)
    heard({})
    assert library(run) and any(row["uses"] for row in rows(run, "test"))
    after_training = hashes[len(rows(run, "training")) - 1]
    assert (set(hashes[-7:]) == {after_training}) == frozen
