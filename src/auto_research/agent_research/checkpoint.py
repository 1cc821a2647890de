"""What a resumed run needs besides its library: saved with every commit, in one transaction."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import cast

from auto_research.agent_research.budget import Phase
from auto_research.agent_research.codec import dumps, loads
from auto_research.agent_research.method import Operators
from auto_research.benchmarks.base import Json

States = dict[str, Json]  # what each operator's `state` gave, by slot


@dataclass
class Checkpoint:
    """How far a run has come. `indices` counts the rows of each phase, `probes` the probes run.

    `outside` is what was spent outside any episode, in units by phase and kind; `counters` are
    the telemetry that only the runner can count; `mean_rewards` has one entry a training group.
    """

    states: States = field(default_factory=dict)
    groups: int = 0
    mean_rewards: list[float] = field(default_factory=list)
    scenarios: int = 0
    probes: int = 0
    counters: Counter[str] = field(default_factory=Counter)
    outside: dict[Phase, Counter[str]] = field(default_factory=dict)
    indices: Counter[Phase] = field(default_factory=Counter)
    flags: set[str] = field(default_factory=set)
    trained: bool = False

    @property
    def rows(self) -> int:
        """Rows committed so far, all phases together."""
        return self.indices.total()

    def to_json(self) -> dict[str, Json]:
        """Plain data for `from_json`."""
        return {
            "states": self.states,
            "groups": self.groups,
            "mean_rewards": self.mean_rewards,
            "scenarios": self.scenarios,
            "probes": self.probes,
            "counters": self.counters,
            "outside": {str(phase): kinds for phase, kinds in self.outside.items()},
            "indices": {str(phase): count for phase, count in self.indices.items()},
            "flags": sorted(self.flags),
            "trained": self.trained,
        }

    @classmethod
    def from_json(cls, data: Json) -> Checkpoint:
        """The checkpoint that `to_json` gave; a fresh one for None."""
        if not isinstance(data, dict):
            return cls()
        return cls(
            states=data["states"],
            groups=data["groups"],
            mean_rewards=data["mean_rewards"],
            scenarios=data["scenarios"],
            probes=data["probes"],
            counters=Counter(data["counters"]),
            outside={phase: Counter(kinds) for phase, kinds in data["outside"].items()},
            indices=Counter(data["indices"]),
            flags=set(data["flags"]),
            trained=data["trained"],
        )


def states_of(operators: Operators) -> States:
    """The operators' states as they come back from a file: siblings and resumed runs see those."""
    states = {slot: op.state() for slot, op in operators.by_slot().items()}
    return cast(States, loads(dumps(cast(Json, states))))
