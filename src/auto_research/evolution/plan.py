"""What was asked of a search, checked: the reading, the space, the sizes, the whole config."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib.metadata import version
from pathlib import Path

from auto_research.agent_research.config import code_hash
from auto_research.agent_research.method import Method
from auto_research.agent_research.operators import SLOTS
from auto_research.benchmarks.base import Json
from auto_research.errors import UserError
from auto_research.evaluate import Evaluation, prepare
from auto_research.evolution.direction import (
    BASELINE,
    Reading,
    known_methods,
    read_direction,
    space_of,
)
from auto_research.evolution.search import enumerates
from auto_research.evolution.space import Space
from auto_research.furnishing import EvalRequest, made
from auto_research.plugins import Registry

TRAINING_AT_MOST = 32  # episodes a train scenario that a trial's own unit budget pays for


@dataclass(frozen=True, slots=True)
class EvolveRequest:
    """What the user asked for; the two kinds of sizes are of trials and of the runs on test."""

    direction: str
    dataset: str = "planbench-mini"
    agent: str = "search"
    generations: int = 4
    population: int = 8
    seed: int = 42
    train_seed: int = 0
    episodes: int = 30
    train_scenarios: int = 3
    test_episodes: int = 120
    final_train_scenarios: int = 64
    data_dir: Path | None = None
    max_units: int | None = None
    max_seconds: float = 600.0
    agent_options: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Plan:
    """A search that is ready to begin."""

    request: EvolveRequest
    registry: Registry
    reading: Reading
    space: Space
    methods: Sequence[Method]  # the baseline first
    trial: Evaluation
    final: EvalRequest

    @property
    def enumerated(self) -> bool:
        """Whether the budget covers the whole space."""
        return enumerates(self.space, self.request.population, self.request.generations)

    def config(self) -> dict[str, Json]:
        """All that decides a result."""
        request, run = self.request, self.trial.config
        used = [
            self.registry.operators[slot][use].value
            for slot in SLOTS
            for use in dict.fromkeys(allele.use for allele in self.space.alleles[slot])
        ]
        return {
            "direction": request.direction,
            "reading": self.reading.to_json(),
            "space": {slot: [a.key for a in self.space.alleles[slot]] for slot in SLOTS},
            "methods": [method.content_hash() for method in self.methods],
            "benchmark": run.benchmark,
            "benchmark_hash": run.benchmark_hash,
            "agent": request.agent,
            "agent_config": run.agent_config,
            "seed": request.seed,
            "train_seed": request.train_seed,
            "generations": request.generations,
            "population": request.population,
            "episodes": run.episodes,
            "train_scenarios": request.train_scenarios,
            "test_episodes": request.test_episodes,
            "final_train_scenarios": request.final_train_scenarios,
            "data_dir": str(request.data_dir or ""),
            "budget": {"units": run.budget_units, "trial_units": run.run_units},
            "version": version("auto-research"),
            "code_hash": code_hash(used),
            "run_code_hash": run.code_hash,  # the agent's code too
        }


def plan(request: EvolveRequest, registry: Registry) -> Plan:
    """Read and check all that was asked for. Raises UserError; nothing is spent."""
    if BASELINE not in registry.methods:
        raise UserError(
            f"the method {BASELINE!r}, which champions are held against, is not installed",
            mend="install plugins/sage",
        )
    agent = made("agent", request.agent, registry.agents, request.agent_options)
    if agent.reads_answers:
        raise UserError(f"agent {request.agent!r} reads answers, so nothing can be learnt from it")
    agent.close()
    reading = read_direction(request.direction, registry)
    space = space_of(reading, registry)
    methods = known_methods(registry, first=(BASELINE, reading.base))
    trial = EvalRequest(
        method=methods[0],
        benchmark=request.dataset,
        agent=request.agent,
        episodes=request.episodes,
        seed=request.seed,
        train_seed=request.train_seed,
        train_scenarios=request.train_scenarios,
        split="validation",
        data_dir=request.data_dir,
        agent_options=request.agent_options,
    )
    final = replace(
        trial,
        split="test",
        episodes=request.test_episodes,
        train_scenarios=request.final_train_scenarios,
    )
    first = prepare(trial, registry)
    first.open_workplace().close()  # the workers open their own
    paid = request.episodes + TRAINING_AT_MOST * request.train_scenarios
    units = request.max_units or paid * first.config.budget_units
    trial = replace(trial, run_units=units)
    config = replace(first.config, run_units=units)
    evaluation = replace(first, request=trial, config=config)
    return Plan(request, registry, reading, space, methods, evaluation, final)
