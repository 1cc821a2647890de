"""How near the executor of `auto-research-openrlhf` comes to what engine and worlds allow.

Chains of two tasks run over an engine that answers after a fixed time, with a bound on open
worlds. A task of so many turns holds a world for turns x latency, so no executor can be faster
than the larger of: one chain's tasks in a row, and all worlds' time over the number of worlds.
The worlds and the judge are those of the executor's tests; with `--benchmark appworld-mini`
AppWorld's own.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

TESTS = Path(__file__).parents[1] / "plugins" / "openrlhf" / "tests"
sys.path.insert(0, str(TESTS))
TARGET = 0.9  # of the bound
TASKS = 2  # a chain


def main() -> int:
    """Measure and print; 1 if the target was missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--chains", type=int, default=16)
    parser.add_argument("--turns", type=int, default=4)
    parser.add_argument("--latency", type=float, default=1.0, help="seconds of one reply")
    parser.add_argument("--worlds", type=int, nargs="+", default=[16, 8, 4])
    parser.add_argument("--benchmark", default="sums")
    asked = parser.parse_args()
    shares = [_measured(asked, worlds) for worlds in asked.worlds]
    return int(min(shares) < TARGET)


def _measured(asked: argparse.Namespace, worlds: int) -> float:
    """The share of the bound that was reached with so many worlds."""
    episode = asked.turns * asked.latency
    bound = max(TASKS * episode, asked.chains * TASKS * episode / worlds)
    seconds, cpu = asyncio.run(_run(asked, worlds))
    share = bound / seconds
    print(
        f"{asked.benchmark}: {asked.chains} chains, {worlds} worlds, {asked.turns} turns of "
        f"{asked.latency} s: {seconds:.2f} s, bound {bound:.2f} s, {share:.1%} "
        f"({cpu:.2f} s of CPU here)"
    )
    return share


async def _run(asked: argparse.Namespace, worlds: int) -> tuple[float, float]:
    from executor_cases import label, node
    from executor_engine import Engine, code, responses

    def script(prompt: str) -> str:
        last = prompt.count("<|im_start|>assistant") == asked.turns
        return code(done if last else "print('on')")

    done, told, more = "complete(answer=1)", label, {}
    if asked.benchmark != "sums":
        done, told = "apis.supervisor.complete_task(status='fail')", _label_of(asked.benchmark)
        more = {"benchmark": asked.benchmark}
    with (
        tempfile.TemporaryDirectory() as scratch,
        node(Path(scratch), worlds=worlds, turns=asked.turns + 1, **more) as made,
    ):
        quick = Engine(script)
        await responses(made, quick, "warm up", told(0), TASKS)  # servers and judge start
        engine = Engine(script, asked.latency)
        since, used = time.monotonic(), time.process_time()
        await responses(made, engine, "measured", told(1), asked.chains * TASKS)
        return time.monotonic() - since, time.process_time() - used


def _label_of(benchmark: str) -> Any:
    from executor_cases import label

    from auto_research.hookspecs import BenchmarkOptions
    from auto_research.plugins import load_plugins

    opened = load_plugins().benchmarks[benchmark].value(BenchmarkOptions())
    scenarios = opened.scenarios("train", 7, 2)

    def told(row: int) -> str:
        scenario = scenarios[row]
        tasks = [task.id for task in scenario.tasks[:TASKS]]
        plain = json.loads(label(row))
        return json.dumps(
            {**plain, "benchmark": benchmark, "limit": 2, "scenario": scenario.id, "tasks": tasks}
        )

    return told


if __name__ == "__main__":
    sys.exit(main())
