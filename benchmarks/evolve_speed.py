"""How long a search takes a genome, and whether its memory stays flat.

    python benchmarks/evolve_speed.py            200 distinct genomes, 2 workers
    python benchmarks/evolve_speed.py --genomes 20

Draws distinct genomes of the installed paper operators and evaluates each as `evolve` does: 30
validation episodes, training included at the size of a trial. Prints the wall time, the CPU time
of this process and of all below it (which a busy machine distorts less), and the resident memory
of the whole tree after a tenth of the genomes and at its highest after that.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
import time
from collections import Counter
from pathlib import Path

from auto_research.evolution.plan import EvolveRequest, plan
from auto_research.evolution.pool import Pool
from auto_research.evolution.search import draw_unseen
from auto_research.evolution.trial import Bench, Job
from auto_research.plugins import load_plugins

TICKS, PAGE = os.sysconf("SC_CLK_TCK"), os.sysconf("SC_PAGE_SIZE")


def tree() -> tuple[float, int]:
    """CPU seconds and resident bytes of this process and its living descendants, dead ones' too."""
    stats = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            stats[int(path.parent.name)] = path.read_text().rpartition(")")[2].split()
        except OSError:
            continue
    found, waiting = list[list[str]](), [os.getpid()]
    while waiting:
        parent = waiting.pop()
        found.append(stats[parent])
        waiting += [pid for pid, fields in stats.items() if int(fields[1]) == parent]
    cpu = sum(int(ticks) for fields in found for ticks in fields[11:15])
    return cpu / TICKS, sum(int(fields[21]) for fields in found) * PAGE


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--genomes", type=int, default=200)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--train-scenarios", type=int, default=EvolveRequest("").train_scenarios)
    parser.add_argument("--direction", default="combine sage with the installed paper operators")
    asked = parser.parse_args()
    request = EvolveRequest(asked.direction, seed=7, train_scenarios=asked.train_scenarios)
    planned = plan(request, load_plugins())
    seen: set[str] = set()
    genomes = [
        draw_unseen(planned.space, seen, request.seed, "speed", number)
        for number in range(asked.genomes)
    ]
    with tempfile.TemporaryDirectory() as folder:
        for name in ("running", "transcripts"):
            (Path(folder) / name).mkdir()
        jobs = [
            Job(g.method(planned.registry).to_dict(), Path(folder) / "running" / g.hash[:16])
            for g in genomes
        ]
        units = planned.trial.config.run_units or 0
        most = 10 * units // planned.trial.config.budget_units
        pool = Pool(Bench(planned.trial.request, planned.final, most), asked.workers)
        began, memory, failed = time.monotonic(), list[int](), Counter[str]()
        slowest = 0.0
        try:
            for outcome, seconds in pool.run(jobs, request.max_seconds):
                memory.append(tree()[1])
                slowest = max(slowest, seconds)
                if outcome.reason:
                    failed[outcome.reason] += 1
            cpu = tree()[0]
        finally:
            pool.close()
    settled = memory[len(memory) // 10]
    result = {
        "genomes": len(genomes),
        "workers": asked.workers,
        "episodes": request.episodes,
        "train_scenarios": request.train_scenarios,
        "space": planned.space.size,
        "wall_seconds": round(time.monotonic() - began, 1),
        "cpu_seconds": round(cpu, 1),
        "cpu_seconds_a_genome": round(cpu / len(genomes), 2),
        "slowest_seconds": round(slowest, 1),
        "memory_mib": round(settled / 2**20),
        "peak_memory_mib": round(max(memory[len(memory) // 10 :]) / 2**20),
        "failed": dict(failed),
    }
    print(json.dumps(result, indent=2))


if __name__ == "__main__":
    main()
