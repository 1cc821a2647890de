"""Methods times seeds as one comparison: budgets equal by construction, checked before any job.

Every training gets the same steps, trajectories, tokens, turns, rows and repeats, from one config;
they differ in the method and the seed alone.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from auto_research.agent_research.durable import write_atomic
from auto_research.benchmarks.base import Json
from auto_research.errors import UserError
from auto_research.plugins import Registry
from auto_research.training.backends import DispatchRequest, Progress, Told
from auto_research_openrlhf.jobs import submit
from auto_research_openrlhf.memory import Estimate
from auto_research_openrlhf.plan import Plan, made_plan
from auto_research_openrlhf.preflight import check

RECORD = "dispatch.json"
# Flags that name one training; all others must be equal.
_OWN = ("train.seed", "logger.wandb.run_name")


@dataclass(frozen=True, slots=True)
class Ready:
    """One training of a dispatch that has passed every check."""

    plan: Plan
    needed: Estimate


def dispatch(request: DispatchRequest, registry: Registry, told: Told) -> Mapping[str, Json]:
    """See that every training's job is handed in; with `dry_run`, say what would be.

    Raises UserError before anything is submitted if any of them cannot be, or if they would not
    be matched.
    """
    ready = list(_ready(request, registry))
    plans = [one.plan for one in ready]
    _check_matched(plans)
    path = request.common.path.absolute()
    record = _record(request, plans)
    if request.common.dry_run:
        peak = max(one.needed.peak for one in ready)
        return {**record, "state": "planned", "memory_peak_of_a_gpu": round(peak)}
    _keep(path, record)
    states: list[Json] = []
    for number, plan in enumerate(plans, start=1):
        told(Progress(f"submit {plan.spec.run}", number, len(plans)))
        job, standing = submit(plan, registry, resume=request.common.resume)
        states.append({"run": plan.spec.run, "job": job.handle, "state": standing.state})
    return {**record, "state": "submitted", "jobs": states}


def _ready(request: DispatchRequest, registry: Registry) -> Iterator[Ready]:
    directory = request.common.path
    for method in request.methods:
        for seed in request.seeds:
            # The name is the job's, on a cluster that has others.
            name = f"{directory.name}-{method.name}-{seed}"
            common = replace(request.common, method=method, seed=seed, path=directory / name)
            plan = made_plan(common, registry)
            yield Ready(plan, check(plan, registry))


def _check_matched(plans: Sequence[Plan]) -> None:
    """Raises UserError if two trainings would differ in more than method and seed."""
    first = plans[0]
    ours = _matched(first)
    for plan in plans[1:]:
        theirs = _matched(plan)
        for key in ours:
            if ours[key] != theirs.get(key):
                one, other = first.method.name, plan.method.name
                raise UserError(
                    f"{key} is {ours[key]} for {one} and {theirs.get(key)} for {other}",
                    where=first.where,
                    mend="set it in the config for all: chains.rollout, length and siblings",
                )


def _matched(plan: Plan) -> dict[str, Any]:
    flags = {
        # Where a flag names the job's own folder, it is the same folder in each.
        f"flags.{key}": value.replace(plan.storage, "") if isinstance(value, str) else value
        for key, value in plan.flags.items()
        if key not in _OWN
    }
    shape = {"chain length": plan.spec.chain_length, "siblings": plan.spec.siblings}
    return {**shape, **plan.budget(), **flags}


def _record(request: DispatchRequest, plans: Sequence[Plan]) -> dict[str, Json]:
    first = plans[0]
    return {
        "backend": "openrlhf",
        "directory": str(request.common.path.absolute()),
        "benchmark": request.common.benchmark,
        "methods": [method.name for method in request.methods],
        "seeds": list(request.seeds),
        "program": first.module,
        "budget_of_each": first.budget(),
        "runs": [
            {"run": p.spec.run, "method": p.method.name, "method_hash": p.spec.method_hash}
            for p in plans
        ],
    }


def _keep(path: Path, record: Mapping[str, Json]) -> None:
    """Write the record, or see that the one there is the same. Raises UserError."""
    place = path / RECORD
    try:
        path.mkdir(parents=True, exist_ok=True)
        if place.exists():
            old = json.loads(place.read_bytes())
            if differing := sorted(k for k in record if old.get(k) != record[k]):
                raise UserError(
                    f"another dispatch stands there; it differs in {', '.join(differing)}",
                    where=str(path),
                    mend="choose another --name",
                )
            return
        text = json.dumps(record, indent=1, sort_keys=True, ensure_ascii=False)
        write_atomic(place, text.encode() + b"\n")
    except (OSError, ValueError) as error:
        raise UserError(f"the dispatch cannot be kept: {error}", where=str(place)) from None


def read_dispatch(path: Path) -> dict[str, Any]:
    """The record of a dispatch. Raises UserError if there is none."""
    try:
        return dict(json.loads((path / RECORD).read_bytes()))
    except (OSError, ValueError):
        raise UserError("no dispatch is there", where=str(path)) from None
