"""What is checked before anything is submitted; each refusal is one line that says the mend."""

from __future__ import annotations

import importlib.util
import os
import re
from pathlib import Path

from auto_research.agent_research.catalog import find
from auto_research.plugins import Registry
from auto_research_openrlhf.constraints import RL, SFT, refusal
from auto_research_openrlhf.flags import check_flags
from auto_research_openrlhf.memory import Estimate, estimate
from auto_research_openrlhf.plan import Plan

EXECUTOR = "auto_research_openrlhf.executor.agent"
_FULLEST = 0.97  # of a GPU's memory; an estimate above is sure to fail


def check(plan: Plan, registry: Registry) -> Estimate:
    """Raises UserError for the first thing that is wrong. The memory estimate otherwise."""
    check_flags(plan.config.flags, plan.program, where=f"{plan.where}: flags")
    for test in SFT if plan.program == "train_sft" else RL:
        test(plan)
    find("benchmark", plan.request.benchmark, registry.benchmarks, where="--benchmark")
    _files(plan)
    return _memory(plan)


def _files(plan: Plan) -> None:
    """The executor can be imported, and what the nodes read is there, where it can be seen."""
    if plan.program == "train_ppo_ray" and importlib.util.find_spec(EXECUTOR) is None:
        raise refusal(
            plan,
            f"the agent file cannot be imported: there is no {EXECUTOR}",
            "install auto-research-openrlhf again",
        )
    cluster, spec = plan.config.cluster, plan.spec
    for name in cluster.secrets:
        if cluster.launcher == "slurm" and not os.environ.get(name):
            raise refusal(
                plan,
                f"cluster.secrets names {name}, which is not set here",
                f"export {name} first; sbatch hands it on",
            )
    if spec.data_dir and cluster.same_files and cluster.launcher != "kuberay":
        root = Path(spec.data_dir)
        inside = root / "data" if spec.benchmark.startswith("appworld") else root
        if not os.access(inside, os.R_OK | os.X_OK):
            raise refusal(
                plan,
                f"no readable data of {spec.benchmark} at {inside}",
                "set benchmark.data_dir; if only nodes see it, cluster.same_files: false",
            )
    if cluster.launcher == "kuberay":
        _kubernetes(plan)


def _kubernetes(plan: Plan) -> None:
    kuberay = plan.config.cluster.kuberay
    if kuberay is None:
        raise refusal(plan, "cluster.kuberay is missing", "say at least cluster.kuberay.image")
    if not re.fullmatch(r"[a-z0-9]([-a-z0-9]{0,45}[a-z0-9])?", plan.spec.run):
        raise refusal(
            plan,
            f"Kubernetes takes no RayJob named {plan.spec.run!r}",
            "--name with at most 47 small letters, digits and '-'",
        )
    if not f"{plan.storage}/".startswith(f"{kuberay.mount.rstrip('/')}/"):
        raise refusal(
            plan,
            f"cluster.storage is not under cluster.kuberay.mount, {kuberay.mount}",
            "only what is mounted is seen by every pod",
        )
    if not kuberay.claim:
        raise refusal(plan, "cluster.kuberay.claim is missing", "name the volume for storage")
    if plan.config.cluster.secrets and not kuberay.secret:
        raise refusal(
            plan, "cluster.secrets needs cluster.kuberay.secret", "name the Secret that holds them"
        )


def _memory(plan: Plan) -> Estimate:
    needed = estimate(plan.config, plan.flags, plan.program)
    if needed.peak > _FULLEST * needed.gpu:
        largest = max((*needed.trainer, *needed.engine), key=lambda part: part.size)
        raise refusal(
            plan,
            f"a GPU would need {needed.peak / 2**30:.0f} GiB of its {needed.gpu / 2**30:.0f} "
            f"(most of it: {largest.name}, {largest.size / 2**30:.0f} GiB)",
            _MENDS.get(largest.name, "more GPUs"),
        )
    if plan.program == "train_ppo_ray" and needed.cache_tokens < plan.spec.tokens:
        raise refusal(
            plan,
            f"an engine's KV cache holds {needed.cache_tokens} tokens, a trajectory has up to "
            f"{plan.spec.tokens}",
            "a larger vllm.gpu_memory_utilization or vllm.tensor_parallel_size",
        )
    return needed


_MENDS = {
    "logits": "a larger ds.ring_attn_size, or a smaller budget.tokens_per_trajectory",
    "activations": "actor.gradient_checkpointing_enable, or a larger ds.ring_attn_size",
    "Adam and fp32 weights": "ds.adam_offload, more GPUs, or a higher ds.zero_stage",
    "weights": "ds.zero_stage: 3, or more GPUs",
    "engine's KV cache": "vllm.enable_sleep with ds.enable_sleep, or less gpu_memory_utilization",
    "engine's weights": "a larger vllm.tensor_parallel_size",
}
