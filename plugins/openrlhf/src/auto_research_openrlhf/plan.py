"""From what is asked for to what OpenRLHF is told: the flags, and the spec for the nodes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from auto_research.agent_research.agents.llm.options import Limits
from auto_research.agent_research.config import code_hash
from auto_research.agent_research.method import Method
from auto_research.benchmarks.base import Json
from auto_research.errors import UserError, did_you_mean
from auto_research.plugins import Registry
from auto_research.training.backends import TrainRequest
from auto_research.training.trainable import left_out
from auto_research_openrlhf.chains import shape, shaped
from auto_research_openrlhf.config import Config, read
from auto_research_openrlhf.dataset import INPUT, LABEL, Rows, read_rows
from auto_research_openrlhf.flags import Flags, Program
from auto_research_openrlhf.spec import Spec

JOB = "job"  # the folder of a run that travels to the nodes
AGENT, TRAIN, EVALUATION = "agent.py", "train.jsonl", "evaluation.jsonl"  # in it


@dataclass(frozen=True)
class Plan:
    """One training, ready to be checked and rendered."""

    request: TrainRequest
    config: Config
    where: str  # the config file, for messages
    method: Method
    program: Program
    flags: Flags
    derived: Mapping[str, str]  # a flag -> the key of the config that it follows from
    spec: Spec
    train: Rows
    evaluation: Rows | None
    notes: tuple[str, ...] = ()

    @property
    def module(self) -> str:
        """The module that the job runs."""
        return self.config.program or f"openrlhf.cli.{self.program}"

    @property
    def storage(self) -> str:
        """The job's folder on the nodes."""
        return self.spec.storage

    def budget(self) -> dict[str, Json]:
        """What the training may spend at most; equal in trainings that are compared."""
        if self.config.budget is None:
            return {"rows": len(self.train), "epochs": self.flags["train.max_epochs"]}
        asked = self.config.budget
        trajectories = asked.steps * asked.trajectories_per_step
        rows = self.evaluation.tasks() if self.evaluation else 0
        tried = rows * self.config.evaluation.repeats
        times = asked.steps // (self.config.evaluation.every or asked.steps)
        return {
            "steps": asked.steps,
            "trajectories_per_step": asked.trajectories_per_step,
            "trajectories": trajectories,
            "tokens_per_trajectory": asked.tokens_per_trajectory,
            "tokens_at_most": trajectories * asked.tokens_per_trajectory,
            "tokens_per_turn": asked.tokens_per_turn,
            "interactions_per_trajectory": asked.turns,
            "interactions_at_most": trajectories * asked.turns,
            "evaluation_repeats": self.config.evaluation.repeats,
            "evaluation_trajectories": tried,
            "evaluations": times if rows else 0,
        }


@dataclass
class _Flags:
    """Flags as they come together; what the config's own keys say may not be said twice."""

    given: Mapping[str, Any]
    where: str
    flags: dict[str, Any] = field(default_factory=dict)
    derived: dict[str, str] = field(default_factory=dict)

    def set(self, name: str, value: Json, key: str) -> None:
        """A flag that follows from `key`. Raises UserError if `flags` says otherwise."""
        if name in self.given and self.given[name] != value:
            raise UserError(
                f"flags.{name} is {self.given[name]}, but {key} makes it {value}",
                where=self.where,
                mend=f"leave it out of flags, or change {key}",
            )
        self.flags[name] = value
        self.derived[name] = key

    def default(self, name: str, value: Json) -> None:
        """A flag that `flags` may say otherwise."""
        self.flags[name] = self.given.get(name, value)

    def all(self) -> dict[str, Any]:
        return {**self.given, **self.flags}


def made_plan(request: TrainRequest, registry: Registry) -> Plan:
    """The plan of a request. Raises UserError naming the file and key that cannot be."""
    where = str(request.config_path or "config")
    config = read(request.config, where)
    base = request.config_path.parent if request.config_path else Path()
    method = shaped(request.method, config.chains, registry, where=where)
    length, siblings = shape(method, registry)
    train = _rows(base / config.data.train, "data.train", config.stage, request)
    evaluation = None
    if config.data.evaluation is not None:
        path = base / config.data.evaluation
        evaluation = _rows(path, "data.evaluation", config.stage, request)
    _check_agent(config, where)
    storage = f"{config.cluster.storage.rstrip('/')}/{request.name}"
    made = _Flags(config.flags, where)
    if config.stage == "sft":
        _sft_flags(made, config, request, storage, evaluation)
    else:
        _rl_flags(made, config, request, storage, (length, siblings), train, evaluation)
    return Plan(
        request=request,
        config=config,
        where=where,
        method=method,
        program="train_sft" if config.stage == "sft" else "train_ppo_ray",
        flags=made.all(),
        derived=made.derived,
        spec=_spec(request, config, method, (length, siblings), storage, registry),
        train=train,
        evaluation=evaluation,
        notes=tuple(left_out(method, registry)) if config.stage == "rl" else (),
    )


def _check_agent(config: Config, where: str) -> None:
    """Raises UserError for a setting that the agent `llm` has not; `turns` stands in the budget."""
    known = set(Limits.model_fields) - {"interactions"}
    for name in config.agent:
        if name not in known:
            raise UserError(
                f"the agent has no setting {name!r}",
                where=f"{where}: agent",
                mend="it is budget.turns" if name == "interactions" else did_you_mean(name, known),
            )
    try:
        Limits.model_validate(config.agent)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        told = f"bad value for agent.{first['loc'][0]}: {first['msg']}"
        raise UserError(told, where=where) from None


def folder_on_nodes(config: Config, storage: str) -> str:
    """Where the job's folder is to its processes, with a slash; empty for their own directory.

    Ray copies a working directory to every node; a RayJob on Kubernetes has it on a volume.
    """
    return f"{storage}/{JOB}/" if config.cluster.launcher == "kuberay" else ""


def _rows(path: Path, key: str, stage: str, request: TrainRequest) -> Rows:
    if stage == "rl":
        evaluation = key == "data.evaluation"
        return read_rows(path, key=key, benchmark=request.benchmark, evaluation=evaluation)
    if not path.is_file():
        raise UserError(f"{key} is no file", where=str(path), mend="export demonstrations first")
    with path.open("rb") as file:
        return Rows(path, (1,) * sum(1 for _ in file))


def _rl_flags(
    made: _Flags,
    config: Config,
    request: TrainRequest,
    storage: str,
    shape: tuple[int, int],
    train: Rows,
    evaluation: Rows | None,
) -> None:
    budget, (length, siblings) = config.need_budget(), shape
    group = length * siblings
    prompts = _divided(
        budget.trajectories_per_step,
        group,
        f"budget.trajectories_per_step is {budget.trajectories_per_step}, no multiple of a group "
        f"({siblings} siblings x {length} tasks = {group})",
        made.where,
    )
    here = folder_on_nodes(config, storage)
    samples, episodes = _passes(budget.steps * prompts, train, made.where)
    made.set("actor.model_name_or_path", config.model.path, "model.path")
    made.default("actor.num_nodes", config.cluster.nodes)
    made.default("actor.num_gpus_per_node", config.cluster.gpus_per_node)
    made.default("ref.num_nodes", made.flags["actor.num_nodes"])
    made.default("ref.num_gpus_per_node", made.flags["actor.num_gpus_per_node"])
    made.set("rollout.n_samples_per_prompt", group, "chains")
    made.set("rollout.batch_size", prompts, "budget.trajectories_per_step")
    made.default("train.batch_size", budget.trajectories_per_step)
    made.set("data.max_len", budget.tokens_per_trajectory, "budget.tokens_per_trajectory")
    made.set("data.prompt_dataset", f"{here}{TRAIN}", "data.train")
    made.set("data.max_samples", samples, "budget.steps")
    made.set("train.num_episodes", episodes, "budget.steps")
    made.set("data.input_key", INPUT, "data.train")
    made.set("data.label_key", LABEL, "data.train")
    made.set("train.seed", request.seed, "--seed")
    made.set("train.agent_func_path", f"{here}{AGENT}", "the backend")
    made.set("ckpt.path", f"{storage}/checkpoints", "cluster.storage")
    made.set("ckpt.output_dir", f"{storage}/model", "cluster.storage")
    made.set("ckpt.save_steps", config.checkpoint.every, "checkpoint.every")
    # The executor gives advantages, with the estimator an identity (see `preflight`).
    made.default("algo.advantage.estimator", "dr_grpo")
    made.default("algo.kl.init_coef", 0.0)
    if evaluation is not None:
        repeats = config.evaluation.repeats
        made.set("eval.dataset", f"{here}{EVALUATION}", "data.evaluation")
        made.set("eval.n_samples_per_prompt", evaluation.lengths[0] * repeats, "evaluation.repeats")
        made.set("eval.steps", config.evaluation.every or budget.steps, "evaluation.every")
        made.set("eval.temperature", config.evaluation.temperature, "evaluation.temperature")
    if "WANDB_API_KEY" in config.cluster.secrets:
        made.set("logger.wandb.key", "from-environment", "cluster.secrets")
        made.default("logger.wandb.run_name", request.name)


def _sft_flags(
    made: _Flags,
    config: Config,
    request: TrainRequest,
    storage: str,
    evaluation: Rows | None,
) -> None:
    made.set("model.model_name_or_path", config.model.path, "model.path")
    made.set("data.dataset", TRAIN, "data.train")
    # Each row is a list of messages; every reply of the assistant is learned, all else masked.
    made.set("data.input_key", "messages", "data.train")
    made.set("data.multiturn", True, "data.train")
    made.set("data.apply_chat_template", True, "data.train")
    made.default("data.max_len", config.model.context)
    made.default("train.max_epochs", 2)
    made.set("train.seed", request.seed, "--seed")
    made.set("ckpt.path", f"{storage}/checkpoints", "cluster.storage")
    made.set("ckpt.output_dir", f"{storage}/model", "cluster.storage")
    made.set("ckpt.save_steps", config.checkpoint.every, "checkpoint.every")
    if evaluation is not None:
        made.set("eval.dataset", EVALUATION, "data.evaluation")
    if "WANDB_API_KEY" in config.cluster.secrets:
        made.set("logger.wandb.key", "from-environment", "cluster.secrets")
        made.default("logger.wandb.run_name", request.name)


def _divided(whole: int, by: int, what: str, where: str) -> int:
    if whole % by:
        near = max(by, round(whole / by) * by)
        raise UserError(what, where=where, mend=f"{near} would do")
    return whole // by


def _passes(needed: int, train: Rows, where: str) -> tuple[int, int]:
    """How many rows are read, and how often, for `needed` rows in all: exactly so many."""
    if len(train) >= needed:
        return needed, 1
    if needed % len(train):
        raise UserError(
            f"the training needs {needed} rows, no multiple of the {len(train)} of data.train",
            where=where,
            mend=f"build {needed} rows, or change budget.steps",
        )
    return len(train), needed // len(train)


def _spec(
    request: TrainRequest,
    config: Config,
    method: Method,
    shape: tuple[int, int],
    storage: str,
    registry: Registry,
) -> Spec:
    budget = config.budget
    operators = method.build(registry).by_slot().values()
    return Spec(
        run=request.name,
        method=method.to_dict(),
        method_hash=method.content_hash(),
        benchmark=request.benchmark,
        seed=request.seed,
        model=config.model.path,
        chain_length=shape[0],
        siblings=shape[1],
        tokens=budget.tokens_per_trajectory if budget else config.model.context,
        tokens_per_turn=budget.tokens_per_turn if budget else 0,
        turns=budget.turns if budget else 0,
        storage=storage,
        data_dir=str(request.benchmark_options.data_dir or config.benchmark.data_dir),
        unsafe_worlds=request.benchmark_options.unsafe_worlds,
        worlds=config.benchmark.worlds,
        evaluation_split=config.evaluation.split,
        evaluation_repeats=config.evaluation.repeats,
        agent=config.agent,
        version=version("auto-research"),
        code_hash=code_hash([Plan, *map(type, operators)]),
    )
