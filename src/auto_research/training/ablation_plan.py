"""The plan of an ablation: every arm with its method, config and budget, checked before it starts.

Arms that train may differ in one thing each, not in how much they train: rollouts, optimizer steps
and tokens at most are those of the reference, or there is no plan.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from auto_research import strict_yaml
from auto_research.agent_research.agents.micro.options import Limits
from auto_research.agent_research.config import code_hash
from auto_research.agent_research.durable import write_atomic
from auto_research.agent_research.method import Method, load_method
from auto_research.benchmarks.base import Json
from auto_research.errors import UserError, did_you_mean
from auto_research.plugins import Registry
from auto_research.training.ablation_paper import ArmSource, Paper, Preset
from auto_research.training.local_config import LocalConfig, read_local_config
from auto_research.training.trainable import first_chains, require_trainable

PLAN = "ablation.yaml"  # in an ablation's directory


@dataclass(frozen=True)
class Budget:
    """What the second stage may take: episodes sampled, steps, and words written at most."""

    rollouts: int = 0
    optimizer_steps: int = 0
    max_tokens: int = 0


@dataclass(frozen=True)
class Arm:
    """One arm, ready: `config` is what a training gets, `model_of` whose model it tests instead.

    `sft_steps` are those of the first stage on the expert's demonstrations, `own_steps` those on
    the model's own successes after it. `code` is a hash of what runs it.
    """

    name: str
    source: ArmSource
    method: Method
    config: LocalConfig
    budget: Budget
    code: str
    sft_steps: int = 0
    own_steps: int = 0

    @property
    def model_of(self) -> str:
        return self.source.model_of

    def told(self) -> dict[str, Json]:
        """It as plain data, for the plan's file and for `--dry-run`."""
        config = self.config.model_dump(mode="json")
        return {
            "title": self.source.title,
            "model_of": self.model_of,
            "sft_steps": self.sft_steps,
            "own_steps": self.own_steps,
            **asdict(self.budget),
            "test_episodes": self.config.test.episodes,
            "code": self.code,
            "method": self.method.to_dict(),
            "config": {key: config[key] for key in config if key not in ("device", "threads")},
        }


@dataclass(frozen=True)
class Plan:
    """Arms times seeds under one directory."""

    paper: Paper
    benchmark: str
    arms: Sequence[Arm]
    seeds: Sequence[int]
    directory: Path

    def arm(self, name: str) -> Arm:
        """The arm of that name."""
        return next(arm for arm in self.arms if arm.name == name)

    def told(self) -> dict[str, Json]:
        """What would be run."""
        return {
            "paper": self.paper.name,
            "benchmark": self.benchmark,
            "directory": str(self.directory),
            "seeds": list(self.seeds),
            "reference": self.paper.reference,
            "arms": {arm.name: arm.told() for arm in self.arms},
        }

    def begin(self, *, resume: bool) -> None:
        """Write the plan into its directory. Raises UserError if another one stands there.

        Arms and seeds may be added to an ablation; those that it has stay as they were planned.
        """
        kept: Any = {"benchmark": self.benchmark, "arms": {}}
        try:
            self.directory.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            why = f"cannot make the ablation's directory: {error.strerror}"
            raise UserError(why, where=str(self.directory)) from None
        path = self.directory / PLAN
        if resume and path.exists():
            kept = strict_yaml.read(path)
        now = json.loads(json.dumps({arm.name: arm.told() for arm in self.arms}))
        changed = ["benchmark"] if kept["benchmark"] != self.benchmark else []
        for name, arm in now.items():
            old = kept["arms"].get(name, arm)
            changed += [f"{name}.{key}" for key in arm if arm[key] != old.get(key)]
        if changed:
            raise UserError(
                f"the ablation was begun with another {', '.join(changed)}",
                where=str(path),
                mend="go on with its own settings, or start another one without --resume",
            )
        kept["arms"] = {**kept["arms"], **now}
        write_atomic(path, strict_yaml.dump(kept).encode())


def make_plan(
    paper: Paper,
    registry: Registry,
    *,
    arms: Sequence[str],
    seeds: Sequence[int],
    directory: Path,
    config: Mapping[str, Json],
    config_path: Path | None = None,
    benchmark: str = "",
) -> Plan:
    """Check everything. `config` is what all trainings have in common.

    Raises UserError: an arm that is not known, cannot train, tests a model that is not planned,
    or would train more or less than the reference.
    """
    for name in arms:
        if name not in paper.arms:
            mend = did_you_mean(name, paper.arms)
            raise UserError(f"unknown arm {name!r}", where="--arms", mend=mend)
        model_of = paper.arms[name].model_of
        if model_of and model_of not in arms:
            raise UserError(
                f"arm {name!r} tests the model of {model_of!r}, which is not among the arms",
                where="--arms",
                mend=f"name {model_of} too",
            )
    reference = paper.arms[paper.reference]
    base = read_local_config(merged(config, reference.config), config_path)
    method = load_method(reference.method, registry, reference.set)
    batch = base.rl.groups * _size(method, registry)
    planned = [
        _arm(name, paper.arms[name], registry, config, config_path, batch)
        for name in paper.arms
        if name in arms
    ]
    _same_budget(planned)
    return Plan(paper, benchmark or paper.benchmark, planned, sorted(seeds), directory)


def chosen(paper: Paper, preset: str, arms: str) -> tuple[Preset, list[str]]:
    """The preset, and the names of the arms: those of a list with commas, or the preset's.

    Raises UserError for a preset that is not known.
    """
    if preset not in paper.presets:
        mend = did_you_mean(preset, paper.presets)
        raise UserError(f"unknown preset {preset!r}", where="--preset", mend=mend)
    found = paper.presets[preset]
    named = [name.strip() for name in arms.split(",") if name.strip()]
    return found, named or list(found.arms or paper.arms)


def merged(base: Mapping[str, Any], change: Mapping[str, Any]) -> dict[str, Any]:
    """`base` with `change` laid over it, mapping by mapping."""
    found = dict(base)
    for key, value in change.items():
        below = found.get(key)
        both = isinstance(value, Mapping) and isinstance(below, Mapping)
        found[key] = merged(below, value) if both else value  # type: ignore[arg-type]
    return found


def _arm(
    name: str,
    source: ArmSource,
    registry: Registry,
    base: Mapping[str, Json],
    where: Path | None,
    batch: int,
) -> Arm:
    """The arm, with as many groups an iteration as make `batch` rollouts, unless it says."""
    method = load_method(source.method, registry, source.set)
    common = read_local_config(base, where)
    code = code_hash(type(operator) for operator in method.build(registry).by_slot().values())
    if source.model_of:
        return Arm(name, source, method, common, Budget(), code)
    require_trainable(method, registry, shared_library=True)
    size = _size(method, registry)
    changes = dict(source.config)
    if "groups" not in changes.get("rl", {}):
        if batch % size:
            raise UserError(
                f"arm {name!r} cannot have the reference's {batch} rollouts an iteration: its "
                f"groups have {size}",
                where="rl.groups",
                mend="choose a number of groups that all chain lengths divide",
            )
        changes = merged(changes, {"rl": {"groups": batch // size}})
    share, steps = source.start, common.sft.steps
    if share != type(share)():
        if common.start is not None:
            raise UserError(
                f"arm {name!r} has a start of its own, and the config names one for all",
                where="start",
                mend="leave out `start`, or the arm",
            )
        changes = merged(changes, {"sft": {"steps": max(1, round(steps * share.expert))}})
    config = read_local_config(merged(base, changes), where)
    return Arm(
        name,
        source,
        method,
        config,
        _budget(name, config, method, registry),
        code,
        0 if config.start else config.sft.steps,
        max(1, round(steps * share.own)) if share.own else 0,
    )


def _budget(name: str, config: LocalConfig, method: Method, registry: Registry) -> Budget:
    rl, asked = config.rl, len(first_chains(method, registry))
    if rl.groups % asked and rl.iterations:
        raise UserError(
            f"arm {name!r} has {rl.groups} groups an iteration, and its rollout asks for {asked} "
            "at once",
            where="rl.groups",
            mend=f"choose a multiple of {asked}, or set rollout.groups_per_batch",
        )
    rollouts = rl.iterations * rl.groups * _size(method, registry)
    return Budget(rollouts, rl.iterations * rl.minibatches, rollouts * Limits().words)


def _size(method: Method, registry: Registry) -> int:
    """Episodes of one group. Raises UserError for a rollout that asks for none."""
    chains = first_chains(method, registry)
    if not chains:
        raise UserError(f"method {method.name!r} never trains")
    return chains[0].siblings * len(chains[0].tasks)


def _same_budget(arms: Sequence[Arm]) -> None:
    """Raises UserError unless all that have a second stage train equally much."""
    by_budget: dict[Budget, list[str]] = {}
    for arm in arms:
        if arm.budget != Budget():
            by_budget.setdefault(arm.budget, []).append(arm.name)
    if len(by_budget) > 1:
        told = "; ".join(
            f"{', '.join(names)}: {b.rollouts} rollouts, {b.optimizer_steps} steps, "
            f"{b.max_tokens} tokens at most"
            for b, names in by_budget.items()
        )
        raise UserError(
            f"the arms would not train equally much: {told}",
            mend="give each the same iterations, minibatches and rollouts",
        )
