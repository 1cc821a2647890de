"""Run every evaluation behind docs/results.md and write docs/results.json.

    python experiments/tables.py RUNS_DIR [--jobs N] [--only WORD]

Each evaluation is the run that `agent-eval` makes of the same options. One that is finished in
RUNS_DIR is not run again, so the script can be stopped and started; those that share a training
train once. The tables are computed from the runs' episodes, as `compare` computes its own.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field, replace
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from auto_research.agent_research.method import load_method
from auto_research.agent_research.statistics import Interval
from auto_research.comparison.figures import difference, figures
from auto_research.comparison.matching import Line
from auto_research.comparison.runs import read_run
from auto_research.evaluate import prepare
from auto_research.furnishing import EvalRequest
from auto_research.plugins import load_plugins
from auto_research.reporting.comparison_tables import ranges
from auto_research.reporting.html import write_report
from auto_research.shared_training import run_from_training

ROOT = Path(__file__).resolve().parent.parent
CLAIM_SEEDS = range(101, 111)
TRAIN_SEEDS = range(5)
ABLATION_SEED = 101
SAMPLE = Path(
    os.environ.get("AUTO_RESEARCH_PLANBENCH_SAMPLE", ROOT.parent / "shared" / "planbench-sample")
)


@dataclass(frozen=True)
class Job:
    """One evaluation: a label, the method with its settings, and the rest of the request."""

    label: str
    method: str
    settings: tuple[str, ...] = ()
    more: tuple[tuple[str, Any], ...] = ()

    def carry_out(self, out: Path) -> None:
        """Make the run `out`/label, or go on with it, and its report."""
        registry = load_plugins()
        request = EvalRequest(load_method(self.method, registry, self.settings), **dict(self.more))
        run_from_training(prepare(request, registry), out / self.label, out / "training")
        write_report(out / self.label)

    def training(self) -> tuple[object, ...]:
        """Equal for jobs that share a training, or would but for the benchmark's data."""
        rest = tuple(pair for pair in self.more if pair[0] not in ("seed", "episodes"))
        return self.method, self.settings, rest


def job(label: str, method: str, settings: Sequence[str] = (), **more: Any) -> Job:
    return Job(label, method, tuple(settings), tuple(sorted({"train_seed": 0, **more}.items())))


@dataclass
class Group:
    """The runs that one line of a table sums up, by a key that pairs them with another line's."""

    title: str
    jobs: dict[str, Job] = field(default_factory=dict)


ABLATIONS: Mapping[str, tuple[str, ...]] = {
    "full": (),
    "random retrieval": ("retrieval=random", "retrieval.top_k=3"),
    "no revise, no retire": ("update.revise=false", "update.retire=false"),
    "outcome reward": ("reward=outcome",),
    "chain length 1": ("rollout.chain_length=1",),
    "chain length 3": ("rollout.chain_length=3",),
}
WORLDS = ("blocksworld", "logistics", "depots", "satellite")


def method_group(method: str) -> Group:
    jobs = {str(s): job(f"claim-{method}-{s}", method, seed=s) for s in CLAIM_SEEDS}
    return Group(method, jobs)


def ablation_group(name: str, change: tuple[str, ...]) -> Group:
    group = Group(name)
    for train in TRAIN_SEEDS:
        label = f"ablation-{name.replace(' ', '-').replace(',', '')}-{train}"
        group.jobs[str(train)] = job(label, "sage", change, seed=ABLATION_SEED, train_seed=train)
    return group


def real_group(method: str) -> Group:
    files: dict[str, Any] = {"benchmark": "planbench", "data_dir": SAMPLE, "episodes": 60}
    return Group(method, {"real": job(f"real-{method}", method, seed=ABLATION_SEED, **files)})


def left_out_group(method: str) -> Group:
    group = Group(method)
    for world in WORLDS:
        label = f"leftout-{method}-{world}"
        group.jobs[world] = job(label, method, seed=ABLATION_SEED, exclude=(world,))
    return group


def headline_job() -> Job:
    return job("headline-sage-42", "sage", seed=42)


def finished(out: Path, job: Job) -> bool:
    return (out / job.label / "metrics.json").exists()


def run_all(jobs: Iterable[Job], out: Path, workers: int) -> None:
    """Run what is not finished; those that share a training one after the other."""
    waiting: dict[tuple[object, ...], list[Job]] = {}
    for one in jobs:
        if not finished(out, one):
            waiting.setdefault(one.training(), []).append(one)
    out.mkdir(parents=True, exist_ok=True)
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        for labels in pool.map(partial(_in_turn, out), waiting.values()):
            print(f"done: {', '.join(labels)}", file=sys.stderr, flush=True)


def _in_turn(out: Path, jobs: Sequence[Job]) -> list[str]:
    for one in jobs:
        one.carry_out(out)
    return [one.label for one in jobs]


def line_of(out: Path, group: Group) -> Line:
    """The finished runs of a group."""
    return Line(group.title, tuple(read_run(out / one.label) for one in group.jobs.values()))


def row(line: Line, keys: Iterable[str], base: Line | None) -> list[Any]:
    """Title, joint, cost, total cost, and the paired differences to `base` (base less this)."""
    found = figures(line)
    numbers, words = [k for k in keys if k.isdigit()], [k for k in keys if not k.isdigit()]
    told = ", ".join([*ranges(sorted(map(int, numbers))), *sorted(words)])
    total = round(found["total_cost"].value, 4)
    cells = [line.label, told, cell(found["joint"]), cell(found["cost"]), total]
    less = None if base is None else difference(base, line)
    return [*cells, *([None, None] if less is None else [cell(less.joint), cell(less.cost)])]


def cell(interval: Interval) -> dict[str, float]:
    return {
        "value": round(interval.value, 4),
        "low": round(interval.low, 4),
        "high": round(interval.high, 4),
    }


COLUMNS = [
    "method",
    "seeds",
    "joint success",
    "cost at test",
    "total cost",
    "joint: sage less it",
    "cost: sage less it",
]


def table(
    out: Path, name: str, title: str, note: str, groups: Sequence[Group], base: Group | None
) -> dict[str, Any]:
    done = [d for g in groups if (d := done_of(out, g)).jobs]
    lines = [line_of(out, group) for group in done]
    first = next((x for x in lines if base is not None and x.label == base.title), None)
    rows = [
        row(line, group.jobs, None if line is first else first)
        for line, group in zip(lines, done, strict=True)
    ]
    return {"id": name, "title": title, "note": note, "columns": COLUMNS, "rows": rows}


def done_of(out: Path, group: Group) -> Group:
    """The group with its finished jobs only."""
    return Group(group.title, {key: one for key, one in group.jobs.items() if finished(out, one)})


def claim(out: Path, group: Group) -> dict[str, Any]:
    """SAGE seed by seed, and over all of them."""
    done = done_of(out, group)
    rows: list[list[Any]] = []
    for key, one in done.jobs.items():
        alone = Group(group.title, {key: one})
        rows.append([key, *row(line_of(out, alone), [key], None)[2:5]])
    if done.jobs:
        rows.append(["all", *row(line_of(out, done), done.jobs, None)[2:5]])
    return {
        "id": "claim",
        "title": "sage on the test seeds 101-110",
        "note": "Train seed 0, 120 episodes a seed. Target: mean joint success at least 0.98, "
        "average cost at most 0.30. Total cost is (training + probes + test) units an episode, "
        "as a share of B.",
        "columns": ["seed", "joint success", "cost at test", "total cost"],
        "rows": rows,
    }


def left_out_rows(out: Path) -> dict[str, Any]:
    """Joint on the tasks of the world that training never showed."""
    rows: list[list[Any]] = []
    for world in WORLDS:
        for method in ("sage", "react"):
            one = left_out_group(method).jobs[world]
            if not finished(out, one):
                continue
            run = read_run(out / one.label)
            mine = [o for o in run.outcomes if world_of(o.scenario, out) == world]
            found = figures(Line(method, (replace(run, outcomes=tuple(mine)),)))
            rows.append([world, method, len(mine), cell(found["joint"]), cell(found["cost"])])
    return {
        "id": "left-out",
        "title": "One world left out of training",
        "note": f"Test seed {ABLATION_SEED}, train seed 0; only the tasks of that world, in all "
        "four variants. The library goes on learning during the test stream.",
        "columns": ["world", "method", "tasks", "joint success", "cost at test"],
        "rows": rows,
    }


_worlds: dict[str, str] = {}


def world_of(scenario: str, out: Path) -> str:
    """The world that a scenario belongs to, told apart by its action schemas alone."""
    if not _worlds:
        from auto_research.benchmarks.planbench import MiniBenchmark
        from auto_research.pddl import read_domain

        sizes = {
            (1, 1, 2, 2): "blocksworld",
            (0, 1, 1, 2, 2): "blocksworld",
            (3, 3, 3, 3, 3, 4): "logistics",
            (1, 3, 3, 3, 3, 3, 4): "logistics",
            (3, 4, 4, 4, 4): "depots",
            (1, 3, 4, 4, 4, 4): "depots",
        }
        for one in MiniBenchmark().scenarios("test", ABLATION_SEED):
            domain = read_domain(one.tasks[0].observation["domain"])
            shape = tuple(sorted(len(s.params) for s in domain.schemas.values()))
            _worlds[one.id] = sizes.get(shape, "satellite")
    return _worlds[scenario]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("runs", type=Path)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--only", default="", help="run only jobs whose label has this word")
    parser.add_argument("--results", type=Path, default=ROOT / "docs" / "results.json")
    given = parser.parse_args()
    methods = [method_group(m) for m in ("sage", "react", "all-schemas", "raw-trace", "sage-paper")]
    ablations = [ablation_group(name, change) for name, change in ABLATIONS.items()]
    real = [real_group(m) for m in ("sage", "react")]
    left_out = [left_out_group(m) for m in ("sage", "react")]
    groups = [*methods, *real, *left_out, *ablations]
    jobs = [headline_job(), *(one for group in groups for one in group.jobs.values())]
    run_all((one for one in jobs if given.only in one.label), given.runs, given.jobs)
    results = json.loads(given.results.read_text())
    seeds = "Test seeds as named, train seed 0, 120 episodes each"
    results["tables"] = [
        *(t for t in results["tables"] if t["id"] not in _OURS),
        claim(given.runs, methods[0]),
        table(
            given.runs, "controls", "Controls at the same budget", f"{seeds}.", methods, methods[0]
        ),
        table(
            given.runs,
            "ablations",
            "Ablations",
            f"Test seed {ABLATION_SEED}, train seeds as named, paired by train seed and task.",
            ablations,
            ablations[0],
        ),
        table(
            given.runs,
            "transfer",
            "60 real PlanBench files",
            "The library is trained on planbench-mini's train scenarios only, train seed 0.",
            real,
            real[0],
        ),
        left_out_rows(given.runs),
    ]
    if finished(given.runs, headline_job()):
        results["headline"] |= headline(given.runs)
    given.results.write_text(json.dumps(results, indent=1, sort_keys=True) + "\n")


_OURS = {"claim", "controls", "ablations", "transfer", "left-out"}


def headline(out: Path) -> dict[str, Any]:
    metrics = json.loads((out / headline_job().label / "metrics.json").read_text())
    return {
        "command": "auto-research agent-eval --method sage --benchmark planbench-mini "
        "--episodes 120 --seed 42",
        "split": "test",
        "seed": 42,
        "train_seed": 0,
        "runs": 1,
        "note": "Run once for this table, after the freeze. Later runs of it (the test suite's on "
        "every change, evolve's baseline, checks by hand) only showed that its metrics are the "
        "same bytes.",
        "metrics": metrics["metrics"],
        "spending": metrics["spending"],
    }


if __name__ == "__main__":
    main()
