"""What is submitted, as text: the job's script, and how each launcher is told to run it."""

from __future__ import annotations

import json
import shlex
from functools import cache
from pathlib import Path
from typing import Any

import jinja2

from auto_research_openrlhf.config import Cluster, Slurm
from auto_research_openrlhf.flags import arguments
from auto_research_openrlhf.plan import JOB, Plan

SCRIPT = "job.sh"  # what is run in the job's folder
SBATCH = "job.sbatch"


@cache
def _templates() -> jinja2.Environment:
    return jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).with_name("templates")),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )


def _rendered(template: str, **values: Any) -> str:
    return _templates().get_template(template).render(**values)


def flag_lines(plan: Plan) -> list[str]:
    """The flags as lines of shell, a flag a line, the resumption first."""
    words, lines = arguments({**plan.flags, "ckpt.load_enable": True}, plan.program), []
    for word in words:
        if word.startswith("--"):
            lines.append(word)
        else:
            lines[-1] += f" {shlex.quote(word)}"
    return lines


def job_script(plan: Plan) -> str:
    """`job.sh`: checks the node, then becomes the trainer. The same for a first and a later try:
    a trainer that finds its checkpoint goes on from it."""
    cluster = plan.config.cluster
    return _rendered(
        "job.sh.j2",
        run=plan.spec.run,
        python=cluster.python,
        secrets=cluster.secrets,
        program=plan.program,
        module=plan.module,
        openrlhf=not plan.config.program,
        gpus_per_node=cluster.gpus_per_node,
        arguments=flag_lines(plan),
    )


def environment(cluster: Cluster) -> dict[str, str]:
    """Variables of every process of the job. The trainer's own defaults, then the config's.

    The trainer names some of them again when it joins Ray, which ends the job unless Ray is told
    that it may.
    """
    return {
        "RAY_OVERRIDE_JOB_RUNTIME_ENV": "1",
        "TOKENIZERS_PARALLELISM": "true",
        "NCCL_DEBUG": "WARN",
        "RAY_ENABLE_ZERO_COPY_TORCH_TENSORS": "1",
        **cluster.env,
    }


def ray_submit(plan: Plan, folder: str, job_id: str, *, address: str = "") -> list[str]:
    """The words of `ray job submit` for the job's folder. Does not wait for the job."""
    cluster = plan.config.cluster
    env = json.dumps({"env_vars": environment(cluster)}, sort_keys=True)
    words = ["ray", "job", "submit", "--address", address or cluster.address]
    words += ["--submission-id", job_id, "--working-dir", folder, "--runtime-env-json", env]
    if plan.program == "train_sft":
        words += ["--entrypoint-num-gpus", str(cluster.gpus_per_node)]
    return [*words, "--no-wait", "--", "bash", SCRIPT]


def sbatch_script(plan: Plan, path: Path) -> str:
    """A batch script that brings Ray up in its allocation, waits for it, and runs the job.

    `path` is the run's directory, on a file system that every node sees.
    """
    cluster = plan.config.cluster
    submit = [word for word in ray_submit(plan, ".", "", address="ADDRESS") if word != "--no-wait"]
    told = {
        "ADDRESS": '"http://127.0.0.1:$DASHBOARD"',
        # A requeued job is a new job to Ray.
        "": '"$SLURM_JOB_NAME-$SLURM_JOB_ID-${SLURM_RESTART_COUNT:-0}"',
    }
    return _rendered(
        "job.sbatch.j2",
        run=plan.spec.run,
        program=plan.program,
        python=cluster.python,
        nodes=cluster.nodes,
        gpus_per_node=cluster.gpus_per_node,
        slurm=cluster.slurm,
        container=_container(cluster.slurm),
        job_dir=shlex.quote(str(path / JOB)),
        log=path / "slurm-%j.log",
        submit=" ".join(told.get(word) or shlex.quote(word) for word in submit),
    )


def _container(slurm: Slurm) -> str:
    """Options of srun for a container (Pyxis), with a space after them."""
    if not slurm.container_image:
        return ""
    words = [f"--container-image={slurm.container_image}"]
    if slurm.container_mounts:
        words.append(f"--container-mounts={slurm.container_mounts}")
    return " ".join([*map(shlex.quote, words), '--container-workdir="$JOB"', ""])
