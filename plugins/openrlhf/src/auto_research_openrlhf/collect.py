"""Finished jobs as runs: the same files as a run on one machine has, so that `compare` takes them.

A training with several repeats of its evaluation gives a run for each, which share the training,
as runs of one machine share theirs when only the test seed differs.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from auto_research.agent_research.config import RunConfig
from auto_research.agent_research.metrics import compute_metrics
from auto_research.agent_research.rows import EpisodeRow
from auto_research.agent_research.run import RunDir
from auto_research.benchmarks.base import Json
from auto_research.errors import UserError
from auto_research_openrlhf.dataset import Rows, read_rows
from auto_research_openrlhf.dispatch import read_dispatch
from auto_research_openrlhf.jobs import Job
from auto_research_openrlhf.ledger import Ledger, numbered, read_ledger
from auto_research_openrlhf.on_node import BENCHMARK
from auto_research_openrlhf.plan import EVALUATION, JOB, TRAIN
from auto_research_openrlhf.spec import Spec

RUNS = "runs"  # in a dispatch's directory
REPEATS = 1000  # a training seed has room for so many repeats of its evaluation
RESTARTED = "restarted"  # a flag: some training was paid for twice


@dataclass(frozen=True)
class Collected:
    """One training of a dispatch, and what it spent."""

    job: Job
    spec: Spec
    benchmark: Mapping[str, Any]
    ledger: Ledger


def collect(path: Path, storage: Path | None = None) -> dict[str, Json]:
    """Write the runs of a dispatch's finished trainings; what is open, and what is unmatched.

    Raises UserError if there is no dispatch, or something in its rows cannot be read.
    """
    found: list[Collected] = []
    open_ends: list[Json] = []
    for told in read_dispatch(path)["runs"]:
        job = Job.open(path / told["run"])
        one = _collected(job, storage)
        if isinstance(one, Collected):
            found.append(one)
        else:
            open_ends.append({"run": told["run"], "missing": one})
    runs = [run for one in found for run in _write(one, path / RUNS)]
    return {
        "directory": str(path),
        "runs": [str(run) for run in runs],
        "open": open_ends,
        "unmatched": list(_unmatched(found)),
        "spending": [_spending(one) for one in found],
    }


def _collected(job: Job, storage: Path | None) -> Collected | str:
    """The training; or in words how much of it is missing."""
    spec = Spec.from_json(job.record["spec"])
    place = storage / spec.run if storage else Path(spec.storage)
    flags = job.record["flags"]
    tests = _rows(job, EVALUATION, spec).tasks() if "eval.dataset" in flags else 0
    if not tests:
        return "it has no evaluation set (data.evaluation), so nothing to compare"
    ledger = read_ledger(
        place,
        passes=int(flags["train.num_episodes"]),
        episodes=int(job.record["budget"]["trajectories"]),
        tests=tests,
        repeats=spec.evaluation_repeats,
    )
    if ledger.missing:
        planned = job.record["budget"]["trajectories"] + tests * spec.evaluation_repeats
        return f"{ledger.missing} of {planned} episodes, in {place}"
    try:
        benchmark = json.loads((place / BENCHMARK).read_bytes())
    except (OSError, ValueError) as error:
        raise UserError(f"{BENCHMARK} cannot be read: {error}", where=str(place)) from None
    return Collected(job, spec, benchmark, ledger)


def _rows(job: Job, name: str, spec: Spec) -> Rows:
    return read_rows(
        job.path / JOB / name, key=name, benchmark=spec.benchmark, evaluation=name != TRAIN
    )


def _write(one: Collected, directory: Path) -> Iterator[Path]:
    """A run for each repeat; one that stands there already is left as it is."""
    for repeat, tests in enumerate(one.ledger.last):
        suffix = f"-{repeat}" if one.spec.evaluation_repeats > 1 else ""
        path = directory / f"{one.job.record['method']}-{one.spec.seed}{suffix}"
        config = {**_config(one, repeat, len(tests)).to_json(), "cluster": _cluster(one, repeat)}
        if (path / "metrics.json").is_file():
            with RunDir.open(path) as run:
                run.check_config(config)
        else:
            _write_run(one, path, config, tests)
        yield path


def _write_run(
    one: Collected, path: Path, config: Mapping[str, Json], tests: Sequence[EpisodeRow]
) -> None:
    rows = numbered([*one.ledger.training, *one.ledger.earlier, *tests])
    flags = [RESTARTED] if one.ledger.lost else []
    begun = (path / "run.yaml").is_file()  # a kill before its metrics were there
    with RunDir.open(path, write=True) if begun else RunDir.create(path, config) as run:
        run.check_config(config)
        run.truncate_rows(0)
        run.append(rows)
        run.append_attempts(
            {"episode": row.episode, "units": row.units, "tokens": row.tokens, "steps": row.steps}
            for row in (one.ledger.lost if not begun else ())
        )
        metrics = compute_metrics(run.rows(), counters=_counters(one))
        run.write_metrics(metrics.to_bytes(flags))


def _config(one: Collected, repeat: int, tests: int) -> RunConfig:
    spec, benchmark = one.spec, one.benchmark
    evaluation = _rows(one.job, EVALUATION, spec).labels[0]
    units = int(benchmark["units_per_episode"])
    seed = spec.seed * REPEATS + repeat if spec.evaluation_repeats > 1 else spec.seed
    return RunConfig(
        method=spec.method,
        method_hash=spec.method_hash,
        benchmark=str(benchmark["name"]),
        benchmark_hash=str(benchmark["content_hash"]),
        agent="openrlhf",
        agent_config={
            "model": spec.model,
            "tokens": spec.tokens,
            "tokens_per_turn": spec.tokens_per_turn,
            "turns": spec.turns,
            **spec.agent,
        },
        seed=evaluation.seed,
        train_seed=seed,
        episodes=tests,
        train_scenarios=len(_rows(one.job, TRAIN, spec)),
        budget_units=units,
        units_per_episode=units,
        version=spec.version,
        code_hash=spec.code_hash,
        split="test" if evaluation.split == "test" else "validation",
        frozen=False,
        data_dir=spec.data_dir,
    )


def _cluster(one: Collected, repeat: int) -> dict[str, Json]:
    """What a run on one machine has not: which training and repeat, by what program, how sized."""
    record = one.job.record
    return {
        "run": one.spec.run,
        "seed": one.spec.seed,
        "repeat": repeat,
        "program": record["program"],
        "budget": record["budget"],
    }


def _counters(one: Collected) -> dict[str, int]:
    record = one.job.record
    batch = int(record["flags"]["train.batch_size"])
    groups: dict[tuple[str, int], set[float | None]] = {}
    for row in one.ledger.training:
        chain = row.episode.rpartition("-")[0].rpartition("-")[0]
        groups.setdefault((chain, row.position), set()).add(row.reward)
    return {
        "policy_updates": int(record["budget"]["trajectories"]) // batch,
        "uninformative_groups": sum(len(rewards) == 1 for rewards in groups.values()),
    }


def _spending(one: Collected) -> dict[str, Json]:
    """What a training spent, beside what it might."""
    rows = one.ledger.training
    return {
        "run": one.spec.run,
        "trajectories": len(rows),
        "trajectories_lost": len(one.ledger.lost),
        "tokens": sum(row.tokens for row in rows),
        "interactions": sum(row.steps for row in rows),
        "units": sum(row.units for row in rows),
        "evaluation_trajectories": len(one.ledger.earlier) + sum(map(len, one.ledger.last)),
        "errors": sum(bool(row.error) for row in rows),
    }


def _unmatched(found: Sequence[Collected]) -> Iterator[str]:
    """Spending that is not as planned or not equal, in words."""
    for one in found:
        spec, budget, told = one.spec, one.job.record["budget"], _spending(one)
        if told["trajectories"] != budget["trajectories"]:
            yield f"{spec.run}: {told['trajectories']} trajectories of {budget['trajectories']}"
        if one.ledger.lost:
            lost = len(one.ledger.lost)
            yield f"{spec.run}: {lost} more trajectories were run and lost in a restart"
        longest = max((row.steps for row in one.ledger.training), default=0)
        if longest > spec.turns:
            yield f"{spec.run}: an episode took {longest} turns of {spec.turns}"
    budgets = {json.dumps(one.job.record["budget"], sort_keys=True) for one in found}
    if len(budgets) > 1:
        yield "the trainings were planned with different budgets"
