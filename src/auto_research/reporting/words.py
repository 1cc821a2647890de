"""The names and number formats that the terminal tables and the HTML report share."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

METRICS: Mapping[str, str] = {
    "joint_success": "Joint success",
    "average_cost": "Average cost",
    "answer_accuracy": "Answer accuracy",
    "plan_success": "Plan success",
    "tgc": "Task goal completion",
    "sgc": "Scenario goal completion",
    "steps": "Steps",
    "tokens": "Tokens",
}
# Shown where a model was asked: the columns of SAGE's tables that the others lack.
MODEL_METRICS: Mapping[str, str] = {
    "generated_tokens": "Generated tokens",
    "skill_called": "Skill use",
    "skill_helped": "Successful skill use",
}
RATES = frozenset({**METRICS, **MODEL_METRICS}) - {"steps", "tokens", "generated_tokens"}
PHASE_NAMES: Mapping[str, str] = {"training": "Training", "probes": "Probes", "test": "Test"}


def number(value: float) -> str:
    """One decimal, with thousands separators."""
    return f"{value:,.1f}"


def rate(value: float) -> str:
    """Four decimals."""
    return f"{value:.4f}"


def count(value: float) -> str:
    """A whole number with thousands separators; any other as in `number`."""
    return f"{value:,.0f}" if float(value).is_integer() else number(value)


def figure(metric: str, value: float | None) -> str:
    """A metric's value: rates as in `rate`, others as in `number`; a dash for none."""
    if value is None:
        return "–"
    return rate(value) if metric in RATES else number(value)


def interval(name: str, metric: Mapping[str, Any]) -> str:
    """``low – high`` of a metric, or a dash where it has no interval."""
    low, high = metric.get("low"), metric.get("high")
    return "–" if low is None or high is None else f"{figure(name, low)} – {figure(name, high)}"


def method_name(method: object) -> str:
    """The name of a method given as its name or as its plain data."""
    return str(method.get("name", "unnamed")) if isinstance(method, Mapping) else str(method)


def budget_line(budget: object) -> str:
    """A budget, given as units or as caps by resource, in words."""
    caps = budget if isinstance(budget, Mapping) else {"units": budget}
    words = [
        f"{count(cap)} {resource.replace('_', ' ')}"
        for resource, cap in caps.items()
        if isinstance(cap, int | float)
    ]
    return ", ".join(words) or "no cap"


@dataclass(frozen=True, slots=True)
class Counter:
    """One counted thing: its readable name, its total, and its part in each phase where known."""

    name: str
    total: float
    phases: Mapping[str, float]


def counters(telemetry: Mapping[str, Any], spending: Mapping[str, Any]) -> Iterator[Counter]:
    """What was spent and what the method did, from the two parts of metrics.json.

    Units come first, then the other resources, then the method's counters by name.
    """
    units = {phase: sum(kinds.values()) for phase, kinds in phase_spending(spending).items()}
    if units:
        yield Counter("Units", sum(units.values()), units)
    for name in ("episodes", "steps", "tokens", "model_calls"):
        amounts = spending.get(name)
        if isinstance(amounts, Mapping):
            yield Counter(_words(name), sum(amounts.values()), dict(amounts))
    phases: Mapping[str, Mapping[str, float]] = telemetry.get("by_phase", {})
    for name, total in sorted(telemetry.items()):
        if isinstance(total, int | float):
            parts = {phase: part[name] for phase, part in phases.items() if name in part}
            yield Counter(_words(name), total, parts)


def phase_spending(spending: Mapping[str, Any]) -> dict[str, dict[str, int]]:
    """Units by phase and kind, phases in the order they ran; phases without spending absent."""
    phases: Mapping[str, Mapping[str, int]] = spending.get("units_by_kind", {})
    return {phase: dict(phases[phase]) for phase in PHASE_NAMES if phases.get(phase)}


def _words(name: str) -> str:
    return name.replace("_", " ").capitalize()


def skills_written(telemetry: Mapping[str, Any]) -> int:
    """Skills and versions of skills that the library took in at test: SAGE's skill generation."""
    test = telemetry.get("by_phase", {}).get("test", {})
    kinds = ("skills_created", "skills_revised", "skills_forked", "skills_merged")
    return sum(int(test.get(kind, 0)) for kind in kinds)
