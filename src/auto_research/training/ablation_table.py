"""What came of an ablation: the paper's table beside ours, as the plain data of `--json`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

from auto_research.agent_research.metrics import DIGITS, rounded
from auto_research.agent_research.rows import EpisodeRow
from auto_research.agent_research.run import RunDir
from auto_research.benchmarks.base import Json
from auto_research.errors import UserError
from auto_research.training.ablation_intervals import LEVEL, RESAMPLES, Figure, figure
from auto_research.training.ablation_jobs import is_finished, run_path
from auto_research.training.ablation_paper import Row
from auto_research.training.ablation_plan import Arm, Plan
from auto_research.training.log import read_log

FIGURES = ("tgc", "sgc", "steps", "actions", "tokens", "use")
COMPARED = ("sgc", "tgc", "tokens")  # with the paper, by their differences
CURVES = (
    "R1",
    "R2",
    "success1",
    "success2",
    "use",
    "define",
    "tokens",
    "zero_variance",
    "entropy",
    "validation/sgc",
)
FEW_SEEDS = 5

SAME = "same direction, interval excludes 0"
SAME_NOT_ESTABLISHED = "same direction, not established"
OPPOSITE = "opposite"
NONE_OURS = "no difference"
NONE_THEIRS = "paper has no figure"


@dataclass(frozen=True)
class Tested:
    """The test of one run by scenario: `sums` and `sizes` of each figure, in stream order."""

    scenarios: tuple[str, ...]
    sums: Mapping[str, Sequence[float]]
    sizes: Mapping[str, Sequence[float]]


def read_test(path: Path) -> Tested:
    """The test of a finished run. Raises UserError for rows that cannot be read."""
    by_scenario: dict[str, list[EpisodeRow]] = {}
    with RunDir.open(path) as run:
        for row in run.rows():
            if row.phase == "test":
                by_scenario.setdefault(row.scenario, []).append(row)
    parts = [dict(_parts(rows)) for rows in by_scenario.values()]
    return Tested(
        tuple(by_scenario),
        {name: [part[name][0] for part in parts] for name in FIGURES},
        {name: [part[name][1] for part in parts] for name in FIGURES},
    )


def _parts(rows: Sequence[EpisodeRow]) -> Iterator[tuple[str, tuple[float, float]]]:
    """Sum and size of each figure in one scenario. `use` counts the tasks after the first that
    called a skill; `actions` are those in the world, of which a call does many."""
    won = [row.success is True for row in rows]
    later = [row for row in rows if row.position > 0]
    yield "tgc", (sum(won), len(rows))
    yield "sgc", (all(won), 1)
    yield "steps", (sum(row.steps for row in rows), len(rows))
    yield "actions", (sum(row.units_by_kind.get("act", 0) for row in rows), len(rows))
    yield "tokens", (sum(row.generated for row in rows), len(rows))
    yield "use", (sum(any(use.called for use in row.uses) for row in later), len(later))


def ablated(plan: Plan, preset: str, failed: Mapping[str, str]) -> dict[str, Json]:
    """The whole table; `docs/training/ablation.md` tells its keys. `failed` has why by job.

    Raises UserError if the tests of two runs are not of the same scenarios.
    """
    tests = {arm.name: _tests(plan, arm) for arm in plan.arms}
    _same_scenarios(plan, tests)
    reference = tests.get(plan.paper.reference, {})
    theirs = plan.paper.arms[plan.paper.reference].paper
    arms = [_arm(plan, arm, tests[arm.name], reference, theirs[:1], failed) for arm in plan.arms]
    test = plan.arms[0].config.test
    return {
        "directory": str(plan.directory),
        "paper": {key: getattr(plan.paper, key) for key in ("name", "title", "citation")},
        "preset": preset,
        "benchmark": plan.benchmark,
        "seeds": list(plan.seeds),
        "reference": plan.paper.reference,
        "test": test.model_dump(mode="json"),
        "budget": next((_budget(arm) for arm in plan.arms if arm.budget.rollouts), None),
        "level": LEVEL,
        "resamples": RESAMPLES,
        "arms": arms,
        "before_rl": [a.name for a in plan.arms if not a.model_of and not a.budget.rollouts],
        "curves": {arm.name: found for arm in plan.arms if (found := _curves(plan, arm))},
        "warnings": list(_warnings(plan, tests, failed)),
    }


def agreement(paper: float | None, ours: Mapping[str, Any]) -> str:
    """How a difference of ours stands to the paper's, by sign. `ours` is as in `--json`."""
    if paper is None or paper == 0:
        return NONE_THEIRS
    if ours["value"] == 0:
        return NONE_OURS
    if (paper > 0) != (ours["value"] > 0):
        return OPPOSITE
    low, high = ours["low"], ours["high"]
    established = low is not None and (low > 0 or high < 0)
    return SAME if established else SAME_NOT_ESTABLISHED


def _tests(plan: Plan, arm: Arm) -> dict[int, Tested]:
    """The tests of an arm's finished runs by seed."""
    done = [seed for seed in plan.seeds if is_finished(plan, arm, seed)]
    return {seed: read_test(run_path(plan, arm, seed)) for seed in done}


def _same_scenarios(plan: Plan, tests: Mapping[str, Mapping[int, Tested]]) -> None:
    seen = {tested.scenarios for arm in tests.values() for tested in arm.values()}
    if len(seen) > 1:
        raise UserError(
            "the runs were tested on different scenarios",
            where=str(plan.directory),
            mend="run them all again with one config, in a directory of their own",
        )


def _arm(
    plan: Plan,
    arm: Arm,
    tests: Mapping[int, Tested],
    reference: Mapping[int, Tested],
    theirs: Sequence[Row],
    failed: Mapping[str, str],
) -> dict[str, Json]:
    paired = [seed for seed in tests if seed in reference]
    compared = paired and arm.name != plan.paper.reference
    difference: Any = compared and {
        name: _told(_difference(name, [(reference[s], tests[s]) for s in paired]))
        for name in FIGURES
    }
    names = {seed: run_path(plan, arm, seed).name for seed in plan.seeds}
    return {
        "arm": arm.name,
        "title": arm.source.title,
        "method": arm.method.name,
        "model_of": arm.model_of or None,
        "sft_steps": arm.sft_steps,
        "own_steps": arm.own_steps,
        **_budget(arm),
        "runs": [names[seed] for seed in tests],
        "seeds": list(tests),
        "failed": {names[s]: failed[names[s]] for s in plan.seeds if names[s] in failed},
        "scenarios": len(next(iter(tests.values())).scenarios) if tests else 0,
        "figures": {name: _told(_figure(name, list(tests.values()))) for name in FIGURES}
        if tests
        else None,
        "difference": difference or None,
        "paired_seeds": paired if compared else [],
        "paper": [_row(row, theirs, difference) for row in arm.source.paper],
    }


def _budget(arm: Arm) -> dict[str, Json]:
    return dict(vars(arm.budget))


def _figure(name: str, tests: Sequence[Tested]) -> Figure:
    return figure([t.sums[name] for t in tests], tests[0].sizes[name])


def _difference(name: str, pairs: Sequence[tuple[Tested, Tested]]) -> Figure:
    """The reference less the arm, paired by seed and task."""
    sums = [
        [a - b for a, b in zip(one.sums[name], other.sums[name], strict=True)]
        for one, other in pairs
    ]
    return figure(sums, pairs[0][0].sizes[name])


def _told(found: Figure) -> dict[str, Json]:
    """A figure in plain values; `low` and `high` are over seeds and scenarios."""
    both, scenarios = found.both, found.scenarios
    told: Any = rounded(
        {
            "value": found.value,
            "low": both.low if both else None,
            "high": both.high if both else None,
            "scenarios": {"low": scenarios.low, "high": scenarios.high},
        }
    )
    return dict(told)


def _row(row: Row, theirs: Sequence[Row], difference: Mapping[str, Any] | None) -> dict[str, Json]:
    """A row of the paper, its reference's figures less this row's, and whether ours agree."""
    own = row.figures()
    first = theirs[0].figures() if theirs else dict.fromkeys(own)
    less = {name: _less(a, own[name]) for name, a in first.items()}
    return {
        "row": row.row,
        "source": row.source,
        **own,
        "difference": less if difference else None,
        "agreement": {name: agreement(less[name], difference[name]) for name in COMPARED}
        if difference
        else None,
    }


def _less(first: float | None, other: float | None) -> float | None:
    return None if first is None or other is None else round(first - other, DIGITS)


def _curves(plan: Plan, arm: Arm) -> dict[str, Json]:
    """Figures by iteration: [iteration, mean over seeds, least, most], of what is there."""
    if arm.model_of:
        return {}
    points: dict[str, dict[int, list[float]]] = {}
    for seed in plan.seeds:
        for told in read_log(run_path(plan, arm, seed)):
            for name in (name for name in CURVES if name in told):
                at = points.setdefault(name, {}).setdefault(int(told["iteration"]), [])
                at.append(told[name])
    return {
        name: [
            [at, *(rounded(v) for v in (fmean(values), min(values), max(values)))]
            for at, values in sorted(points[name].items())
        ]
        for name in CURVES
        if name in points
    }


def _warnings(
    plan: Plan, tests: Mapping[str, Mapping[int, Tested]], failed: Mapping[str, str]
) -> Iterator[str]:
    for name, why in failed.items():
        yield f"{name} failed: {why}"
    most = max((len(arm) for arm in tests.values()), default=0)
    for name, arm in tests.items():
        if len(arm) < len(plan.seeds):
            yield f"{name} has {len(arm)} of {len(plan.seeds)} seeds"
    if 1 < most < FEW_SEEDS:
        yield f"{most} seeds are few: an interval over so few trainings is rough"
    if most == 1:
        yield "one seed: no interval over trainings, so nothing is established"
