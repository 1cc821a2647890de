"""What a training's numbers must satisfy: what OpenRLHF asserts, and what it takes in silence.

It asserts some of it minutes into a job, on nodes that wait. The rest it takes without a word
and trains something else: a group that is cut elsewhere, a reward that is scaled twice, a last
batch that is short.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from auto_research.errors import UserError
from auto_research_openrlhf.flags import value_of
from auto_research_openrlhf.plan import Plan

# Rewards reach OpenRLHF as advantages; what would work on them again must be as it stands here.
_IDENTITY: dict[str, tuple[Any, str]] = {
    "algo.advantage.gamma": (1, "the executor's advantage belongs to every token alike"),
    "reward.normalize_enable": (False, "rewards come as advantages already"),
    "reward.overlong_buffer_len": (None, "a penalty would act on advantages"),
    "reward.stop_properly_penalty_coef": (None, "a penalty would act on advantages"),
    "reward.remote_url": (None, "the executor gives the reward"),
    "reward.model_name_or_path": (None, "the executor gives the reward"),
    "algo.dynamic_filtering_enable": (False, "filtering makes budgets unequal"),
    "rollout.vllm_generate_batch_size": (None, "sampling ahead makes budgets unequal"),
    "algo.kl.use_loss": (False, "without a reference model there is no KL"),
}


def _at(plan: Plan, name: str) -> Any:
    return value_of(plan.flags, name, plan.program)


def refusal(plan: Plan, what: str, mend: str) -> UserError:
    return UserError(what, where=plan.where, mend=mend)


def _identity(plan: Plan) -> None:
    estimator = _at(plan, "algo.advantage.estimator")
    if estimator != "dr_grpo":
        raise refusal(
            plan,
            f"algo.advantage.estimator is {estimator}, which would scale the executor's "
            "advantages again or cut groups elsewhere",
            "dr_grpo, which leaves them as they are",
        )
    for name, (value, reason) in _IDENTITY.items():
        if name == "algo.kl.use_loss" and float(_at(plan, "algo.kl.init_coef")) > 0:
            continue
        if _at(plan, name) != value:
            said = "leave it out" if value in (None, False) else f"set it to {value}"
            raise refusal(plan, f"flags.{name} is {_at(plan, name)}: {reason}", said)
    low, high = _at(plan, "reward.clip_range")
    if not low <= -4 <= 4 <= high:
        raise refusal(
            plan,
            f"reward.clip_range is {low} {high}, which would clip advantages",
            "-10 10",
        )


def _groups(plan: Plan) -> None:
    spec = plan.spec
    if spec.siblings < 2:
        raise refusal(plan, "a group of one learns nothing", "chains.siblings: 2 or more")
    if wrong := [n for n in plan.train.lengths if n != spec.chain_length]:
        raise refusal(
            plan,
            f"data.train has a chain of {wrong[0]} tasks, the method's have {spec.chain_length}",
            "build it for this chain length, or set chains.length",
        )
    lengths = plan.evaluation.lengths if plan.evaluation else ()
    if len(set(lengths)) > 1:
        raise refusal(
            plan,
            f"data.evaluation has chains of {min(lengths)} and of {max(lengths)} tasks; all get "
            "the same number of samples",
            "build it with chains of one length",
        )


def _batches(plan: Plan) -> None:
    budget = plan.config.need_budget()
    whole, batch = budget.trajectories_per_step, int(_at(plan, "train.batch_size"))
    if batch < 1 or whole % batch:
        raise refusal(
            plan,
            f"flags.train.batch_size is {batch}, of {whole} trajectories a step some would be left",
            f"a divisor of {whole}",
        )
    prompts, rows = int(_at(plan, "rollout.batch_size")), int(_at(plan, "data.max_samples"))
    if rows % prompts:
        raise refusal(
            plan,
            f"{rows} rows a pass are no multiple of {prompts} rows a step; the last step is short",
            f"build a multiple of {prompts} rows",
        )
    _micro_batches(plan, batch)
    world = _ranks(plan)
    made = whole // int(_at(plan, "rollout.micro_batch_size"))
    if made < world:
        raise refusal(
            plan,
            f"{made} micro batches of rollouts a step for {world} trainer processes",
            "more trajectories a step, or a smaller flags.rollout.micro_batch_size",
        )


def _micro_batches(plan: Plan, batch: int) -> None:
    micro, world = int(_at(plan, "train.micro_batch_size")), _ranks(plan)
    if batch % (micro * world):
        raise refusal(
            plan,
            f"a train batch of {batch} is no multiple of {micro} (train.micro_batch_size) x "
            f"{world} trainer processes",
            f"a multiple of {micro * world}",
        )


def _ranks(plan: Plan) -> int:
    """Trainer processes with data of their own."""
    if plan.program == "train_sft":
        gpus = plan.config.cluster.gpus
    else:
        gpus = int(_at(plan, "actor.num_nodes")) * int(_at(plan, "actor.num_gpus_per_node"))
    split = int(_at(plan, "ds.ring_attn_size")) * int(_at(plan, "ds.tensor_parallel_size"))
    if split < 1 or gpus % split:
        raise refusal(
            plan,
            f"{gpus} GPUs are no multiple of ds.ring_attn_size x ds.tensor_parallel_size = {split}",
            f"a divisor of {gpus}",
        )
    return gpus // split


def _gpus(plan: Plan) -> None:
    cluster = plan.config.cluster
    nodes, each = int(_at(plan, "actor.num_nodes")), int(_at(plan, "actor.num_gpus_per_node"))
    engines, parallel = (
        _at(plan, "vllm.num_engines"),
        int(_at(plan, "vllm.tensor_parallel_size")),
    )
    if not engines:
        raise refusal(plan, "flags.vllm.num_engines is not set", "chains are run by vLLM engines")
    model = plan.config.model
    if parallel < 1 or model.heads % parallel or parallel > cluster.gpus_per_node:
        raise refusal(
            plan,
            f"vllm.tensor_parallel_size is {parallel}",
            f"a divisor of the model's {model.heads} heads, at most {cluster.gpus_per_node}, the "
            "GPUs of a node",
        )
    colocated = bool(_at(plan, "train.colocate_all"))
    asynchronous = bool(_at(plan, "train.async_enable"))
    if colocated and not asynchronous:
        if nodes * each != engines * parallel:
            raise refusal(
                plan,
                f"colocated, {nodes} x {each} trainer GPUs must be {engines} engines x {parallel} "
                "GPUs each",
                f"vllm.num_engines: {nodes * each // parallel}",
            )
        asked = nodes * each
    else:
        asked = nodes * each + engines * parallel
    if asked > cluster.gpus:
        raise refusal(
            plan,
            f"{asked} GPUs are asked for, the cluster has {cluster.gpus}",
            "fewer engines, or cluster.nodes",
        )


def _modes(plan: Plan) -> None:
    asynchronous, sleep = _at(plan, "train.async_enable"), _at(plan, "vllm.enable_sleep")
    if asynchronous and sleep:
        raise refusal(
            plan,
            "train.async_enable and vllm.enable_sleep exclude each other",
            "leave out one of them",
        )
    if _at(plan, "train.partial_rollout_enable") and not asynchronous:
        raise refusal(plan, "train.partial_rollout_enable needs train.async_enable", "set both")
    if sleep and not _at(plan, "train.colocate_all"):
        raise refusal(
            plan,
            "vllm.enable_sleep without train.colocate_all is ignored",
            "set train.colocate_all too, or leave it out",
        )
    if float(_at(plan, "algo.kl.init_coef")) > 0:
        for part in ("num_nodes", "num_gpus_per_node"):
            if _at(plan, f"ref.{part}") != _at(plan, f"actor.{part}"):
                raise refusal(
                    plan,
                    f"with KL and colocation ref.{part} must be actor.{part}",
                    f"leave out flags.ref.{part}",
                )


def _lengths(plan: Plan) -> None:
    budget, model = plan.config.need_budget(), plan.config.model
    if budget.tokens_per_trajectory > model.context:
        raise refusal(
            plan,
            f"budget.tokens_per_trajectory is {budget.tokens_per_trajectory}, the model takes "
            f"{model.context} tokens",
            "no more than model.context",
        )
    if budget.tokens_per_turn >= budget.tokens_per_trajectory:
        raise refusal(
            plan,
            f"budget.tokens_per_turn is {budget.tokens_per_turn}, as long as a whole trajectory",
            f"less than {budget.tokens_per_trajectory}",
        )


def _evaluation(plan: Plan) -> None:
    steps, evaluation = plan.config.need_budget().steps, plan.config.evaluation
    if plan.evaluation is None:
        return
    if evaluation.every and steps % evaluation.every:
        raise refusal(
            plan,
            f"evaluation.every is {evaluation.every}: the last of {steps} steps is not evaluated",
            f"a divisor of {steps}",
        )
    if len(plan.evaluation) > int(_at(plan, "data.max_samples")):
        raise refusal(
            plan,
            f"OpenRLHF cuts both files at data.max_samples = {_at(plan, 'data.max_samples')}, and "
            f"data.evaluation has {len(plan.evaluation)} rows",
            "evaluate on fewer rows, or train on more",
        )


def _sft_shape(plan: Plan) -> None:
    cluster = plan.config.cluster
    if cluster.launcher != "slurm" and cluster.nodes > 1:
        raise refusal(plan, "SFT on several nodes runs under Slurm only", "cluster.nodes: 1")
    if int(_at(plan, "data.max_len")) > plan.config.model.context:
        raise refusal(
            plan,
            f"data.max_len is {_at(plan, 'data.max_len')}, the model takes "
            f"{plan.config.model.context} tokens",
            "no more than model.context",
        )
    batch = int(_at(plan, "train.batch_size"))
    _micro_batches(plan, batch)
    if len(plan.train) < batch:
        raise refusal(
            plan,
            f"data.train has {len(plan.train)} rows, a batch {batch}",
            "a smaller train.batch_size",
        )


Test = Callable[[Plan], None]
RL: tuple[Test, ...] = (_identity, _groups, _lengths, _modes, _gpus, _batches, _evaluation)
SFT: tuple[Test, ...] = (_sft_shape,)
