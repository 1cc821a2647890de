"""The backend `openrlhf`: check everything, render it, hand it in, and keep its record."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from auto_research.benchmarks.base import Json
from auto_research.plugins import Registry
from auto_research.training.backends import DispatchRequest, Progress, Told, Trained, TrainRequest
from auto_research_openrlhf import collect, dispatch, release
from auto_research_openrlhf.jobs import Job, files, submit, submit_words
from auto_research_openrlhf.kuberay import RAYJOB
from auto_research_openrlhf.launchers import ENDED
from auto_research_openrlhf.memory import Estimate
from auto_research_openrlhf.plan import JOB, Plan, made_plan
from auto_research_openrlhf.preflight import check
from auto_research_openrlhf.render import SCRIPT, job_script


class OpenRlhf:
    """Trains on a cluster with the pinned release of OpenRLHF."""

    name = "openrlhf"
    benchmark = "appworld"

    def __init__(self, registry: Registry) -> None:
        self._registry = registry

    def train(self, request: TrainRequest, told: Told) -> Trained:
        """See that the job is handed in, once; its directory keeps the record."""
        plan = made_plan(request, self._registry)
        needed = check(plan, self._registry)
        for note in plan.notes:
            told(Progress(f"note: on a cluster, {note}"))
        path = request.path.absolute()
        details = shown(plan, needed, path)
        if request.dry_run:
            return Trained("planned", path, details=details, text=text_of(plan, needed, path))
        for line in needed.lines():
            told(Progress(line))
        job, standing = submit(plan, self._registry, resume=request.resume)
        if job.launcher is None:
            text = f"written, not submitted: kubectl apply -f {path / RAYJOB}"
            return Trained("planned", path, details={**details, "files": {}}, text=text)
        return Trained(
            "submitted",
            path,
            checkpoint=Path(plan.storage) / "model" if standing.state == "succeeded" else None,
            details={"job": job.to_json(standing), **details},
            text=f"job {job.handle}: {standing.state}",
        )

    def status(self, path: Path) -> Mapping[str, Json]:
        job = Job.open(path)
        return job.to_json(job.standing())

    def logs(self, path: Path) -> str:
        job = Job.open(path)
        launcher = job.launcher
        return launcher.logs(job.handle, path) if launcher and job.handle else ""

    def cancel(self, path: Path) -> Mapping[str, Json]:
        job = Job.open(path)
        launcher, standing = job.launcher, job.standing()
        if launcher and job.handle and standing.state not in (*ENDED, "unknown"):
            launcher.cancel(job.handle)
            standing = job.standing()
        return job.to_json(standing)

    def dispatch(self, request: DispatchRequest, told: Told) -> Mapping[str, Json]:
        return dispatch.dispatch(request, self._registry, told)

    def collect(self, path: Path, storage: Path | None = None) -> Mapping[str, Json]:
        return collect.collect(path, storage)


def shown(plan: Plan, needed: Estimate, path: Path) -> dict[str, Json]:
    """A plan as plain JSON values."""
    command: list[Json] = [*submit_words(plan, path, plan.spec.run)]
    return {
        "openrlhf": release.VERSION,
        "program": plan.module,
        "launcher": plan.config.cluster.launcher,
        "budget": plan.budget(),
        "memory": needed.to_json(),
        "flags": dict(plan.flags),
        "submit": command,
        "files": {f"{JOB}/{SCRIPT}": job_script(plan), **files(plan, path)},
        "notes": list(plan.notes),
    }


def text_of(plan: Plan, needed: Estimate, path: Path) -> str:
    """A plan as a reader wants to see it: budget, memory, and the exact files and command."""
    parts = [_block("budget", "\n".join(_line(k, v) for k, v in plan.budget().items()))]
    parts.append(_block("memory, estimated", "\n".join(needed.lines())))
    texts: Mapping[str, Any] = {f"{JOB}/{SCRIPT}": job_script(plan), **files(plan, path)}
    parts += [_block(str(path / name), text.rstrip()) for name, text in texts.items()]
    command = submit_words(plan, path, plan.spec.run) or ["kubectl", "apply", "-f", RAYJOB]
    parts.append(_block("submit", shlex.join(command)))
    return "\n\n".join(parts)


def _line(name: str, value: object) -> str:
    return f"{name:<28} {value:,}" if isinstance(value, int) else f"{name:<28} {value}"


def _block(title: str, text: str) -> str:
    return f"# --- {title}\n{text}"
