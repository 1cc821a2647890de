"""One evaluation by this harness in which nothing is thought: all that is left is the harness.

The agent and the benchmark are plugin objects like a stranger's; everything in between is what
`agent-eval` does: the sealed evaluator in its own process, the crash journal, library commits,
synced rows, metrics and, when asked for, the report. Prints one JSON object, times in seconds.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from auto_research.agent_research.agents.base import Agent, Attempt, Session
from auto_research.agent_research.budget import Meter
from auto_research.agent_research.method import load_method
from auto_research.agent_research.operators import EditRequest
from auto_research.agent_research.rows import TranscriptLine
from auto_research.agent_research.skill import Skill
from auto_research.benchmarks.base import Benchmark, Json, Scenario, Split, Submission, Task
from auto_research.benchmarks.sealed import SealedProcess
from auto_research.evaluate import prepare
from auto_research.furnishing import EvalRequest
from auto_research.hookspecs import AgentFactory, BenchmarkFactory, BenchmarkOptions, hookimpl
from auto_research.plugins import load_plugins
from auto_research.reporting.html import write_report

SEALED = Path(__file__).with_name("noop_sealed.py")
TASKS_PER_SCENARIO = 3


class NoopSession:
    """Hands in an empty plan at once, for one unit (the tariff of an action)."""

    def __init__(self, meter: Meter) -> None:
        self._meter = meter

    def fit(self, skill: Skill) -> float:
        return 0.0

    def attempt(self, skills: Sequence[Skill]) -> Attempt:
        self._meter.spend("act")
        done = TranscriptLine("noop", "nothing to do")
        return Attempt(Submission((), "yes"), own_check=True, steps=1, transcript=(done,))

    def write(self, request: EditRequest) -> Sequence[Skill]:
        return ()


class NoopAgent:
    """Opens sessions that do nothing."""

    name = "noop"
    reads_answers = False

    def session(self, task: Task, meter: Meter) -> Session:
        return NoopSession(meter)

    def close(self) -> None:
        """No process was started."""


class NoopBenchmark:
    """As many scenarios of three small tasks as are asked for."""

    name = "noop@1"
    summary = "tasks with nothing to do"

    def scenarios(self, split: Split, seed: int, limit: int | None = None) -> Sequence[Scenario]:
        return [_scenario(f"{split}-{seed}-{number}") for number in range(limit or 1)]

    def evaluator(self, split: Split, seed: int) -> SealedProcess:
        return SealedProcess([sys.executable, str(SEALED)])

    def units_per_episode(self) -> int:
        return 10

    def content_hash(self) -> str:
        return "noop"


def _scenario(name: str) -> Scenario:
    return Scenario(
        name,
        tuple(
            Task(f"{name}-{i}", name, i, "noop", "do nothing", {"question": "done?"})
            for i in range(TASKS_PER_SCENARIO)
        ),
    )


def _benchmark(options: BenchmarkOptions) -> Benchmark:
    """Tasks with nothing to do."""
    return NoopBenchmark()


def _agent(options: Mapping[str, str]) -> Agent:
    """Does nothing."""
    return NoopAgent()


class NoopPlugin:
    """Registers both."""

    @hookimpl
    def register_benchmarks(self) -> Mapping[str, BenchmarkFactory]:
        return {"noop": _benchmark}

    @hookimpl
    def register_agents(self) -> Mapping[str, AgentFactory]:
        return {"noop": _agent}


def evaluate(path: Path, episodes: int, method: str) -> dict[str, Json]:
    """Evaluate `episodes` no-op tasks in `path`, then write the report; seconds of each."""
    started = time.perf_counter()
    registry = load_plugins([NoopPlugin()])
    request = EvalRequest(
        load_method(method, registry), benchmark="noop", agent="noop", episodes=episodes, seed=7
    )
    prepare(request, registry).run(path)
    evaluated = time.perf_counter()
    write_report(path)
    reported = time.perf_counter()
    rows = (path / "episodes.jsonl").read_bytes().splitlines()
    passed = sum(json.loads(row)["success"] is True for row in rows)
    return {
        "seconds": evaluated - started,
        "report_seconds": reported - evaluated,
        "passed": passed,
    }


if __name__ == "__main__":
    print(json.dumps(evaluate(Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3])))
