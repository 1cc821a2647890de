"""From rows to figures: `metrics.json`, each rate and mean with its interval by scenario.

Reads a run as a stream and keeps a few numbers an episode, so a run of any length fits memory.
Errored episodes stay in every denominator. All rates are fractions in [0, 1], tgc and sgc too
(AppWorld prints percent).
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from auto_research.agent_research.budget import PHASES, Phase
from auto_research.agent_research.rows import EpisodeRow
from auto_research.agent_research.statistics import Interval, clustered_mean, clustered_rate
from auto_research.agent_research.telemetry import Telemetry
from auto_research.benchmarks.base import Json
from auto_research.errors import UserError

DIGITS = 6
# A run in which nothing was judged still shows the parts that the JSON contract promises.
CONTRACT_CHECKS = ("answer_accuracy", "plan_success")


@dataclass(frozen=True, slots=True)
class Metrics:
    """The three parts of `metrics.json`, as plain JSON values rounded to 6 digits."""

    metrics: Mapping[str, Json]
    telemetry: Mapping[str, Json]
    spending: Mapping[str, Json]

    def to_json(self) -> dict[str, Json]:
        """The three parts as one mapping."""
        return {
            "metrics": self.metrics,
            "telemetry": self.telemetry,
            "spending": self.spending,
        }

    def to_bytes(self, flags: Sequence[str] = ()) -> bytes:
        """The content of `metrics.json`: sorted keys, indented, the same bytes for equal runs.

        `flags` name what sets the run apart from a plain one, such as a time limit that fired.
        """
        content = {**self.to_json(), "flags": list(flags)}
        text = json.dumps(content, sort_keys=True, indent=2, allow_nan=False)
        return text.encode() + b"\n"


def compute_metrics(
    rows: Iterable[EpisodeRow],
    *,
    phase: Phase = "test",
    counters: Mapping[str, int] | None = None,
    outside: Mapping[Phase, Mapping[str, int]] | None = None,
) -> Metrics:
    """Figures of one phase, telemetry and spending of all.

    `counters` are what only the runner can count: ``policy_updates`` and
    ``uninformative_groups``. `outside` is spending between episodes, units by phase and kind.
    Raises UserError if the phase has no episode yet.
    """
    figures, spending, telemetry = _Figures(), _SpendingTotals(), Telemetry()
    for row in rows:
        spending.add(row)
        telemetry.add(row)
        if row.phase == phase:
            figures.add(row)
    if not figures.scenarios:
        raise UserError(f"the run has no finished {phase} episode yet", mend="go on with --resume")
    for between, kinds in (outside or {}).items():
        spending.kinds[between].update(kinds)
    return Metrics(
        metrics=_rounded(figures.summary()),
        telemetry=_rounded(telemetry.summary(counters or {})),
        spending=_rounded(spending.summary()),
    )


def rounded(value: Json) -> Json:
    """`value` with every float rounded to 6 digits, and no negative zero."""
    if isinstance(value, float):
        return round(value, DIGITS) + 0.0
    if isinstance(value, Mapping):
        return _rounded(value)
    if isinstance(value, (list, tuple)):
        return [rounded(part) for part in value]
    return value


def _rounded(mapping: Mapping[str, Json]) -> dict[str, Json]:
    return {key: rounded(mapping[key]) for key in sorted(mapping)}


@dataclass(slots=True)
class _Figures:
    """A few numbers an episode of the phase that is reported."""

    scenarios: list[str] = field(default_factory=list)
    rates: dict[str, list[bool]] = field(default_factory=dict)
    means: dict[str, list[float]] = field(default_factory=dict)
    chains: dict[tuple[str, int | None, int], bool] = field(default_factory=dict)
    errored: int = 0
    checked: int = 0  # episodes whose verdict came with its parts

    def add(self, row: EpisodeRow) -> None:
        success = row.success is True
        called = [use for use in row.uses if use.called]
        rates = {
            **row.checks,
            "joint_success": success,
            "skill_retrieved": bool(row.choice.ranked),
            "skill_called": bool(called),
            "skill_helped": success and any(use.helped for use in called),
        }
        means = {
            "average_cost": row.cost,
            "steps": row.steps,
            "tokens": row.tokens,
            "generated_tokens": row.generated,
            "model_calls": row.model_calls,
            "units": row.units,
        }
        for name, rate in rates.items():
            self._column(name).append(rate)
        for name, mean in means.items():
            self.means.setdefault(name, []).append(mean)
        chain = (row.scenario, row.group, row.sibling)
        self.chains[chain] = self.chains.get(chain, True) and success
        self.errored += row.success is None or bool(row.error)
        self.checked += bool(row.checks)
        self.scenarios.append(row.scenario)

    def _column(self, name: str) -> list[bool]:
        """The outcomes under `name`; False where an episode did not get as far as a verdict."""
        column = self.rates.setdefault(name, [])
        column.extend([False] * (len(self.scenarios) - len(column)))
        return column

    def summary(self) -> dict[str, Json]:
        columns = {name: self._column(name) for name in list(self.rates)}
        if not self.checked:
            columns |= {name: self._column(name) for name in CONTRACT_CHECKS}
        columns["tgc"] = columns["joint_success"]
        if not any(self.means["generated_tokens"]):  # no model was asked
            del self.means["generated_tokens"]
        return {
            **{name: _json(clustered_rate(c, self.scenarios)) for name, c in columns.items()},
            **{name: _json(clustered_mean(c, self.scenarios)) for name, c in self.means.items()},
            "sgc": _json(
                clustered_rate(list(self.chains.values()), [key[0] for key in self.chains])
            ),
            "episodes": len(self.scenarios),
            "scenarios": len(set(self.scenarios)),
            "errored": self.errored,
        }


@dataclass(slots=True)
class _SpendingTotals:
    """Everything charged, by phase."""

    kinds: dict[Phase, Counter[str]] = field(
        default_factory=lambda: {phase: Counter() for phase in PHASES}
    )
    totals: dict[Phase, Counter[str]] = field(
        default_factory=lambda: {phase: Counter() for phase in PHASES}
    )
    test_episodes: int = 0

    def add(self, row: EpisodeRow) -> None:
        self.kinds[row.phase].update(row.units_by_kind)
        self.totals[row.phase].update(
            steps=row.steps, tokens=row.tokens, model_calls=row.model_calls, episodes=1
        )
        self.test_episodes += row.phase == "test"

    def summary(self) -> dict[str, Json]:
        units: dict[str, Json] = {phase: sum(self.kinds[phase].values()) for phase in PHASES}
        total = sum(sum(kinds.values()) for kinds in self.kinds.values())
        return {
            "units_by_kind": {phase: _rounded(self.kinds[phase]) for phase in PHASES},
            "units": {**units, "total": total},
            **{
                name: {phase: self.totals[phase][name] for phase in PHASES}
                for name in ("episodes", "steps", "tokens", "model_calls")
            },
            # Training and probes are paid for by the test episodes they serve.
            "total_units_per_test_episode": (
                total / self.test_episodes if self.test_episodes else None
            ),
        }


def _json(interval: Interval) -> dict[str, Json]:
    return {"value": interval.value, "low": interval.low, "high": interval.high}
