"""A plugin with a benchmark so small that a whole run takes a second, and observers for tests.

The benchmark `small` is real in every part that the harness touches: PDDL tasks that the agent
`search` solves and learns from, and a sealed evaluator in a process of its own
(`small_sealed.py`). The environment variables let tests look in on a run in another process:
``SMALL_EVENTS`` is a named pipe that gets a byte at each step of a run, ``SMALL_ROWS`` a file
that gets the id of each row that the observer hook was told of, ``SMALL_SUICIDE`` the scenario
at which the agent kills its own process.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from auto_research.agent_research.agents.base import Attempt
from auto_research.agent_research.agents.search.agent import SearchAgent, SearchSession
from auto_research.agent_research.budget import Meter
from auto_research.agent_research.operators import EditRequest
from auto_research.agent_research.skill import Skill
from auto_research.benchmarks.base import Benchmark, Environment, Json, Scenario, Split, Task
from auto_research.benchmarks.sealed import SealedProcess
from auto_research.hookspecs import AgentFactory, BenchmarkFactory, BenchmarkOptions, hookimpl

HERE = Path(__file__).parent
UNITS = 400  # B

DOMAIN = """(define (domain {0}) (:requirements :strips)
(:predicates (on ?l) (ready ?l))
(:action {1} :parameters (?l) :precondition (and) :effect (ready ?l))
(:action {2} :parameters (?l) :precondition (ready ?l) :effect (and (on ?l) (not (ready ?l)))))"""
WORLDS = (("lamps", "charge", "light"), ("bells", "wind", "strike"))


class SmallBenchmark:
    """Scenarios of three tasks; scenario `number` of a split needs 1 to 4 lamps lit."""

    name = "small@1"
    summary = "lamps to be lit"

    def scenarios(self, split: Split, seed: int, limit: int | None = None) -> Sequence[Scenario]:
        return [_scenario(split, seed, number) for number in range(8 if limit is None else limit)]

    def evaluator(self, split: Split, seed: int) -> SealedProcess:
        return SealedProcess([sys.executable, str(HERE / "small_sealed.py")])

    def units_per_episode(self) -> int:
        return UNITS

    def content_hash(self) -> str:
        return "small"


def _scenario(split: Split, seed: int, number: int) -> Scenario:
    name = f"{split}{seed}x{number}"
    world = WORLDS[number % 2]
    return Scenario(name, tuple(_task(name, world, number, place) for place in range(3)))


def _task(scenario: str, world: tuple[str, ...], number: int, place: int) -> Task:
    lamps = [f"l{i}" for i in range(1 + (number + place) % 4)]
    goal = " ".join(f"(on {lamp})" for lamp in lamps)
    problem = (
        f"(define (problem p) (:domain {world[0]}) (:objects {' '.join(lamps)})"
        f" (:init) (:goal (and {goal})))"
    )
    plan = [[world[1], "l0"], [world[2], "l0"]][: 1 + (number + place) % 2]
    asked = {"kind": "state", "object": "l0", "problem": problem, "plan": plan}
    return Task(
        id=f"{scenario}-{place}-{len(lamps)}-{len(plan)}",
        scenario=scenario,
        position=place,
        kind="pddl",
        instruction=f"light {len(lamps)}",
        observation={
            "domain": DOMAIN.format(*world),
            "problem": problem,
            "question": json.dumps(asked),
        },
    )


def tell() -> None:
    """Let a watching test know that the run has come this far."""
    if path := os.environ.get("SMALL_EVENTS"):
        if not _pipe:
            _pipe.append(os.open(path, os.O_WRONLY))
        os.write(_pipe[0], b".")


_pipe: list[int] = []


class TellingSession(SearchSession):
    """A session that tells of each of its steps."""

    def fit(self, skill: Skill) -> float:
        tell()
        return super().fit(skill)

    def attempt(self, skills: Sequence[Skill], world: Environment | None = None) -> Attempt:
        tell()
        attempt = super().attempt(skills)
        tell()
        return attempt

    def write(self, request: EditRequest) -> Sequence[Skill]:
        tell()
        return super().write(request)


class TellingAgent(SearchAgent):
    """The agent `search`, watched."""

    def session(self, task: Task, meter: Meter) -> TellingSession:
        tell()
        if task.scenario == os.environ.get("SMALL_SUICIDE"):
            os.kill(os.getpid(), signal.SIGKILL)
        return TellingSession(self.settings, self._sandbox, task, meter)


@hookimpl
def register_benchmarks() -> Mapping[str, BenchmarkFactory]:
    return {"small": _small}


@hookimpl
def register_agents() -> Mapping[str, AgentFactory]:
    return {"telling": _telling}


@hookimpl
def episode_finished(row: Mapping[str, Json]) -> None:
    tell()
    if path := os.environ.get("SMALL_ROWS"):
        with open(path, "a", encoding="utf-8") as rows:
            rows.write(f"{row['episode']}\n")


def _small(options: BenchmarkOptions) -> Benchmark:
    return SmallBenchmark()


def _telling(options: Mapping[str, str]) -> TellingAgent:
    return TellingAgent()
