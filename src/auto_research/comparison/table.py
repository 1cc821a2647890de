"""The comparison itself: finished runs in, one table out, as the plain data of `--json`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from auto_research.agent_research.metrics import rounded
from auto_research.agent_research.statistics import Interval, holm
from auto_research.benchmarks.base import Json
from auto_research.comparison.figures import (
    Difference,
    difference,
    episodes,
    figures,
    pareto_front,
    units,
)
from auto_research.comparison.matching import Line, lines_of, mismatches
from auto_research.comparison.runs import RunRecord
from auto_research.comparison.transcripts import alike
from auto_research.errors import UserError, did_you_mean

LEVEL = 0.95  # of every interval; those of the differences hold together at it
RESAMPLES = 10_000  # of a difference: its corrected interval reaches far into the tails
DEFAULT_BASELINE = "react"


def checked_lines(runs: Sequence[RunRecord], *, unmatched: bool) -> tuple[list[Line], list[str]]:
    """The lines that the runs make up, and what a reader must be warned of.

    Raises UserError if fewer than two lines are left or, unless `unmatched`, for every reason why
    they cannot be compared.
    """
    lines = lines_of(runs)
    if len(lines) < 2:
        raise UserError(
            f"there is nothing to compare {lines[0].label if lines else 'nothing'} with",
            mend="give two methods, or finished runs of two",
        )
    reasons = list(mismatches(lines))
    if reasons and not unmatched:
        raise UserError(
            f"the runs do not match: {'; '.join(reasons)}",
            mend="compare like with like, or show them all the same with --unmatched",
        )
    warnings = [f"not matched, so no fair comparison: {reason}" for reason in reasons]
    for line in lines:
        flags = {flag for run in line.runs for flag in run.flags} - {"expert"}
        warnings += [f"{line.label} has runs with the flag {flag}" for flag in sorted(flags)]
    return lines, warnings


def chosen_baseline(labels: Sequence[str], asked: str) -> str:
    """The line that the others are held against. Raises UserError if there is none of that name."""
    if asked and asked not in labels:
        raise UserError(
            f"unknown baseline {asked!r}", where="--baseline", mend=did_you_mean(asked, labels)
        )
    return asked or (DEFAULT_BASELINE if DEFAULT_BASELINE in labels else labels[0])


def compared(lines: Sequence[Line], baseline: str, warnings: Sequence[str]) -> dict[str, Json]:
    """The whole table; `docs/concepts/comparison.md` tells its keys and how each is computed."""
    base = next(line for line in lines if line.label == baseline)
    others = [line for line in lines if line is not base]
    level = 1 - (1 - LEVEL) / len(others)
    differences = {
        line.label: found
        for line in others
        if (found := difference(line, base, level=level, resamples=RESAMPLES)) is not None
    }
    corrected = dict(zip(differences, holm([d.p for d in differences.values()]), strict=True))
    all_figures = {line.label: figures(line) for line in lines}
    front = pareto_front(
        {
            line.label: (mine["joint"].value, mine["total_cost"].value)
            for line in lines
            if not line.reads_answers
            for mine in (all_figures[line.label],)
        }
    )
    groups = alike(
        {
            line.label: {key: e.outcome.transcript for key, e in episodes(line).items()}
            for line in lines
        }
    )
    twins = {name: [n for n in group if n != name] for group in groups for name in group}
    methods: list[Json] = []
    for line in lines:
        found = differences.get(line.label)
        methods.append(
            {
                **_about(line),
                **{name: _plain(value) for name, value in all_figures[line.label].items()},
                "units": {phase: _plain(amount) for phase, amount in units(line).items()},
                "difference": _difference(found, corrected[line.label]) if found else None,
                "pareto": line.label in front,
                "same_as": twins[line.label],
            }
        )
    return {
        **_setting(lines),
        "baseline": baseline,
        "comparisons": len(others),
        "difference_level": rounded(level),
        "distinct": len(groups),
        "methods": methods,
        "warnings": list(warnings),
    }


def _setting(lines: Sequence[Line]) -> dict[str, Json]:
    """What all runs have in common, from the first; where they are unmatched a warning says so."""
    config: Mapping[str, Any] = lines[0].runs[0].config
    trained = [run.config["train_scenarios"] for line in lines for run in line.runs]
    seeds = [run.seeds for line in lines for run in line.runs]
    return {
        **{key: config[key] for key in ("benchmark", "benchmark_hash", "split", "agent")},
        "seeds": sorted({seed for seed, _ in seeds}),
        "train_seeds": sorted({train for _, train in seeds}),
        "train_scenarios": max(trained),
        "episodes_per_run": config["episodes"],
        "budget": config["budget"],
    }


def _about(line: Line) -> dict[str, Json]:
    mine = episodes(line)
    return {
        "method": line.label,
        "runs": [str(run.path) for run in line.runs],
        "seeds": [run.seeds[0] for run in line.runs],
        "episodes": len(mine),
        "scenarios": len({episode.cluster for episode in mine.values()}),
        "errors": sum(episode.outcome.errored for episode in mine.values()),
    }


def _difference(found: Difference, p_holm: float) -> dict[str, Json]:
    data = {key: rounded(value) for key, value in asdict(found).items()}
    return {**data, "p": found.p, "p_holm": p_holm}  # a small p is not to be rounded to nothing


def _plain(value: Interval | float) -> dict[str, Json]:
    if isinstance(value, Interval):
        return {key: rounded(part) for key, part in asdict(value).items()}
    return {"value": rounded(value), "low": None, "high": None}
