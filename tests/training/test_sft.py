"""The first stage: what is learned, how it ends, and that a killed one ends with the same bytes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from auto_research.agent_research.agents.micro.checkpoint import content_hash, load
from auto_research.agent_research.agents.micro.model import Model, Shape
from auto_research.benchmarks.workshop.benchmark import WorkshopBenchmark
from auto_research.errors import UserError
from auto_research.training.backends import Progress
from auto_research.training.demonstrations import (
    WORKSHOP,
    Demonstration,
    demonstrate,
    export,
)
from auto_research.training.lessons import Batches, lesson, lesson_loss
from auto_research.training.sft import RECORD, STATE, SftConfig, sft, solved

torch.set_num_threads(1)  # sums in another order are other sums

TINY = SftConfig(
    steps=6,
    batch=4,
    demonstrations=24,
    validate_every=3,
    validation_scenarios=1,
    save_every=2,
    width=16,
    layers=1,
    heads=2,
)
SHOWN = Demonstration(("LIB", "INIT", "GO"), ("goto", "r1", "ok", "DONE"), (1, 1, 0, 1))


def stage(out: Path, config: SftConfig = TINY, seed: int = 0, **more: Path) -> Path:
    """What `auto-research train` does first."""
    return sft(config, benchmark="workshop-hid", seed=seed, out=out, **more)


def record(folder: Path) -> dict[str, object]:
    found: dict[str, object] = json.loads((folder / RECORD).read_text())
    return found


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return stage(tmp_path_factory.mktemp("starts"))


def test_only_what_the_agent_wrote_is_learned() -> None:
    """At every other place the gradient to what comes out is zero."""
    model = Model(Shape(len(WORKSHOP.words), 16, 1, 2), torch.Generator().manual_seed(0))
    seen: list[torch.Tensor] = []
    model.head.register_full_backward_hook(lambda _, __, out: seen.append(out[0]))
    lesson_loss(model, [lesson(SHOWN, WORKSHOP, 512)]).backward()
    # After LIB and INIT comes the rest of the prompt, after r1 the answer `ok`.
    assert (seen[0][0].abs().sum(-1) > 0).tolist() == [False, False, True, True, False, True]


def test_the_loss_is_the_mean_over_the_agents_words_whatever_the_padding() -> None:
    model = Model(Shape(len(WORKSHOP.words), 16, 1, 2), torch.Generator().manual_seed(0))
    longer = Demonstration(SHOWN.prompt, ("goto", "r1", "ok") * 3 + ("DONE",), (1, 1, 0) * 3 + (1,))
    lessons = [lesson(d, WORKSHOP, 512) for d in (SHOWN, longer)]
    together = lesson_loss(model, lessons).item()
    alone = [lesson_loss(model, [given]).item() for given in lessons]
    assert together == pytest.approx((3 * alone[0] + 7 * alone[1]) / 10, rel=1e-5)


def test_a_demonstration_that_teaches_nothing_or_does_not_fit_is_refused() -> None:
    model = Model(Shape(len(WORKSHOP.words), 16, 1, 2))
    silent = Demonstration(SHOWN.prompt, ("ok",), (0,))
    with pytest.raises(ValueError, match="without a word"):
        lesson_loss(model, [lesson(silent, WORKSHOP, 512)])
    with pytest.raises(UserError, match=r"7 words.*reads 6.*sft\.context"):
        lesson(SHOWN, WORKSHOP, 6)
    with pytest.raises(UserError, match="did you mean"):
        lesson(Demonstration(("LIBB",), ("DONE",), (1,)), WORKSHOP, 512)


@settings(max_examples=50)
@given(st.lists(st.integers(1, 50), min_size=1, max_size=60), st.integers(1, 9))
def test_an_epoch_takes_each_lesson_at_most_once_and_leaves_less_than_a_batch(
    lengths: list[int], size: int
) -> None:
    batches = Batches(lengths, size, seed=1)
    steps = len(lengths) // batches.size
    taken = [number for step in range(steps) for number in batches.of(step)]
    assert len(set(taken)) == len(taken) == steps * batches.size
    assert len(lengths) - len(taken) < batches.size
    fresh = Batches(lengths, size, seed=1)  # asked in another order, as after a resume
    assert [fresh.of(step) for step in (steps, 0)] == [batches.of(steps), batches.of(0)]


def test_the_rate_rises_then_falls_to_a_share_of_itself() -> None:
    config = SftConfig(steps=100, warmup=10, learning_rate=1.0, last_rate=0.1)
    rates = [config.rate(step) for step in range(100)]
    assert rates[0] == pytest.approx(0.1)
    assert max(rates) == rates[9]
    assert rates[9:] == sorted(rates[9:], reverse=True)
    assert rates[99] == pytest.approx(0.1 + 0.9 * 0.01)


def test_a_stage_leaves_a_checkpoint_and_a_record_of_how_it_went(done: Path) -> None:
    policy = load(done)
    assert policy.vocabulary == WORKSHOP
    assert policy.model.shape.width == 16
    told = record(done)
    assert told["steps"] == 6
    assert told["learned"] == 24
    assert [entry["step"] for entry in told["history"]] == [3, 6]  # type: ignore[attr-defined]
    assert not (done / STATE).exists()


def test_it_learns(tmp_path: Path) -> None:
    """A few demonstrations by heart."""
    changes = {"steps": 40, "batch": 6, "demonstrations": 6, "validate_every": 20, "warmup": 5}
    config = TINY.model_copy(update={**changes, "width": 32, "learning_rate": 0.01})
    history = record(stage(tmp_path, config))["history"]
    first, last = history  # type: ignore[misc]
    assert last["loss"] < 0.6 * first["loss"]


def test_one_that_is_there_is_not_made_again(done: Path) -> None:
    told: list[Progress] = []
    before = (done / RECORD).stat().st_mtime_ns
    again = sft(TINY, benchmark="workshop-hid", seed=0, out=done.parent, told=told.append)
    assert again == done
    assert told == []
    assert (done / RECORD).stat().st_mtime_ns == before


def test_everything_that_decides_the_result_decides_the_folder(done: Path, tmp_path: Path) -> None:
    same = stage(tmp_path)
    assert same.name == done.name
    assert content_hash(same) == content_hash(done)
    for name, other in (
        ("another seed", stage(tmp_path, seed=1)),
        ("another config", stage(tmp_path, TINY.model_copy(update={"learning_rate": 1e-3}))),
    ):
        assert other.name != done.name, name
        assert content_hash(other) != content_hash(done), name


def test_it_ends_as_soon_as_the_share_solved_is_reached(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shares = iter([0.2, 0.5, 0.9])
    monkeypatch.setattr("auto_research.training.sft.solved", lambda *_: next(shares))
    config = TINY.model_copy(update={"stop_at": 0.4, "validate_every": 1})
    told = record(stage(tmp_path, config))
    assert told["steps"] == 2


def test_it_goes_on_from_a_checkpoint_with_a_file_of_demonstrations(
    done: Path, tmp_path: Path
) -> None:
    path = tmp_path / "own.jsonl"
    export(demonstrate(WorkshopBenchmark("hid"), 8, 3).kept, path)
    further = stage(tmp_path, start=done, demonstrations=path)
    assert record(further)["learned"] == 8
    assert load(further).model.shape == load(done).model.shape
    assert content_hash(further) != content_hash(done)


def test_a_killed_stage_ends_with_the_bytes_of_one_that_was_not(done: Path, tmp_path: Path) -> None:
    """Killed by SIGKILL as it tells of a step, twice; each time it goes on from what it kept."""
    program = (
        "import os, signal, sys, torch\n"
        "from pathlib import Path\n"
        "from auto_research.training.sft import SftConfig, sft\n"
        "torch.set_num_threads(1)\n"
        "def told(progress):\n"
        "    print(progress.stage, progress.done, flush=True)\n"
        "    if progress.stage == 'sft' and progress.done == int(sys.argv[3]):\n"
        "        os.kill(os.getpid(), signal.SIGKILL)\n"
        "config = SftConfig.model_validate_json(sys.argv[1])\n"
        "sft(config, benchmark='workshop-hid', seed=0, out=Path(sys.argv[2]), told=told)\n"
    )
    for moment in (3, 6):
        killed = subprocess.run(
            [sys.executable, "-c", program, TINY.model_dump_json(), tmp_path, str(moment)],
            env={**os.environ, "OMP_NUM_THREADS": "1"},
            capture_output=True,
            text=True,
        )
        assert killed.returncode == -signal.SIGKILL, killed.stderr
        kept = torch.load(tmp_path / done.name / STATE, weights_only=True)
        assert kept["steps"] == moment - moment % 2 or kept["steps"] == moment - 2
    assert content_hash(stage(tmp_path)) == content_hash(done)
    assert record(tmp_path / done.name) == record(done)


def test_two_that_want_the_same_stage_make_it_once(done: Path, tmp_path: Path) -> None:
    told: list[list[Progress]] = [[], []]
    threads = [
        threading.Thread(
            target=lambda said: sft(
                TINY, benchmark="workshop-hid", seed=0, out=tmp_path, told=said.append
            ),
            args=(said,),
        )
        for said in told
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(map(len, told)) == [0, 3]
    assert content_hash(tmp_path / done.name) == content_hash(done)


def test_the_share_solved_is_the_judges(done: Path) -> None:
    """A model of random weights solves nothing, and says so in as many tasks as asked."""
    benchmark = WorkshopBenchmark("hid")
    judge = benchmark.evaluator("validation", 7)
    try:
        assert solved(load(done), benchmark, judge, 7, 1) == 0.0
    finally:
        judge.close()


def test_what_cannot_be_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"planbench-mini.* has no expert"):
        sft(TINY, benchmark="planbench-mini", seed=0, out=tmp_path)
    with pytest.raises(UserError, match="did you mean 'workshop-hid'"):
        sft(TINY, benchmark="workshop-hidd", seed=0, out=tmp_path)
    with pytest.raises(UserError, match="heads"):
        stage(tmp_path, TINY.model_copy(update={"width": 15}))
    with pytest.raises(UserError, match="cannot be read"):
        stage(tmp_path, demonstrations=tmp_path / "none.jsonl")
