"""How much memory of a GPU a training needs, estimated, with the formula of each part.

P parameters, N GPUs that share the trainer's states, bf16 (2 bytes) throughout but for the
optimizer. The optimizer keeps fp32 weights and two moments: 12 bytes a parameter. Rough by
nature (allocator, fragments and kernels' scratch are left out), meant to refuse what cannot fit.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from auto_research.benchmarks.base import Json
from auto_research_openrlhf.config import GIB, Config
from auto_research_openrlhf.flags import Flags, Program, value_of


@dataclass(frozen=True, slots=True)
class Part:
    """One part of an estimate, in bytes; `formula` with its numbers filled in."""

    name: str
    size: float
    formula: str

    def line(self) -> str:
        """It on one line, in GiB."""
        return f"{self.name:<22} {self.size / GIB:8.1f} GiB  {self.formula}"


@dataclass(frozen=True, slots=True)
class Estimate:
    """What the trainer and the engine hold on one GPU. With `apart`, never at the same time.

    `cache_tokens` is how many tokens the engine's KV cache has room for, in one engine.
    """

    trainer: Sequence[Part]
    engine: Sequence[Part]
    apart: bool
    gpu: float
    cache_tokens: int = 0
    limit: float = 0.0  # of what an engine may take

    @property
    def trainer_size(self) -> float:
        return sum(part.size for part in self.trainer)

    @property
    def engine_size(self) -> float:
        return sum(part.size for part in self.engine)

    @property
    def peak(self) -> float:
        """The most that one GPU must hold at once."""
        both = (self.trainer_size, self.engine_size)
        return max(both) if self.apart else sum(both)

    def lines(self) -> list[str]:
        """It as lines of text."""
        at_once = "whichever is more" if self.apart else "both at once"
        return [
            *(part.line() for part in (*self.trainer, *self.engine)),
            f"{'peak of a GPU':<22} {self.peak / GIB:8.1f} GiB  of {self.gpu / GIB:.0f}: trainer "
            f"{self.trainer_size / GIB:.1f}, engine {self.engine_size / GIB:.1f}; {at_once}",
        ]

    def to_json(self) -> dict[str, Json]:
        """It as plain JSON values, in bytes."""
        parts = (*self.trainer, *self.engine)
        return {
            "parts": {part.name: round(part.size) for part in parts},
            "peak": round(self.peak),
            "gpu": round(self.gpu),
            "cache_tokens": self.cache_tokens,
        }


def estimate(config: Config, flags: Flags, program: Program) -> Estimate:
    """The memory that one GPU needs under `flags`."""
    trainer = _trainer(config, flags, program)
    gpu = config.cluster.gpu_memory_gib * GIB
    if program == "train_sft":
        return Estimate(trainer, (), True, gpu)

    def at(name: str) -> Any:
        return value_of(flags, name)

    colocated = bool(at("train.colocate_all")) and not at("train.async_enable")
    sleeps = bool(at("vllm.enable_sleep")) and bool(at("ds.enable_sleep"))
    engine, tokens, limit = _engine(config, flags)
    return Estimate(trainer, engine, sleeps or not colocated, gpu, tokens, limit)


def _trainer(config: Config, flags: Flags, program: Program) -> list[Part]:
    model = config.model

    def at(name: str) -> Any:
        return value_of(flags, name, program)

    sft = program == "train_sft"
    actors = config.cluster.gpus
    if not sft:
        actors = int(at("actor.num_nodes")) * int(at("actor.num_gpus_per_node"))
    shards = max(1, actors // int(at("ds.tensor_parallel_size")))
    stage, count = int(at("ds.zero_stage")), model.parameters / int(at("ds.tensor_parallel_size"))
    wide = at("ds.grad_accum_dtype") == "fp32"

    def states(name: str, bytes_each: int, sharded: bool) -> Part:
        parts = shards if sharded else 1
        told = f"{bytes_each} B x {count:.4g} / {parts}"
        return Part(name, bytes_each * count / parts, told)

    found = [
        states("weights", 2, stage >= 3),
        states("gradients", 4 if wide else 2, stage >= 2),
    ]
    if not at("ds.adam_offload"):
        found.append(states("Adam and fp32 weights", 12, stage >= 1))
    if not sft and float(at("algo.kl.init_coef")) > 0 and not at("ref.offload"):
        found.append(states("reference weights", 2, stage >= 3))
    checkpointing = at(
        "model.gradient_checkpointing_enable" if sft else "actor.gradient_checkpointing_enable"
    )
    tokens = _tokens(flags, program)
    told = f"{tokens} tokens"
    layer = tokens * (6 * model.hidden + 3 * model.intermediate) * 2
    if checkpointing:
        kept = tokens * model.hidden * model.layers * 2
        found.append(
            Part(
                "activations",
                kept + layer,
                f"2 B x {told} x ({model.hidden} x {model.layers} + one layer)",
            )
        )
    else:
        found.append(Part("activations", layer * model.layers, f"{told} x {model.layers} layers"))
    found.append(
        Part("logits", tokens * model.vocabulary * 4, f"4 B x {told} x {model.vocabulary}")
    )
    return found


def _tokens(flags: Flags, program: Program) -> int:
    """How many tokens one GPU works on at once: a micro batch at full length, over the ring."""

    def at(name: str) -> Any:
        return value_of(flags, name, program)

    if program == "train_ppo_ray" and at("train.dynamic_batch_enable"):
        batch = max(int(at("train.max_tokens_per_gpu")), int(at("data.max_len")))
    else:
        batch = int(at("train.micro_batch_size")) * int(at("data.max_len"))
    return -(-batch // int(at("ds.ring_attn_size")))


def _engine(config: Config, flags: Mapping[str, Any]) -> tuple[list[Part], int, float]:
    model = config.model
    parallel = int(value_of(flags, "vllm.tensor_parallel_size"))
    share = float(value_of(flags, "vllm.gpu_memory_utilization"))
    limit = share * config.cluster.gpu_memory_gib * GIB
    weights = 2 * model.parameters / parallel
    heads = max(1, model.kv_heads // parallel)
    token = 2 * 2 * model.layers * heads * model.head_size
    cache = max(0.0, limit - weights)
    parts = [
        Part("engine's weights", weights, f"2 B x {model.parameters:.4g} / {parallel}"),
        Part(
            "engine's KV cache",
            cache,
            f"{share:g} of the GPU less its weights; {token} B a token "
            f"(2 x 2 B x {model.layers} layers x {heads} heads x {model.head_size})",
        ),
    ]
    return parts, int(cache // token), limit
