"""The backend `local`: what it leaves behind, exact resume, and what it refuses."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from auto_research.agent_research.agents.micro.checkpoint import content_hash
from auto_research.agent_research.run import RunDir
from auto_research.errors import UserError
from auto_research.training.log import read_log
from tests.training.local_cases import config, train, untrained

SAME = ("episodes.jsonl", "metrics.json", "training.jsonl")


@pytest.fixture(scope="module")
def start(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return untrained(tmp_path_factory.mktemp("start") / "checkpoint")


@pytest.fixture(scope="module")
def whole(start: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A training that nothing disturbed."""
    out = tmp_path_factory.mktemp("whole") / "run"
    train(out, config(start))
    return out


def test_a_training_is_an_ordinary_run_with_a_model_beside_it(whole: Path, start: Path) -> None:
    with RunDir.open(whole) as run:
        phases = [row.phase for row in run.rows()]
    assert phases.count("training") == 3 * 2 * 3 * 2  # iterations, groups, siblings, chain
    assert phases.count("test") == 6
    assert content_hash(whole / "model") != content_hash(start)
    rows = list(read_log(whole))
    assert [row["iteration"] for row in rows] == [1, 2, 3]
    watched = {"R1", "R2", "no_submission", "define", "use", "zero_variance", "entropy", "tokens"}
    assert watched <= rows[0].keys()
    metrics = json.loads((whole / "metrics.json").read_text())
    assert metrics["spending"]["units"]["training"] > 0


def test_two_trainings_of_one_config_give_the_same_bytes(
    whole: Path, start: Path, tmp_path: Path
) -> None:
    train(tmp_path / "again", config(start))
    _assert_equal(whole, tmp_path / "again")


@pytest.mark.parametrize("moment", [1, 2, 3, 4])
def test_a_training_killed_at_any_moment_ends_with_the_same_model(
    whole: Path, start: Path, tmp_path: Path, moment: int
) -> None:
    out = tmp_path / "killed"
    _train_and_kill(out, start, moment)
    train(out, config(start), resume=True)
    _assert_equal(whole, out)


@pytest.mark.slow
@pytest.mark.parametrize("tenth", range(10))
def test_a_training_killed_while_it_writes_ends_with_the_same_model(
    whole: Path, start: Path, tmp_path: Path, tenth: int
) -> None:
    """Ten moments, evenly over all that is written: just before what was written is durable."""
    with pytest.MonkeyPatch.context() as patch:
        writes, settle = [], os.fsync
        patch.setattr(os, "fsync", lambda file: (writes.append(file), settle(file)))
        train(tmp_path / "counted", config(start))
    assert len(writes) >= 10
    out = tmp_path / "killed"
    _killed_while_writing(out, start, 1 + tenth * len(writes) // 10)
    train(out, config(start), resume=True)
    _assert_equal(whole, out)


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"rl": {"iteration": 3}}, "rl.iteration"),
        ({"rl": {"learning_rate": -1}}, "rl.learning_rate"),
        ({"validation": {"keep": "worst"}}, "validation.keep"),
        ({"tests": {}}, "tests"),
        ({"rl": {"iterations": 2}, "validation": {"every": 9, "patience": 1}}, "patience"),
        ({"start": "nowhere"}, "nowhere"),
    ],
)
def test_a_config_that_makes_no_sense_is_refused_by_key(
    start: Path, tmp_path: Path, changes: dict[str, object], told: str
) -> None:
    with pytest.raises(UserError, match=told):
        train(tmp_path / "run", config(start) | changes)  # type: ignore[operator]
    assert not (tmp_path / "run").exists()


def test_a_method_that_never_trains_is_refused_with_the_reason(start: Path, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="never trains"):
        train(tmp_path / "run", config(start), method="react", settings=())


def test_a_resumed_training_must_have_its_own_config(whole: Path, start: Path) -> None:
    other = config(start, rl={"iterations": 3, "groups": 2, "learning_rate": 0.1})
    with pytest.raises(UserError, match=r"learning_rate"):
        train(whole, other, resume=True)


def test_training_stops_when_validation_is_out_of_patience(start: Path, tmp_path: Path) -> None:
    parts = config(
        start,
        rl={"iterations": 9, "groups": 1},
        validation={"every": 1, "scenarios": 1, "patience": 2},
    )
    train(tmp_path / "run", parts)
    # An untrained model solves nothing: the first validation is the best, two more are no better.
    assert len(list(read_log(tmp_path / "run"))) == 3


def test_a_dry_run_leaves_nothing(start: Path, tmp_path: Path) -> None:
    planned = train(tmp_path / "run", config(start), dry_run=True)
    assert planned.state == "planned"
    assert planned.details["optimizer_steps"] == 6
    assert list(tmp_path.iterdir()) == []


def test_another_papers_method_trains_through_the_same_backend(start: Path, tmp_path: Path) -> None:
    trained = train(
        tmp_path / "run", config(start), method="skillrise", settings=("reward.no_submission=-1",)
    )
    assert trained.checkpoint is not None
    assert content_hash(trained.checkpoint) != content_hash(start)


def _train_and_kill(out: Path, start: Path, moment: int) -> None:
    """Train in a child that is killed, as by ``kill -9``, when it tells of its `moment`-th step."""
    fatal = _Fatal(moment)
    _dies(lambda: train(out, config(start), told=lambda progress: fatal()))


def _killed_while_writing(out: Path, start: Path, moment: int) -> None:
    """The same just before its `moment`-th write is durable."""

    def work() -> None:
        settle, fatal = os.fsync, _Fatal(moment)

        def fsync(file: int) -> None:
            fatal()
            settle(file)

        os.fsync = fsync
        train(out, config(start))

    _dies(work)


class _Fatal:
    """Kills this process when it is called for the `moment`-th time."""

    def __init__(self, moment: int) -> None:
        self.left = moment

    def __call__(self) -> None:
        self.left -= 1
        if self.left == 0:
            os.kill(os.getpid(), signal.SIGKILL)


def _dies(work: Callable[[], None]) -> None:
    child = os.fork()
    if child == 0:
        try:
            work()
        finally:
            os._exit(1)
    _, status = os.waitpid(child, 0)
    assert os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL


def _assert_equal(first: Path, second: Path) -> None:
    for name in SAME:
        assert (first / name).read_bytes() == (second / name).read_bytes(), name
    assert content_hash(first / "model") == content_hash(second / "model")
