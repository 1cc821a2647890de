"""Runs that share a training equal runs that trained for themselves, whatever breaks off."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from evaluating import Brought, agent_of, library, metrics, prepared, rows, update
from shell import result
from small_world import TellingSession

from auto_research.agent_research.operators import LibraryUpdate
from auto_research.agent_research.run import RunDir
from auto_research.errors import UserError
from auto_research.evaluate import Evaluation
from auto_research.shared_training import run_from_training, training_key, training_part

Phases = list[str]


def counting(seen: Phases) -> Callable[..., None]:
    """Told of each episode that was run, it notes the phase."""
    return lambda phase, count: seen.extend([phase] * count)


def shared(evaluation: Evaluation, out: Path, name: str, **more: Any) -> Path:
    """A run under `out` that starts from the training kept there."""
    out.mkdir(exist_ok=True)
    run_from_training(evaluation, out / name, out / "training", **more)
    return out / name


def plain(evaluation: Evaluation, path: Path) -> Path:
    evaluation.run(path)
    return path


def equal(one: Path, other: Path) -> None:
    assert result(one) == result(other)
    assert library(one) == library(other)
    assert (one / "run.yaml").read_bytes() == (other / "run.yaml").read_bytes()


def test_a_run_from_a_shared_training_is_the_plain_run_to_the_byte(tmp_path: Path) -> None:
    for seed in (7, 8):
        given = {"seed": seed, "train_scenarios": 3}
        mine = shared(prepared(**given), tmp_path / "all", str(seed))
        equal(mine, plain(prepared(**given), tmp_path / f"plain-{seed}"))
    assert len(list((tmp_path / "all" / "training").iterdir())) == 1


def test_only_the_first_of_them_trains(tmp_path: Path) -> None:
    ran: list[str] = []
    for seed, episodes in ((7, 6), (8, 9)):
        session = telling_to(ran)
        plugin = Brought(agents={"watched": lambda options, s=session: agent_of(s, "watched")})
        evaluation = prepared(plugin, agent="watched", seed=seed, episodes=episodes)
        shared(evaluation, tmp_path, str(seed))
    assert sum("train" in scenario for scenario in ran) == len(rows(tmp_path / "7", "training"))
    assert sum("test7x" in scenario for scenario in ran) == 6
    assert sum("test8x" in scenario for scenario in ran) == 9


def telling_to(ran: list[str]) -> type[TellingSession]:
    """Sessions that note the scenario of each attempt."""

    class Session(TellingSession):
        def attempt(self, skills: Any, world: Any = None) -> Any:
            ran.append(self.task.scenario)
            return super().attempt(skills)

    return Session


def test_every_run_is_charged_for_the_whole_training(tmp_path: Path) -> None:
    one, two = (shared(prepared(seed=seed), tmp_path, str(seed)) for seed in (7, 8))
    assert rows(one, "training") == rows(two, "training") != []
    spent = [metrics(run)["spending"]["units"] for run in (one, two)]
    assert spent[0]["training"] == spent[1]["training"] > 0
    assert spent[0]["training"] == sum(row["units"] for row in rows(one, "training"))


@pytest.mark.parametrize(
    ("other", "same"),
    [
        ({"seed": 8}, True),
        ({"split": "validation"}, True),
        ({"episodes": 3}, True),
        ({"frozen": True}, True),
        ({"test_feedback": "verdict"}, True),
        ({"train_seed": 1}, False),
        ({"train_scenarios": 3}, False),
        ({"units": 399}, False),
        ({"run_units": 10_000}, False),
        ({"exclude": ("lamps",)}, False),
        ({"agent": "telling"}, False),
        ({"settings": ("update.retire=false",)}, False),
    ],
)
def test_what_decides_the_training_and_nothing_else_names_it(
    other: dict[str, Any], same: bool
) -> None:
    assert (training_key(prepared().config) == training_key(prepared(**other).config)) is same


def test_code_benchmark_and_content_of_the_method_name_it_but_not_the_methods_name() -> None:
    config = prepared().config
    for change in ({"code_hash": "0"}, {"benchmark_hash": "0"}):
        assert training_key(replace(config, **change)) != training_key(config)
    renamed = replace(config, method={**config.method, "name": "twin", "summary": "other words"})
    assert training_key(renamed) == training_key(config)


def test_a_method_that_does_not_train_leaves_no_training_behind(tmp_path: Path) -> None:
    evaluation = prepared(method="react")
    equal(shared(evaluation, tmp_path, "run"), plain(prepared(method="react"), tmp_path / "plain"))
    assert not (tmp_path / "training").exists()


class Broken(Exception):
    """A test's own."""


def breaking(at: str) -> type[LibraryUpdate]:
    """An update that breaks off at the first episode of a phase's second scenario."""

    def after_episode(episode: Any, library: Any, ctx: Any) -> Any:
        if ctx.phase == at and episode.task.scenario.endswith("x1"):
            raise Broken
        return ()

    return update(after_episode)


@pytest.mark.parametrize("at", ["training", "test"])
def test_a_training_or_test_that_broke_off_is_gone_on_with(tmp_path: Path, at: str) -> None:
    given = {"settings": ("update=test.update",), "train_scenarios": 6}
    with pytest.raises(Broken):
        shared(prepared(Brought([breaking(at)]), **given), tmp_path, "run")
    sound = breaking("never")
    run = shared(prepared(Brought([sound]), **given), tmp_path, "run")
    equal(run, plain(prepared(Brought([sound]), **given), tmp_path / "plain"))
    (lost,) = {RunDir.open(run).attempts_path.read_text().partition('"why":"')[2][:6]}
    assert lost == "Broken"


def test_half_a_copy_is_thrown_away(tmp_path: Path) -> None:
    first = shared(prepared(seed=7), tmp_path, "7")
    half = tmp_path / "8.copy"
    half.mkdir()
    shutil.copy(first / "library.sqlite", half)
    (half / "episodes.jsonl").write_text('{"torn')
    equal(shared(prepared(seed=8), tmp_path, "8"), plain(prepared(seed=8), tmp_path / "plain"))
    assert not half.exists()


def test_a_finished_run_is_taken_as_it_is(tmp_path: Path) -> None:
    run = shared(prepared(), tmp_path, "run")
    before = (run / "episodes.jsonl").stat().st_mtime_ns
    shared(prepared(), tmp_path, "run")
    assert (run / "episodes.jsonl").stat().st_mtime_ns == before


def test_somebody_elses_files_are_left_alone(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "thesis.tex").touch()
    with pytest.raises(UserError, match="no run can be made there"):
        shared(prepared(), tmp_path, "run")
    assert (tmp_path / "run" / "thesis.tex").exists()


@pytest.mark.parametrize("again", [False, True])
def test_progress_counts_each_episode_of_the_run_once(tmp_path: Path, again: bool) -> None:
    if again:
        shared(prepared(seed=8), tmp_path, "8")
    seen: Phases = []
    run = shared(prepared(seed=7), tmp_path, "7", progressed=counting(seen))
    assert {phase: seen.count(phase) for phase in ("training", "test")} == {
        phase: len(rows(run, phase)) for phase in ("training", "test")
    }


def test_a_training_says_so_in_its_own_config(tmp_path: Path) -> None:
    evaluation = prepared()
    shared(evaluation, tmp_path, "run")
    (training,) = (tmp_path / "training").iterdir()
    config: Any = RunDir.open(training).config
    assert config["method"]["name"] == "training"
    assert config == training_part(evaluation.config).to_json()
