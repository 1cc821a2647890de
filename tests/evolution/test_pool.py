"""Workers live through what methods do, and leave no process behind."""

from __future__ import annotations

import os
import signal
from collections import deque
from collections.abc import Iterator
from pathlib import Path

import pytest

from auto_research.agent_research.method import load_method
from auto_research.errors import UserError
from auto_research.evolution.pool import WALL_TIME, WORKER_DIED, Pool
from auto_research.evolution.trial import Bench, Job, transcript_path
from auto_research.furnishing import EvalRequest
from auto_research.plugins import load_plugins

HERE = Path(__file__).parent
PATIENT = 200.0  # seconds


@pytest.fixture
def pool(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Pool]:
    monkeypatch.setenv("AUTO_RESEARCH_PLUGINS", "small_world,broken_operators")
    monkeypatch.syspath_prepend(str(HERE))
    for name in ("running", "transcripts"):
        (tmp_path / name).mkdir()
    strangers = _children()  # of other tests in this process
    trial = EvalRequest(
        load_method("sage", load_plugins()),
        benchmark="small",
        episodes=3,
        seed=7,
        train_scenarios=1,
        split="validation",
        run_units=8000,
    )
    made = Pool(Bench(trial, trial, episodes=40), 1)
    yield made
    made.close()  # a second time in one test: it is safe
    assert _children() <= strangers


def _children(of: int | None = None) -> set[int]:
    """Processes below this one, but for the one that multiprocessing keeps until we end."""
    found = set()
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            parent = int(stat.read_text().rpartition(")")[2].split()[1])
            words = (stat.parent / "cmdline").read_bytes()
        except (OSError, IndexError):
            continue
        if parent == (of or os.getpid()) and words and b"resource_tracker" not in words:
            found.add(int(stat.parent.name))
    return found


def _job(tmp_path: Path, *settings: str) -> Job:
    method = load_method("sage", load_plugins(), settings)
    return Job(method.to_dict(), tmp_path / "running" / method.content_hash()[:16])


def test_whatever_a_method_does_the_next_one_is_evaluated_as_if_nothing_had_been(
    pool: Pool, tmp_path: Path
) -> None:
    good = _job(tmp_path)
    broken = {
        "ValueError: broken on purpose": _job(tmp_path, "update=broken.raises"),
        "ValueError: ": _job(tmp_path, "update=broken.no-number"),
        "TypeError: ": _job(tmp_path, "reward=broken.text"),
        "Endless: training and probes ran more than 40 episodes": _job(
            tmp_path, "rollout=broken.endless"
        ),
        "its process died": _job(tmp_path, "update=broken.dies"),
    }
    jobs = [good, *(job for each in broken.values() for job in (each, good))]
    outcomes = [outcome for outcome, _ in pool.run(jobs, PATIENT)]
    first = outcomes[0]
    assert first.fitness is not None
    assert (first.reason, len(first.episodes)) == ("", 3)
    assert outcomes[::2] == [first] * (len(broken) + 1)
    for reason, failed in zip(broken, outcomes[1::2], strict=True):
        assert failed.reason.startswith(reason)
        assert failed.fitness is None
        assert failed.flags == ((WORKER_DIED,) if "died" in reason else ())
    # What a trial leaves: its transcripts, packed, and no run directory.
    assert transcript_path(good.path).is_file()
    leftover = {path.name for path in (tmp_path / "running").iterdir()}
    assert leftover <= {_job(tmp_path, "update=broken.dies").path.name}


def test_an_endless_loop_is_ended_by_the_clock_and_said_to_be(pool: Pool, tmp_path: Path) -> None:
    good, spins = _job(tmp_path), _job(tmp_path, "update=broken.spins")
    [(before, _)] = pool.run([good], PATIENT)
    [(ended, _)] = pool.run([spins], 0.2)
    assert ended.reason == "took longer than 0.2 s"
    assert (ended.flags, ended.fitness) == ((WALL_TIME,), None)
    [(after, _)] = pool.run([good], PATIENT)
    assert before == after


def test_a_busy_worker_is_gone_once_the_pool_is_closed(pool: Pool, tmp_path: Path) -> None:
    jobs = [_job(tmp_path), _job(tmp_path, "update=broken.spins")]
    outcomes = pool.run(jobs, PATIENT)
    next(outcomes)  # the one worker goes on to the endless one when asked for more
    pool._hand_out(deque([1]), jobs)
    busy = _children()
    pool.close()
    assert busy - _children()


class Fatal:
    """Ends the process that it is handed to."""

    def __reduce__(self) -> object:
        return os._exit, (1,)


def test_a_worker_that_cannot_start_fails_no_job() -> None:
    made = Pool(Fatal(), 1)  # type: ignore[arg-type]
    with pytest.raises(UserError, match="died at its start; the same command with --resume"):
        list(made.run([Job({}, Path("nowhere"))], PATIENT))
    made.close()


def test_a_worker_that_is_killed_while_idle_is_replaced(pool: Pool, tmp_path: Path) -> None:
    good, before = _job(tmp_path), _children()
    [(first, _)] = pool.run([good], PATIENT)
    [worker] = _children() - before
    below = _children(worker)  # slow to end: they hold what the worker held
    for child in below:
        os.kill(child, signal.SIGSTOP)
    os.kill(worker, signal.SIGKILL)
    os.waitid(os.P_PID, worker, os.WEXITED | os.WNOWAIT)
    [(second, _)] = pool.run([good], PATIENT)
    for child in below:
        os.kill(child, signal.SIGCONT)
    assert (first.reason, second) == ("", first)
