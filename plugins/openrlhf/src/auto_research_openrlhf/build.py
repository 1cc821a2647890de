"""Builds the data sets of a training: one row a chain, for every method that is compared alike.

Chains are drawn by a rollout operator, as in a run on one machine, from scenarios: those of the
benchmark, or groups of tasks whose queries are alike where tasks come without scenarios.

    python -m auto_research_openrlhf.build --benchmark appworld --length 2 --rows 2400 \\
        --out chains-2.jsonl
    python -m auto_research_openrlhf.build --benchmark appworld --evaluation --out dev.jsonl
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from auto_research.agent_research.alike import LIKENESS, By, alike
from auto_research.agent_research.budget import Budget, Meter
from auto_research.agent_research.catalog import Catalog, find
from auto_research.agent_research.context import HarnessContext
from auto_research.agent_research.durable import write_atomic
from auto_research.agent_research.operators import Arm, Chain, Progress, Rollout, TaskRef
from auto_research.agent_research.rows import json_line
from auto_research.benchmarks.base import SPLITS, Benchmark, Json, Scenario, Split, Task
from auto_research.errors import UserError
from auto_research.hookspecs import BenchmarkOptions
from auto_research.plugins import load_plugins
from auto_research.rng import derive
from auto_research_openrlhf.dataset import INPUT, LABEL
from auto_research_openrlhf.label import Label

SEQUENTIAL = "sage.sequential"
SOURCE = "datasource"  # the column that OpenRLHF names evaluation figures after


def rollout_of(catalog: Catalog, length: int, name: str = SEQUENTIAL) -> Rollout:
    """A rollout whose chains have `length` tasks and start empty. Raises UserError."""
    kind = find("rollout operator", name, catalog.operators["rollout"])
    known = kind.settings_type.model_fields
    if "chain_length" not in known:
        raise UserError(f"the rollout {name!r} has no chain_length", mend=f"use {SEQUENTIAL}")
    wanted = {"chain_length": length, "start": "empty"}
    made = kind(kind.settings_type.model_validate({k: v for k, v in wanted.items() if k in known}))
    assert isinstance(made, Rollout)
    return made


def drawn(pool: Sequence[Scenario], rollout: Rollout, rows: int, seed: int) -> list[Chain]:
    """The first `rows` groups that the rollout asks for. Raises UserError if it asks for fewer."""
    refs = tuple(TaskRef(s.id, task.id) for s in pool for task in s.tasks)
    chains: list[Chain] = []
    while len(chains) < rows:
        ctx = HarnessContext(
            rng=derive(seed, "chains", len(chains)),
            phase="training",
            step=len(chains),
            arm=Arm(),
            pool=refs,
            home=None,
            _meter=Meter(Budget()),
            _open=_closed,
        )
        found = rollout.next(pool, Progress(len(chains), rows), ctx)
        if not found:
            raise UserError(f"the rollout asks for {len(chains)} chains, not {rows}")
        chains += found
    return chains[:rows]


def training_rows(
    name: str,
    benchmark: Benchmark,
    rollout: Rollout,
    *,
    rows: int,
    length: int,
    seed: int,
    limit: int | None = None,
    by: By = "scenario",
) -> list[dict[str, Json]]:
    """`rows` chains of `length` train tasks. Raises UserError if there are no such chains."""
    scenarios = benchmark.scenarios("train", seed, limit)
    chains = drawn(alike(scenarios, length, by), rollout, rows, seed)
    short = next((c for c in chains if len(c.tasks) != length), None)
    if short is not None:
        raise UserError(
            f"{short.scenario!r} gives a chain of {len(short.tasks)} tasks, not {length}",
            mend="ask for shorter chains",
        )
    return [
        _row(name, "train", seed, limit, number, chain.scenario, chain.tasks)
        for number, chain in enumerate(chains)
    ]


def evaluation_rows(
    name: str, benchmark: Benchmark, *, split: Split, seed: int, limit: int | None = None
) -> list[dict[str, Json]]:
    """Each scenario of the split as one chain of all its tasks, as at test everywhere.

    Raises UserError if they differ in length: OpenRLHF takes one number of samples for all.
    """
    scenarios = benchmark.scenarios(split, seed, limit)
    lengths = {len(scenario.tasks) for scenario in scenarios}
    if len(lengths) != 1:
        raise UserError(f"scenarios of {sorted(lengths)} tasks cannot be evaluated together")
    return [
        _row(name, split, seed, limit, number, scenario.id, scenario.tasks, evaluation=True)
        for number, scenario in enumerate(scenarios)
    ]


def write_rows(rows: Sequence[dict[str, Json]], path: Path, about: dict[str, Json]) -> str:
    """Write the rows, and beside them what they are, with their SHA-256 (hex), which it returns."""
    content = b"".join(json_line(row) for row in rows)
    digest = hashlib.sha256(content).hexdigest()
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomic(path, content)
    told = {**about, "rows": len(rows), "sha256": digest}
    write_atomic(path.with_suffix(".json"), json.dumps(told, indent=1, sort_keys=True).encode())
    return digest


def _row(
    benchmark: str,
    split: Split,
    seed: int,
    limit: int | None,
    number: int,
    scenario: str,
    tasks: Sequence[Task],
    *,
    evaluation: bool = False,
) -> dict[str, Json]:
    label = Label(
        benchmark=benchmark,
        split=split,
        seed=seed,
        limit=limit,
        row=number,
        scenario=scenario,
        tasks=[task.id for task in tasks],
        chain_length=len(tasks),
        evaluation=evaluation,
    )
    told = "\n".join(task.instruction for task in tasks)  # for the trainer's log; no agent reads it
    return {INPUT: told, LABEL: label.text(), SOURCE: f"{benchmark}-{split}"}


def _closed(task: Task) -> Any:
    raise UserError("chains are drawn before anything is run")


def main(arguments: Sequence[str] | None = None) -> int:
    """0 if the file stands there, 2 if what was asked for cannot be."""
    asked = _parser().parse_args(arguments)
    try:
        print(json.dumps(_built(asked), sort_keys=True))
    except UserError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 0


def _built(asked: argparse.Namespace) -> dict[str, Json]:
    registry = load_plugins()
    options = BenchmarkOptions(asked.data_dir)
    benchmark = find("benchmark", asked.benchmark, registry.benchmarks)(options)
    if asked.evaluation:
        rows = evaluation_rows(
            asked.benchmark, benchmark, split=asked.split, seed=asked.seed, limit=asked.scenarios
        )
    else:
        rows = training_rows(
            asked.benchmark,
            benchmark,
            rollout_of(registry, asked.length, asked.rollout),
            rows=asked.rows,
            length=asked.length,
            seed=asked.seed,
            limit=asked.scenarios,
            by=asked.by,
        )
    about: dict[str, Json] = {
        "benchmark": benchmark.name,
        "benchmark_hash": benchmark.content_hash(),
        "seed": asked.seed,
        "split": asked.split if asked.evaluation else "train",
        "by": "scenario" if asked.evaluation else asked.by,
    }
    return {"path": str(asked.out), "rows": len(rows), "sha256": write_rows(rows, asked.out, about)}


def _parser() -> argparse.ArgumentParser:
    assert __doc__ is not None
    parser = argparse.ArgumentParser(
        prog="python -m auto_research_openrlhf.build",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--benchmark", required=True)
    parser.add_argument("--out", type=Path, required=True, help="a .jsonl file")
    parser.add_argument("--seed", type=int, default=0, help="names the stream of scenarios")
    parser.add_argument("--scenarios", type=int, help="of the stream; all where it has an end")
    parser.add_argument("--data-dir", type=Path, help="data of a benchmark on disk")
    parser.add_argument("--rows", type=int, default=64, help="chains to draw")
    parser.add_argument("--length", type=int, default=2, help="tasks a chain")
    parser.add_argument("--by", choices=["scenario", *LIKENESS], default="scenario")
    parser.add_argument("--rollout", default=SEQUENTIAL, help="draws the chains")
    parser.add_argument("--evaluation", action="store_true", help="whole scenarios, to be measured")
    parser.add_argument("--split", choices=SPLITS[1:], default="validation")
    return parser


if __name__ == "__main__":
    sys.exit(main())
