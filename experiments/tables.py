"""Run every evaluation behind docs/results.md and write docs/results.json.

    python experiments/tables.py RUNS_DIR [--jobs N] [--only WORD]

Each evaluation is one call of the command line; one that is finished in RUNS_DIR is not run again,
so the script can be stopped and started. The tables are computed from the runs' episodes.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from auto_research.agent_research.rows import EpisodeRow
from auto_research.agent_research.run import RunDir
from auto_research.agent_research.statistics import (
    Interval,
    clustered_mean,
    clustered_rate,
    paired_difference,
)

ROOT = Path(__file__).resolve().parent.parent
CLAIM_SEEDS = range(101, 111)
TRAIN_SEEDS = range(5)
ABLATION_SEED = 101
SAMPLE = Path(
    os.environ.get("AUTO_RESEARCH_PLANBENCH_SAMPLE", ROOT.parent / "shared" / "planbench-sample")
)


@dataclass(frozen=True)
class Job:
    """One evaluation: a label, and the options of `agent-eval` that make it."""

    label: str
    options: tuple[str, ...]

    def command(self, out: Path) -> list[str]:
        words = [
            sys.executable,
            "-c",
            "from auto_research.cli.main import main; main()",
            "agent-eval",
        ]
        return [*words, *self.options, "--out", str(out), "--name", self.label, "--json"]


@dataclass
class Group:
    """The runs that one line of a table sums up, by a key that pairs them with another line's."""

    title: str
    jobs: dict[str, Job] = field(default_factory=dict)


ABLATIONS: Mapping[str, tuple[str, ...]] = {
    "full": (),
    "random retrieval": ("--set", "retrieval=random", "--set", "retrieval.top_k=3"),
    "no revise, no retire": ("--set", "update.revise=false", "--set", "update.retire=false"),
    "outcome reward": ("--set", "reward=outcome"),
    "chain length 1": ("--set", "rollout.chain_length=1"),
    "chain length 3": ("--set", "rollout.chain_length=3"),
}
WORLDS = ("blocksworld", "logistics", "depots", "satellite")


def method_group(method: str) -> Group:
    group = Group(method)
    for seed in CLAIM_SEEDS:
        options = ("--method", method, "--seed", str(seed))
        group.jobs[str(seed)] = Job(f"claim-{method}-{seed}", options)
    return group


def ablation_group(name: str, change: tuple[str, ...]) -> Group:
    group = Group(name)
    for train in TRAIN_SEEDS:
        options = ("--method", "sage", "--seed", str(ABLATION_SEED), "--train-seed", str(train))
        label = f"ablation-{name.replace(' ', '-').replace(',', '')}-{train}"
        group.jobs[str(train)] = Job(label, (*options, *change))
    return group


def real_group(method: str) -> Group:
    files = ("--benchmark", "planbench", "--data-dir", str(SAMPLE), "--episodes", "60")
    options = ("--method", method, *files, "--seed", str(ABLATION_SEED))
    return Group(method, {"real": Job(f"real-{method}", options)})


def left_out_group(method: str) -> Group:
    group = Group(method)
    for world in WORLDS:
        options = ("--method", method, "--seed", str(ABLATION_SEED), "--exclude", world)
        group.jobs[world] = Job(f"leftout-{method}-{world}", options)
    return group


def headline_job() -> Job:
    return Job("headline-sage-42", ("--method", "sage", "--seed", "42"))


def finished(out: Path, job: Job) -> bool:
    return (out / job.label / "metrics.json").exists()


def run_all(jobs: Iterable[Job], out: Path, workers: int) -> None:
    """Run what is not finished, `workers` at a time; stop at the first that fails."""
    waiting = [job for job in jobs if not finished(out, job)]

    def run(job: Job) -> None:
        resume = ["--resume"] if (out / job.label).exists() else []
        done = subprocess.run([*job.command(out), *resume], capture_output=True, text=True)
        if done.returncode != 0:
            raise SystemExit(f"{job.label}: {done.stderr.strip()}")
        print(f"done: {job.label}", file=sys.stderr, flush=True)

    with ThreadPoolExecutor(workers) as pool:
        for _ in pool.map(run, waiting):
            pass


def test_rows(out: Path, group: Group) -> dict[str, EpisodeRow]:
    """The test episodes of a line's runs, by ``key/task``."""
    rows: dict[str, EpisodeRow] = {}
    for key, job in group.jobs.items():
        for row in RunDir.open(out / job.label).rows():
            if row.phase == "test":
                rows[f"{key}/{row.task}"] = row
    return rows


def _ranges(keys: Iterable[str]) -> list[str]:
    """Numbers as ranges, other keys as they are."""
    numbers = sorted(int(k) for k in keys if k.isdigit())
    ranges: list[list[int]] = []
    for number in numbers:
        if ranges and ranges[-1][-1] == number - 1:
            ranges[-1].append(number)
        else:
            ranges.append([number])
    told = [f"{r[0]}-{r[-1]}" if len(r) > 1 else str(r[0]) for r in ranges]
    return told + sorted(k for k in keys if not k.isdigit())


def total_cost(out: Path, group: Group) -> float:
    """(training + probes + test) units an episode of the test stream, as a share of B."""
    units = episodes = 0
    budget = 1
    for job in group.jobs.values():
        run = RunDir.open(out / job.label)
        limits: Any = run.config["budget"]
        budget = limits["units_per_episode"]
        for row in run.rows():
            units += row.units
            episodes += row.phase == "test"
    return round(units / episodes / budget, 4)


def line(out: Path, group: Group, base: Group | None) -> list[Any]:
    """Title, joint, cost, total cost, and the paired differences to `base` (base less this)."""
    rows = test_rows(out, group)
    clusters = [f"{k.split('/')[0]}/{r.scenario}" for k, r in rows.items()]
    joint = clustered_rate([r.success is True for r in rows.values()], clusters)
    cost = clustered_mean([r.cost for r in rows.values()], clusters, seed=0)
    keys = ", ".join(_ranges(group.jobs))
    cells: list[Any] = [group.title, keys, cell(joint), cell(cost), total_cost(out, group)]
    if base is None:
        return [*cells, None, None]
    theirs = test_rows(out, base)
    shared = {k: f"{k.split('/')[0]}/{rows[k].scenario}" for k in rows if k in theirs}
    if not shared:
        return [*cells, None, None]
    return [
        *cells,
        cell(difference(theirs, rows, shared, lambda r: float(r.success is True))),
        cell(difference(theirs, rows, shared, lambda r: r.cost)),
    ]


def difference(
    one: Mapping[str, EpisodeRow],
    other: Mapping[str, EpisodeRow],
    clusters: Mapping[str, str],
    value: Any,
) -> Interval:
    return paired_difference(
        {k: value(one[k]) for k in clusters},
        {k: value(other[k]) for k in clusters},
        clusters,
        seed=0,
    ).difference


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
    done = [Group(g.title, {k: j for k, j in g.jobs.items() if finished(out, j)}) for g in groups]
    first = next((g for g in done if base is not None and g.title == base.title), None)
    rows = [line(out, g, None if g is first else first) for g in done if g.jobs]
    return {"id": name, "title": title, "note": note, "columns": COLUMNS, "rows": rows}


def claim(out: Path, group: Group) -> dict[str, Any]:
    """SAGE seed by seed, and over all of them."""
    rows: list[list[Any]] = []
    done = {key: job for key, job in group.jobs.items() if finished(out, job)}
    for key, job in done.items():
        cells = line(out, Group(group.title, {key: job}), None)
        rows.append([key, *cells[2:5]])
    if done:
        rows.append(["all", *line(out, Group(group.title, done), None)[2:5]])
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
            job = left_out_group(method).jobs[world]
            if not finished(out, job):
                continue
            mine = [
                r
                for r in RunDir.open(out / job.label).rows()
                if r.phase == "test" and world_of(r.scenario, out) == world
            ]
            clusters = [r.scenario for r in mine]
            joint = clustered_rate([r.success is True for r in mine], clusters)
            cost = clustered_mean([r.cost for r in mine], clusters, seed=0)
            rows.append([world, method, len(mine), cell(joint), cell(cost)])
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
    jobs = [headline_job(), *(job for group in groups for job in group.jobs.values())]
    run_all((j for j in jobs if given.only in j.label), given.runs, given.jobs)
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
        "note": "Run once for this table, after the freeze; the test suite runs it again on every "
        "change and compares the bytes of its metrics.",
        "metrics": metrics["metrics"],
        "spending": metrics["spending"],
    }


if __name__ == "__main__":
    main()
