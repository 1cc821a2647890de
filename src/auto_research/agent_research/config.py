"""What defines a run: everything that may change a result, as plain data for run.yaml."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from auto_research.agent_research.budget import TARIFF
from auto_research.benchmarks.base import Json

Feedback = Literal["own", "verdict"]


@dataclass(frozen=True, slots=True)
class RunConfig:
    """A resolved run. `method` is `Method.to_dict()`; `budget_units` is B unless set.

    `agent_config` is how the agent is set up, where that can differ; it holds no secrets.
    """

    method: Mapping[str, Json]
    method_hash: str
    benchmark: str
    benchmark_hash: str
    agent: str
    seed: int
    train_seed: int
    episodes: int
    train_scenarios: int
    budget_units: int
    units_per_episode: int
    version: str
    code_hash: str = ""
    split: Literal["validation", "test"] = "test"
    exclude: tuple[str, ...] = ()
    data_dir: str = ""
    frozen: bool = False
    test_feedback: Feedback = "own"
    run_units: int | None = None
    agent_config: Mapping[str, Json] = field(default_factory=dict)

    def to_json(self) -> dict[str, Json]:
        """What stands in run.yaml; a resumed run must give the same."""
        return {
            "method": dict(self.method),
            "method_hash": self.method_hash,
            "benchmark": self.benchmark,
            "benchmark_hash": self.benchmark_hash,
            "agent": self.agent,
            "agent_config": dict(self.agent_config),
            "split": self.split,
            "seed": self.seed,
            "train_seed": self.train_seed,
            "episodes": self.episodes,
            "train_scenarios": self.train_scenarios,
            "exclude": list(self.exclude),
            "data_dir": self.data_dir,
            "frozen": self.frozen,
            "test_feedback": self.test_feedback,
            "budget": {
                "units": self.budget_units,
                "units_per_episode": self.units_per_episode,
                "run_units": self.run_units,
            },
            "tariff": dict(TARIFF),
            "version": self.version,
            "code_hash": self.code_hash,
        }


def code_hash(parts: Iterable[type]) -> str:
    """Hash of the sources of this harness and of the packages (or modules) that define `parts`.

    16 hex digits. A resumed run must not mix two versions of a method's code.
    """
    roots = {"auto_research": Path(__file__).parents[1]}
    for part in parts:
        package = part.__module__.partition(".")[0]
        for name in (package, part.__module__):
            file = getattr(sys.modules.get(name), "__file__", None)
            if file:
                path = Path(file)
                roots[name] = path.parent if path.name == "__init__.py" else path
                break
    digest = hashlib.sha256()
    for name, root in sorted(roots.items()):
        files = [root] if root.is_file() else sorted(root.rglob("*"))
        for path in files:
            if path.suffix in (".py", ".txt"):
                content = path.read_bytes()
                place = path.relative_to(root).as_posix()
                digest.update(f"{name}/{place} {len(content)}\n".encode() + content)
    return digest.hexdigest()[:16]
