"""A run's job: its record on disk, and that it is handed in once, however often it is asked for.

The record is written before the job is handed in and completed after, so a kill in between is
seen: the cluster is asked whether it has a job of that name. A run that has ended badly is handed
in again with `resume`, as a new try of the same folder: the code and the settings stay those that
it began with, and the trainer goes on from its checkpoint.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from auto_research.agent_research.durable import WriterLock, write_atomic
from auto_research.benchmarks.base import Json
from auto_research.errors import UserError
from auto_research.plugins import Registry
from auto_research.training.backends import JOB_RECORD
from auto_research_openrlhf.folder import write_folder
from auto_research_openrlhf.kuberay import RAYJOB, rayjob
from auto_research_openrlhf.launchers import ENDED, Launcher, Ray, Slurm, Standing
from auto_research_openrlhf.plan import JOB, Plan
from auto_research_openrlhf.render import SBATCH, ray_submit, sbatch_script

# Of a spec: what may differ between a run and its resumption, which keeps its own code.
_FREE = ("code_hash", "version")
AGAIN = "--resume hands it in again; it goes on from its checkpoint"


@dataclass
class Job:
    """The job of one run. `record` is what `job.json` holds."""

    path: Path
    record: dict[str, Any]

    @staticmethod
    def open(path: Path) -> Job:
        """The job of a run's directory. Raises UserError if there is none."""
        try:
            record = json.loads((path / JOB_RECORD).read_bytes())
            return Job(path, dict(record))
        except (OSError, ValueError):
            raise UserError(
                "no job is there", where=str(path), mend="give the directory of a training"
            ) from None

    @property
    def launcher(self) -> Launcher | None:
        """None where jobs are only rendered."""
        if self.record["launcher"] == "ray":
            return Ray(self.record["address"])
        return Slurm() if self.record["launcher"] == "slurm" else None

    @property
    def handle(self) -> str:
        """Of the last try; empty if it was never handed in, or not known to have been."""
        tries = self.record["tries"]
        return str(tries[-1]["handle"]) if tries else ""

    def standing(self) -> Standing:
        """How the last try stands. Raises UserError if the cluster does not answer."""
        launcher = self.launcher
        if launcher is None:
            return Standing("unknown", f"apply {self.path / RAYJOB} by hand")
        if not self.handle:
            return Standing("waiting", "not handed in yet")
        return launcher.standing(self.handle)

    def to_json(self, standing: Standing) -> dict[str, Json]:
        """What `jobs status` tells."""
        return {
            "job": self.handle or self.record["run"],
            "state": standing.state,
            "message": standing.message,
            "launcher": self.record["launcher"],
            "run_dir": str(self.path),
            "tries": len(self.record["tries"]),
            "storage": self.record["spec"]["storage"],
            "program": self.record["program"],
            "budget": self.record["budget"],
        }

    def save(self) -> None:
        text = json.dumps(self.record, indent=1, sort_keys=True, ensure_ascii=False)
        write_atomic(self.path / JOB_RECORD, text.encode() + b"\n")

    def hand_in(self, launcher: Launcher) -> None:
        """A new try, or the last one where it is not known whether it was handed in."""
        tries = self.record["tries"]
        if not tries or tries[-1]["handle"]:
            number = len(tries) + 1
            run = self.record["run"]
            tries.append({"name": run if number == 1 else f"{run}-{number}", "handle": ""})
            self.save()
        name = tries[-1]["name"]
        # Slurm knows a job by its name and the try by its number.
        known = self.record["run"] if isinstance(launcher, Slurm) else name
        handle = launcher.find(known)
        if handle is None or handle in [earlier["handle"] for earlier in tries[:-1]]:
            words = [word.replace(_NAME, name) for word in self.record["submit"]]
            handle = launcher.submit(words, self.path)
        tries[-1]["handle"] = handle
        self.save()


_NAME = "{name}"  # in the words that hand a job in: this try's


def submit(plan: Plan, registry: Registry, *, resume: bool) -> tuple[Job, Standing]:
    """See that the plan's job is at the cluster, or, once it has ended well, was.

    Raises UserError if another training stands in the run's directory, or if the job has failed
    and `resume` was not asked for.
    """
    path = plan.request.path.absolute()
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(f"cannot make the directory: {error.strerror}", where=str(path)) from None
    lock = WriterLock(path)
    try:
        job = _recorded(plan, registry, path)
        launcher = job.launcher
        if launcher is None:
            return job, job.standing()
        if not job.handle:
            job.hand_in(launcher)
            return job, job.standing()
        standing = job.standing()
        if standing.state in ("waiting", "running", "succeeded"):
            return job, standing
        if not resume:
            raise UserError(
                f"the job {job.handle} has {standing.state}"
                if standing.state in ENDED
                else f"the cluster knows nothing of the job {job.handle}",
                where=str(path),
                mend=AGAIN,
            )
        job.hand_in(launcher)
        return job, job.standing()
    finally:
        lock.release()


def _recorded(plan: Plan, registry: Registry, path: Path) -> Job:
    """The run's job as it stands, or a new one with its folder written."""
    fresh = record_of(plan, path)
    if (path / JOB_RECORD).exists():
        job = Job.open(path)
        _check_same(job.record, fresh, path)
        return job
    if strangers := {p.name for p in path.iterdir()} - {".lock", JOB, SBATCH, RAYJOB, "fresh"}:
        raise UserError(
            f"the directory holds {sorted(strangers)[0]} and no job", where=str(path), mend="--out"
        )
    # What a kill left half written is written again; the record comes last.
    for left in (path / "fresh", path / JOB):
        shutil.rmtree(left, ignore_errors=True)
    write_folder(plan, registry, path / "fresh")
    (path / "fresh").rename(path / JOB)
    for name, text in files(plan, path).items():
        write_atomic(path / name, text.encode())
    job = Job(path, fresh)
    job.save()
    return job


def record_of(plan: Plan, path: Path) -> dict[str, Any]:
    """A new record: everything that defines the training, and no try yet."""
    cluster = plan.config.cluster
    data = {"train": _digest(plan.train.path)}
    if plan.evaluation is not None:
        data["evaluation"] = _digest(plan.evaluation.path)
    return {
        "backend": "openrlhf",
        "run": plan.spec.run,
        "launcher": cluster.launcher,
        "address": cluster.address,
        "program": plan.module,
        "method": plan.method.name,
        "seed": plan.spec.seed,
        "budget": plan.budget(),
        "spec": plan.spec.to_json(),
        "flags": dict(plan.flags),
        "data": data,
        "submit": submit_words(plan, path),
        "tries": [],
    }


def submit_words(plan: Plan, path: Path, name: str = _NAME) -> list[str]:
    """The command that hands the job in, as words; empty for a launcher that only renders."""
    launcher = plan.config.cluster.launcher
    if launcher == "ray":
        return ray_submit(plan, str(path / JOB), name)
    return ["sbatch", "--parsable", str(path / SBATCH)] if launcher == "slurm" else []


def files(plan: Plan, path: Path) -> Mapping[str, str]:
    """What stands beside the job's folder, by name."""
    launcher = plan.config.cluster.launcher
    if launcher == "slurm":
        return {SBATCH: sbatch_script(plan, path)}
    return {RAYJOB: rayjob(plan, plan.spec.run)} if launcher == "kuberay" else {}


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _check_same(old: Mapping[str, Any], new: Mapping[str, Any], path: Path) -> None:
    """Raises UserError naming what a run's record and what is asked for now differ in."""
    ours, theirs = _defining(old), _defining(new)
    differing = [key for key in sorted({*ours, *theirs}) if ours.get(key) != theirs.get(key)]
    if differing:
        told = ", ".join(f"{k}: {ours.get(k)} -> {theirs.get(k)}" for k in differing[:3])
        raise UserError(
            f"another training stands there: {told}"
            + (f" and {len(differing) - 3} more" if len(differing) > 3 else ""),
            where=str(path),
            mend="go on with its own settings, or choose another --name",
        )


def _defining(record: Mapping[str, Any]) -> dict[str, str]:
    found = {key: record[key] for key in ("launcher", "program")}
    for part in ("spec", "flags", "data"):
        found |= {f"{part}.{key}": value for key, value in record[part].items()}
    for key in _FREE:
        found.pop(f"spec.{key}", None)
    return {key: json.dumps(value, sort_keys=True) for key, value in found.items()}
