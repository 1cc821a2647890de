"""A plugin with a benchmark of toy shops: real worlds in processes of their own, a sealed judge.

Each task asks what the goods of one kind cost together; the goods come in pages, so that a
function that adds them up is worth keeping.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from toy_stock import KINDS

from auto_research.benchmarks.base import Benchmark, Json, Observation, Scenario, Split, Task
from auto_research.benchmarks.sealed import SealedProcess
from auto_research.hookspecs import BenchmarkFactory, BenchmarkOptions, hookimpl

HERE = Path(__file__).parent
UNITS = 1000  # B


class ToyWorld:
    """One shop: an `Environment`."""

    def __init__(self, task: Task) -> None:
        argv = [sys.executable, str(HERE / "toy_shell.py"), task.id]
        self._shell = subprocess.Popen(
            argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env={}
        )
        self._answer: Json = None

    def execute(self, code: str, calls: int | None = None) -> Observation:
        assert self._shell.stdin and self._shell.stdout
        print(json.dumps(code), file=self._shell.stdin, flush=True)
        told = json.loads(self._shell.stdout.readline())
        self._answer = told.pop("answer")
        return Observation(**told)

    def submission(self) -> Mapping[str, Json]:
        return {"answer": self._answer}

    def flags(self) -> tuple[str, ...]:
        return ()

    def close(self) -> None:
        with self._shell:
            self._shell.kill()


class ToyShops:
    """Scenarios of three tasks, one a kind of goods."""

    name = "shops@1"
    summary = "what do the goods of a kind cost"

    def scenarios(self, split: Split, seed: int, limit: int | None = None) -> Sequence[Scenario]:
        return [_scenario(f"{split}{seed}x{n}") for n in range(8 if limit is None else limit)]

    def environment(self, task: Task, keep: Path | None = None) -> ToyWorld:
        return ToyWorld(task)

    def evaluator(self, split: Split, seed: int) -> SealedProcess:
        return SealedProcess([sys.executable, str(HERE / "toy_sealed.py")])

    def units_per_episode(self) -> int:
        return UNITS

    def content_hash(self) -> str:
        return "shops"


def _scenario(name: str) -> Scenario:
    return Scenario(name, tuple(task_of(name, place) for place in range(len(KINDS))))


def task_of(scenario: str, place: int) -> Task:
    """The task at a place of a scenario."""
    return Task(
        id=f"{scenario}_{place + 1}",
        scenario=scenario,
        position=place,
        kind="toy",
        instruction=f"What do all goods of the kind {KINDS[place]} in the shop cost together?",
        observation={"shop": f"show_goods(page) gives {scenario}'s goods, page by page."},
    )


@hookimpl
def register_benchmarks() -> Mapping[str, BenchmarkFactory]:
    return {"shops": _shops}


def _shops(options: BenchmarkOptions) -> Benchmark:
    return ToyShops()
