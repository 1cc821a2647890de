"""The config file of a training on a cluster: what it may say, and what is wrong with it.

Sizes that make runs comparable (steps, trajectories, tokens, turns, repeats) stand here under
names of their own, and the flags of OpenRLHF that carry them out follow from them (`plan.py`).
Everything else that OpenRLHF can be told goes through `flags`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from auto_research.benchmarks.base import Json
from auto_research.errors import UserError, did_you_mean

GIB = 2**30
# A variable of such a name holds a secret, which belongs in no file.
SECRET = re.compile(r"(?i)(^|_)(key|token|secret|password|passwd|credentials?)($|_)")


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Model(_Part):
    """The model, and its shape as far as memory depends on it (of its config.json)."""

    path: str
    parameters: int = Field(ge=1)
    layers: int = Field(ge=1)
    hidden: int = Field(ge=1)
    intermediate: int = Field(ge=1)
    heads: int = Field(ge=1)
    kv_heads: int = Field(ge=1)
    head_size: int = Field(ge=1)
    vocabulary: int = Field(ge=1)
    context: int = Field(ge=1)


class Slurm(_Part):
    """What sbatch is told. `setup` are lines of shell that every node runs first."""

    partition: str = ""
    account: str = ""
    time: str = "24:00:00"
    gpus: str = "gpus-per-node"  # the option that asks for GPUs, or "gres"
    container_image: str = ""  # with Pyxis: --container-image
    container_mounts: str = ""
    setup: tuple[str, ...] = ()
    port: int = Field(default=6379, ge=1024, le=65535)
    dashboard_port: int = Field(default=8265, ge=1024, le=65535)
    wait: int = Field(default=600, ge=10)  # seconds that the nodes may take to come up


class KubeRay(_Part):
    """What the RayJob is made of. `claim` is a volume that all pods mount at `mount`."""

    image: str
    namespace: str = "default"
    claim: str = ""
    mount: str = "/storage"
    secret: str = ""  # the Kubernetes Secret that holds the variables of `secrets`
    cpus: int = Field(default=64, ge=1)
    memory: str = "512Gi"


class Cluster(_Part):
    """The machines. `storage` is a folder that every node sees; jobs keep everything under it."""

    launcher: Literal["ray", "slurm", "kuberay"]
    storage: str
    nodes: int = Field(ge=1)
    gpus_per_node: int = Field(ge=1)
    gpu_memory_gib: float = Field(gt=0)
    address: str = "http://127.0.0.1:8265"  # of the Ray dashboard
    python: str = "python3"
    same_files: bool = True  # this machine sees the nodes' files under the same paths
    env: dict[str, str] = Field(default_factory=dict)
    secrets: tuple[str, ...] = ()
    slurm: Slurm = Slurm()
    kuberay: KubeRay | None = None

    @property
    def gpus(self) -> int:
        return self.nodes * self.gpus_per_node


class Chains(_Part):
    """The groups. Whatever is set here replaces what the method's own rollout says."""

    rollout: str = ""  # an operator; empty for the method's own
    length: int | None = Field(default=None, ge=1)
    siblings: int | None = Field(default=None, ge=1)


class Budget(_Part):
    """What one training may spend; equal in all that are compared."""

    steps: int = Field(ge=1)
    trajectories_per_step: int = Field(ge=1)
    tokens_per_trajectory: int = Field(ge=1)
    tokens_per_turn: int = Field(ge=1)
    turns: int = Field(ge=1)


class Evaluation(_Part):
    """The evaluation set, tried `repeats` times every `every` steps (default: after the last)."""

    split: Literal["validation", "test"] = "validation"
    repeats: int = Field(default=1, ge=1)
    every: int | None = Field(default=None, ge=1)
    temperature: float = Field(default=0.0, ge=0)


class Data(_Part):
    """Files made by the dataset builder; relative to the config file."""

    train: Path
    evaluation: Path | None = None


class OnNodes(_Part):
    """How the nodes serve the benchmark."""

    data_dir: str = ""
    worlds: int = Field(default=16, ge=1)


class Checkpoints(_Part):
    every: int = Field(default=10, ge=1)


class Config(_Part):
    """The whole file."""

    stage: Literal["rl", "sft"] = "rl"
    program: str = ""  # run this module in place of OpenRLHF's, with the same flags
    model: Model
    cluster: Cluster
    chains: Chains = Chains()
    budget: Budget | None = None
    evaluation: Evaluation = Evaluation()
    data: Data
    benchmark: OnNodes = OnNodes()
    checkpoint: Checkpoints = Checkpoints()
    agent: dict[str, Any] = Field(default_factory=dict)
    flags: dict[str, Any] = Field(default_factory=dict)

    def need_budget(self) -> Budget:
        """The budget. Raises UserError if the file has none."""
        if self.budget is None:
            raise UserError("the config has no budget", mend="say steps, trajectories, tokens")
        return self.budget


def read(data: Mapping[str, Json], where: str) -> Config:
    """The checked config in `data`. Raises UserError naming file and key."""
    if not data:
        raise UserError(
            "a cluster needs a config file",
            where="--config",
            mend="start from one of plugins/openrlhf/configs",
        )
    flags = data.get("flags")
    if isinstance(flags, Mapping):
        data = {**data, "flags": _flat(flags)}
    try:
        # Through JSON, since only there does strict mean no coercion and yet lists for tuples.
        config = Config.model_validate_json(json.dumps(data, allow_nan=False), strict=True)
    except ValidationError as error:
        raise _told(error.errors(include_url=False)[0], where) from None
    _check_secrets(config, where)
    return config


def _flat(flags: Mapping[str, Json], prefix: str = "") -> dict[str, Json]:
    """Flags by dotted name, however deep they are nested."""
    found: dict[str, Json] = {}
    for key, value in flags.items():
        if isinstance(value, Mapping):
            found |= _flat(value, f"{prefix}{key}.")
        else:
            found[f"{prefix}{key}"] = value
    return found


def _told(first: Any, where: str) -> UserError:
    key = ".".join(map(str, first["loc"]))
    if first["type"] == "extra_forbidden":
        return UserError(f"unknown key {key!r}", where=where, mend=_near(first["loc"]))
    if first["type"] == "missing":
        return UserError(f"{key} is missing", where=where, mend="add it")
    return UserError(
        f"bad value for {key!r}: {first['msg']}", where=where, mend="see docs/cluster.md"
    )


def _near(path: tuple[str | int, ...]) -> str:
    """The nearest key that the part of the file has."""
    part: Any = Config
    for step in path[:-1]:
        field = part.model_fields.get(str(step))
        part = _model_of(field.annotation) if field else None
        if part is None:
            return ""
    return did_you_mean(str(path[-1]), part.model_fields)


def _model_of(annotation: Any) -> Any:
    for kind in (annotation, *getattr(annotation, "__args__", ())):
        if isinstance(kind, type) and issubclass(kind, BaseModel):
            return kind
    return None


def _check_secrets(config: Config, where: str) -> None:
    """Raises UserError for what looks like a secret by value."""
    for name in config.cluster.env:
        if SECRET.search(name):
            raise UserError(
                f"cluster.env holds the value of {name}, which looks like a secret",
                where=where,
                mend="name it in cluster.secrets and set it where the job is submitted",
            )
    for name in config.cluster.secrets:
        if not re.fullmatch(r"[A-Z_][A-Z0-9_]*", name):
            raise UserError(
                "cluster.secrets holds something that is no variable's name",
                where=where,
                mend="names only, as in [WANDB_API_KEY]",
            )
    if "logger.wandb.key" in config.flags:
        raise UserError(
            "--logger.wandb.key is a secret by value",
            where=where,
            mend="name WANDB_API_KEY in cluster.secrets",
        )
