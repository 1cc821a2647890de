"""A dispatch from the command line to `compare`: budgets equal, spending counted, nothing twice."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from auto_research_openrlhf.label import read_label
from launch_cases import Ended, changed, command, shipped, write_config

from auto_research.agent_research.episode import cost_of
from auto_research.agent_research.rows import EpisodeRow
from auto_research.rng import derive

Capsys = pytest.CaptureFixture[str]
UNITS = 1000  # of one episode, at most
METHODS, SEEDS = ("grpo", "sage", "voyager"), (1, 2)


@pytest.fixture
def config(tmp_path: Path) -> Path:
    """The smoke config, rendered only: what the nodes would leave behind, the tests write."""
    kuberay = {"image": "an-image", "claim": "storage", "mount": str(tmp_path)}
    data = changed(
        shipped("smoke"),
        cluster__launcher="kuberay",
        cluster__kuberay=kuberay,
        cluster__storage=str(tmp_path / "storage"),
        evaluation__repeats=2,
        evaluation__temperature=0.7,
    )
    return write_config(tmp_path, data, benchmark="workshop-base")


def _dispatch(capsys: Capsys, config: Path, *arguments: object) -> Ended:
    given = ("--methods", ",".join(METHODS), "--seeds", "1..2", "--benchmark", "workshop-base")
    where = ("--config", config, "--out", config.parent / "runs", "--name", "d", "--json")
    return command(capsys, "dispatch", *given, *where, *arguments)


def _collect(capsys: Capsys, config: Path) -> Any:
    ended = command(capsys, "dispatch", "collect", config.parent / "runs" / "d", "--json")
    assert ended.code == 0, ended.err
    return json.loads(ended.out)


def _row(name: str, phase: Any, label: Any, sibling: int, position: int, seed: int) -> EpisodeRow:
    rng = derive(seed, name, phase, sibling, position)
    units = rng.randrange(1, UNITS)
    return EpisodeRow(
        episode=f"{name}-{sibling}-{position}",
        phase=phase,
        index=0,
        scenario=label.scenario,
        task=label.tasks[position],
        position=position,
        instruction="",
        success=rng.random() < 0.5,
        own_check=True,
        units=units,
        cost=cost_of(units, UNITS),
        group=label.row,
        sibling=sibling,
        units_by_kind={"step": units},
        steps=rng.randrange(1, 8),
        tokens=rng.randrange(100, 1000),
        reward=rng.random(),
        answer=str(rng.random()),
    )


def _work(runs: Path, run: str, *, leave_out: int = 0, again: int = 0) -> None:
    """Leave behind in a job's storage what the executors of a finished job leave behind.

    `leave_out` episodes are missing; the first `again` rows of the data were run by a process
    that was killed, before.
    """
    record = json.loads((runs / run / "job.json").read_bytes())
    spec, storage = record["spec"], Path(record["spec"]["storage"])
    (storage / "rows").mkdir(parents=True)
    facts = {"name": "workshop-base@1", "content_hash": "abc", "units_per_episode": UNITS}
    (storage / "benchmark.json").write_text(json.dumps(facts))
    lines: list[bytes] = []
    for file, phase, siblings in (
        ("train.jsonl", "training", spec["siblings"]),
        ("evaluation.jsonl", "test", spec["evaluation_repeats"]),
    ):
        for text in (runs / run / "job" / file).read_text().splitlines():
            label = read_label(json.loads(text)["label"])
            name = f"{phase}-{label.row:05d}.0"
            lines += [
                _row(name, phase, label, sibling, position, record["seed"]).line()
                for sibling in range(siblings)
                for position in range(label.chain_length)
            ]
    if again:
        killed = [line for line in lines if b'"phase":"training"' in line][: again * 8]
        (storage / "rows" / "host-1.jsonl").write_bytes(b"".join(killed))
        later = (storage / "rows" / "host-1.jsonl").stat().st_mtime_ns + 10**9
    path = storage / "rows" / "host-2.jsonl"
    path.write_bytes(b"".join(lines[: len(lines) - leave_out]))
    if again:
        os.utime(path, ns=(later, later))


def test_a_dry_run_tells_the_budget_and_writes_nothing(config: Path, capsys: Capsys) -> None:
    ended = _dispatch(capsys, config, "--dry-run")
    assert ended.code == 0, ended.err
    told = json.loads(ended.out)
    assert len(told["runs"]) == len(METHODS) * len(SEEDS)
    assert told["budget_of_each"]["trajectories"] == 2 * 16
    assert told["budget_of_each"]["evaluation_repeats"] == 2
    assert not (config.parent / "runs").exists()


def test_trainings_that_would_not_be_matched_are_refused_before_anything(
    config: Path, capsys: Capsys
) -> None:
    # Left to the methods, grpo has groups of 8 and sage of 2.
    own = (
        "--set",
        "config.budget.steps=4",
        "--set",
        "config.chains.siblings=null",
        "--set",
        "config.chains.rollout=''",
    )
    ended = _dispatch(capsys, config, "--methods", "grpo,sage", *own)
    assert ended.code == 2
    assert "siblings is 8 for grpo and 2 for sage" in ended.err
    assert "chains.rollout, length and siblings" in ended.err
    ended = _dispatch(capsys, config, "--methods", "grpo,reskill")
    assert ended.code == 2
    assert "only between groups" in ended.err
    assert not (config.parent / "runs").exists()


def test_finished_jobs_become_runs_that_compare_takes(config: Path, capsys: Capsys) -> None:
    assert _dispatch(capsys, config).code == 0
    runs = config.parent / "runs" / "d"
    names = [f"d-{method}-{seed}" for method in METHODS for seed in SEEDS]
    assert sorted(p.parent.name for p in runs.glob("*/job.json")) == sorted(names)
    for name in names:
        _work(runs, name)
    told = _collect(capsys, config)
    assert told["open"] == []
    assert told["unmatched"] == []
    assert len(told["runs"]) == len(names) * 2  # two repeats of the evaluation
    ended = command(capsys, "compare", *told["runs"], "--json", "--out", config.parent / "cmp")
    assert ended.code == 0, ended.err
    table = json.loads(ended.out)
    assert [line["method"] for line in table["methods"]] == sorted(METHODS, key=METHODS.index)
    for line, one in zip(table["methods"], METHODS, strict=True):
        # The table's spending is that of the ledgers.
        spent = [
            sum(json.loads(row)["units"] for row in file.read_text().splitlines())
            for seed in SEEDS
            for file in (config.parent / "storage" / f"d-{one}-{seed}" / "rows").glob("*")
        ]
        whole = [
            json.loads((Path(run) / "metrics.json").read_bytes())["spending"]["units"]
            for run in line["runs"]
        ]
        training = sum(units["training"] for units in whole) / 2  # each is in both repeats
        assert training + sum(units["test"] for units in whole) == sum(spent)
    # Collected again, nothing changes.
    before = {p: p.read_bytes() for p in (runs / "runs").rglob("*.jsonl")}
    assert _collect(capsys, config)["runs"] == told["runs"]
    assert before == {p: p.read_bytes() for p in (runs / "runs").rglob("*.jsonl")}


def test_an_unfinished_job_is_open_and_gives_no_run(config: Path, capsys: Capsys) -> None:
    assert _dispatch(capsys, config, "--methods", "grpo,sage", "--seeds", "1").code == 0
    runs = config.parent / "runs" / "d"
    _work(runs, "d-grpo-1")
    _work(runs, "d-sage-1", leave_out=3)
    told = _collect(capsys, config)
    assert [Path(run).name for run in told["runs"]] == ["grpo-1-0", "grpo-1-1"]
    [one] = told["open"]
    assert one["run"] == "d-sage-1"
    assert one["missing"].startswith("3 of 56 episodes")


def test_what_a_restart_ran_twice_counts_once_and_is_flagged(config: Path, capsys: Capsys) -> None:
    assert _dispatch(capsys, config, "--methods", "grpo,sage", "--seeds", "1").code == 0
    runs = config.parent / "runs" / "d"
    _work(runs, "d-grpo-1")
    _work(runs, "d-sage-1", again=2)
    ended = command(capsys, "dispatch", "collect", runs, "--json")
    assert "unmatched spending: d-sage-1: 16 more trajectories" in ended.err
    told = json.loads(ended.out)
    by_run = {one["run"]: one for one in told["spending"]}
    assert by_run["d-sage-1"]["trajectories"] == by_run["d-grpo-1"]["trajectories"] == 32
    assert by_run["d-sage-1"]["trajectories_lost"] == 16
    metrics = json.loads((runs / "runs" / "sage-1-0" / "metrics.json").read_bytes())
    assert metrics["flags"] == ["restarted"]
    attempts = (runs / "runs" / "sage-1-0" / "attempts.jsonl").read_text().splitlines()
    assert len(attempts) == 16


def test_the_same_dispatch_again_changes_nothing_and_another_is_refused(
    config: Path, capsys: Capsys
) -> None:
    assert _dispatch(capsys, config).code == 0
    record = config.parent / "runs" / "d" / "dispatch.json"
    before = record.read_bytes()
    assert _dispatch(capsys, config).code == 0
    assert record.read_bytes() == before
    other = _dispatch(capsys, config, "--seeds", "1..3")
    assert other.code == 2
    assert "differs in runs, seeds" in other.err


def test_an_episode_has_a_name_of_its_own_in_the_whole_run(config: Path, capsys: Capsys) -> None:
    """Two passes over the rows, by two engines that each count their own visits."""
    more = ("--methods", "grpo,sage", "--seeds", "1", "--set", "config.budget.steps=4")
    assert _dispatch(capsys, config, *more).code == 0
    runs = config.parent / "runs" / "d"
    for run in ("d-grpo-1", "d-sage-1"):
        _work(runs, run)
        rows = Path(json.loads((runs / run / "job.json").read_bytes())["spec"]["storage"]) / "rows"
        first = [
            replace(EpisodeRow.from_json(json.loads(line)), answer="other")
            for line in (rows / "host-2.jsonl").read_text().splitlines()
        ]
        training = b"".join(row.line() for row in first if row.phase == "training")
        (rows / "host-3.jsonl").write_bytes(training)
    told = _collect(capsys, config)
    assert told["open"] == []
    lines = (runs / "runs" / "grpo-1-0" / "episodes.jsonl").read_text().splitlines()
    names = [json.loads(line)["episode"] for line in lines]
    assert len(set(names)) == len(names)
    assert sum(name.startswith("training") for name in names) == 64
