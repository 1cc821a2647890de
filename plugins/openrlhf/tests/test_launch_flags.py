"""Flags by exact name, their values, and the estimate of memory against numbers made by hand."""

from __future__ import annotations

from typing import Any

import pytest
from auto_research_openrlhf.config import GIB, read
from auto_research_openrlhf.flags import arguments, check_flags, options
from auto_research_openrlhf.memory import estimate
from launch_cases import RL, changed, shipped

from auto_research.errors import UserError


def test_every_flag_of_the_programs_is_known_with_its_default() -> None:
    known = options("train_ppo_ray")
    assert known["actor.adam.lr"].default == 1e-6
    assert known["algo.advantage.estimator"].choices == (
        "gae",
        "reinforce",
        "rloo",
        "reinforce_baseline",
        "group_norm",
        "dr_grpo",
        "flash_reinforce",
    )
    assert known["train.colocate_all"].type == "flag"
    assert known["actor.adam.betas"].nargs == 2
    assert "data.multiturn" in options("train_sft")
    assert "data.multiturn" not in known


@pytest.mark.parametrize("name", [name for name in options("train_ppo_ray") if len(name) > 12])
def test_no_beginning_of_a_name_passes_for_the_name(name: str) -> None:
    if name[:-1] in options("train_ppo_ray"):
        return
    with pytest.raises(UserError, match="has no flag"):
        check_flags({name[:-1]: 1}, "train_ppo_ray", where="here")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("train.batch_size", 1.5),
        ("train.batch_size", True),
        ("train.batch_size", "8"),
        ("actor.adam.lr", "1e-6"),
        ("actor.adam.betas", [0.9]),
        ("actor.adam.betas", 0.9),
        ("train.colocate_all", 1),
        ("train.colocate_all", "true"),
        ("actor.optim", "sgd"),
        ("ckpt.path", 3),
    ],
)
def test_a_value_of_another_kind_is_refused(name: str, value: object) -> None:
    with pytest.raises(UserError, match=f"--{name}"):
        check_flags({name: value}, "train_ppo_ray", where="here")  # type: ignore[dict-item]


def test_a_command_line_is_made_of_exact_words() -> None:
    flags: dict[str, Any] = {
        "train.colocate_all": True,
        "vllm.enable_sleep": False,
        "actor.adam.lr": 1e-6,
        "actor.adam.betas": [0.9, 0.95],
        "rollout.batch_size": 24,
    }
    check_flags(flags, "train_ppo_ray", where="here")
    assert arguments(flags, "train_ppo_ray") == [
        *("--actor.adam.betas", "0.9", "0.95"),
        *("--actor.adam.lr", "1e-06"),
        *("--rollout.batch_size", "24"),
        "--train.colocate_all",
    ]


def test_memory_of_the_32b_file_by_hand() -> None:
    config = read(shipped(RL[0]), "here")
    flags = {**config.flags, "actor.num_nodes": 4, "actor.num_gpus_per_node": 8}
    found = estimate(config, {**flags, "data.max_len": 28_048}, "train_ppo_ray")
    sizes = {part.name: part.size for part in (*found.trainer, *found.engine)}
    count = 32_763_876_352
    # ZeRO-3 over 32 GPUs: 2 + 2 + 12 bytes a parameter, about 15 GiB a GPU.
    assert sizes["weights"] == sizes["gradients"] == 2 * count / 32
    assert sizes["Adam and fp32 weights"] == 12 * count / 32
    # A ring of 4 leaves 7,012 of 28,048 tokens to a GPU, at 152,064 words of 4 bytes.
    assert sizes["logits"] == 7_012 * 152_064 * 4
    # An engine of 4 GPUs at 0.6 of 80 GiB; K and V, 2 bytes, 64 layers, 2 of 8 heads, 128 wide.
    assert sizes["engine's weights"] == 2 * count / 4
    cache = 0.6 * 80 * GIB - 2 * count / 4
    assert sizes["engine's KV cache"] == cache
    assert found.cache_tokens == int(cache // (2 * 2 * 64 * 2 * 128))
    # Trainer and engine sleep in turn, so the larger of the two counts.
    assert found.apart
    assert found.peak == max(found.trainer_size, found.engine_size)
    awake = estimate(config, {**flags, "vllm.enable_sleep": False}, "train_ppo_ray")
    assert awake.peak == awake.trainer_size + awake.engine_size


@pytest.mark.parametrize(
    ("stage", "weights", "gradients", "adam"),
    [(0, 1, 1, 1), (1, 1, 1, 4), (2, 1, 4, 4), (3, 4, 4, 4)],
)
def test_a_stage_of_zero_shards_what_it_shards(
    stage: int, weights: int, gradients: int, adam: int
) -> None:
    data = changed(shipped("smoke"), cluster__gpus_per_node=4)
    config = read(data, "here")
    flags = {**config.flags, "ds.zero_stage": stage, "actor.num_gpus_per_node": 4}
    sizes = {p.name: p.size for p in estimate(config, flags, "train_ppo_ray").trainer}
    count = config.model.parameters
    assert sizes["weights"] == 2 * count / weights
    assert sizes["gradients"] == 2 * count / gradients
    assert sizes["Adam and fp32 weights"] == 12 * count / adam
