"""What a search may claim: differences on test with their intervals, and what they say in words."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from auto_research.agent_research.metrics import rounded
from auto_research.agent_research.run import RunDir
from auto_research.agent_research.statistics import PairedDifference, paired_difference
from auto_research.benchmarks.base import Json
from auto_research.evolution.record import Trial

Side = str  # champion, random_champion or sage
PAIRS: tuple[tuple[Side, Side], ...] = (
    ("champion", "sage"),
    ("random_champion", "sage"),
    ("champion", "random_champion"),
)


@dataclass(frozen=True, slots=True)
class FinalRun:
    """One finished test run: outcomes and costs by task, the scenario of each, all units spent."""

    hash: str
    success: Mapping[str, float]
    cost: Mapping[str, float]
    scenario: Mapping[str, str]
    total_cost: float  # (training + probes + test) / episodes / B

    def to_json(self, path: str) -> dict[str, Json]:
        """Its figures as plain data; `path` is its run directory."""
        count = len(self.success)
        figures: Json = rounded(
            {
                "joint_success": sum(self.success.values()) / count,
                "average_cost": sum(self.cost.values()) / count,
                "total_cost": self.total_cost,
            }
        )
        assert isinstance(figures, Mapping)
        return {"hash": self.hash, "run_dir": path, "episodes": count, **figures}


def read_final_run(path: Path, genome: str) -> FinalRun:
    """The test run in `path`. Raises UserError if it cannot be read."""
    success, cost, scenario = dict[str, float](), dict[str, float](), dict[str, str]()
    with RunDir.open(path) as run:
        for row in run.rows():
            if row.phase == "test":
                success[row.task] = float(row.success is True)
                cost[row.task], scenario[row.task] = row.cost, row.scenario
        metrics: Any = json.loads(run.metrics_path.read_bytes())
        full: Any = run.config["budget"]
    per_episode = metrics["spending"]["total_units_per_test_episode"]
    return FinalRun(genome, success, cost, scenario, per_episode / full["units_per_episode"])


def differences(runs: Mapping[Side, FinalRun]) -> dict[str, Json]:
    """The paired differences of joint success and of cost at test between the sides there are."""
    found: dict[str, Json] = {}
    for one, other in PAIRS:
        if one in runs and other in runs:
            a, b = runs[one], runs[other]
            found[f"{one}_minus_{other}"] = {
                "joint_success": _json(paired_difference(a.success, b.success, a.scenario)),
                "average_cost": _json(paired_difference(a.cost, b.cost, a.scenario)),
                "total_cost": rounded(a.total_cost - b.total_cost),
            }
    return found


def _json(found: PairedDifference) -> Json:
    interval = found.difference
    return rounded(
        {
            "value": interval.value,
            "low": interval.low,
            "high": interval.high,
            "pairs": found.pairs,
        }
    )


def verdict(result: Mapping[str, Any]) -> Iterator[str]:
    """What the search came to, in plain words, good or bad."""
    hashes = {side: run.get("hash") for side, run in result["test"].items()}
    for side, run in result["test"].items():
        if run.get("failed"):
            yield f"{_name(side)} failed on test, so nothing is claimed of it: {run['failed']}."
    gaps = result["claim"]
    yield from _against_sage(gaps.get("champion_minus_sage"), hashes)
    yield from _against_random(gaps.get("champion_minus_random_champion"), hashes)
    if result["searched"] == "enumeration":
        yield (
            "The budget covered the whole space, so both arms saw every genome: "
            "evolution could not beat random search here."
        )


def _against_sage(gap: Any, hashes: Mapping[str, Any]) -> Iterator[str]:
    if hashes.get("champion") == hashes.get("sage"):
        yield "The champion is sage itself: nothing that was tried did better on validation."
        return
    if gap is None:
        return
    joint, told = gap["joint_success"], _gap(gap)
    if joint["low"] > 0:
        yield f"The champion beat sage on test: {told}."
    elif joint["value"] > 0:
        yield (
            f"The champion did not demonstrably beat sage on test: {told}; "
            "the interval includes no difference."
        )
    else:
        yield f"The champion did not beat sage on test: {told}."


def _against_random(gap: Any, hashes: Mapping[str, Any]) -> Iterator[str]:
    if "random_champion" in hashes and hashes["champion"] == hashes["random_champion"]:
        yield (
            "Evolution did not beat random search: at the same budget both chose the same genome."
        )
    elif gap is not None:
        joint, told = gap["joint_success"], _gap(gap)
        if joint["low"] > 0:
            yield f"Evolution beat random search at the same budget: {told}."
        elif joint["value"] > 0:
            yield (
                f"Evolution did not demonstrably beat random search at the same budget: {told}; "
                "the interval includes no difference."
            )
        else:
            yield f"Evolution did not beat random search at the same budget: {told}."


def _gap(gap: Any) -> str:
    joint, cost = gap["joint_success"], gap["average_cost"]
    return (
        f"joint success {joint['value']:+.4f} [{joint['low']:+.4f}, {joint['high']:+.4f}], "
        f"cost at test {cost['value']:+.4f} [{cost['low']:+.4f}, {cost['high']:+.4f}], "
        f"total cost {gap['total_cost']:+.4f}"
    )


def _name(side: Side) -> str:
    return {"champion": "The champion", "random_champion": "Random search's champion"}.get(
        side, side
    )


def best(trials: Iterable[Trial]) -> Trial | None:
    """The trial with the most joint success, then the least total cost, then the least hash."""
    able = [(f.order, t.hash, t) for t in trials if (f := t.outcome.fitness) is not None]
    return min(able, key=lambda found: found[:2])[2] if able else None
