"""Wrong configs: each is refused in one line that says the mend, before anything is written."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from launch_cases import changed, command, of_launcher, shipped, train, write_config, write_rows

Capsys = pytest.CaptureFixture[str]
BIG, SMALL = "sage-qwen2.5-32b-appworld", "smoke"

# What is wrong: the config, what it changes, and what the message must say: what, and the mend.
WRONG: dict[str, tuple[str, dict[str, Any], str, str]] = {
    "a misspelt flag": (
        SMALL,
        {"flags": {"vllm.num_engine": 1}},
        "no flag --vllm.num_engine ",
        "did you mean 'vllm.num_engines'?",
    ),
    "an abbreviated flag": (
        SMALL,
        {"flags": {"rollout.n_samples": 8, "vllm.num_engines": 1}},
        "no flag --rollout.n_samples ",
        "did you mean 'rollout.n_samples_per_prompt'?",
    ),
    "a flag of another release": (
        SMALL,
        {"flags": {"micro_train_batch_size": 1}},
        "no flag --micro_train_batch_size",
        "did you mean 'train.batch_size'?",
    ),
    "a flag that is no number": (
        SMALL,
        {"flags__actor.adam.lr": "1e-6x"},
        "--actor.adam.lr is '1e-6x'",
        "give a number",
    ),
    "a choice that there is not": (
        SMALL,
        {"flags__ds.param_dtype": "fp8"},
        "--ds.param_dtype is 'fp8'",
        "one of bf16, fp16",
    ),
    "a flag against a key of the config": (
        SMALL,
        {"flags__data.max_len": 4096},
        "flags.data.max_len is 4096, but budget.tokens_per_trajectory makes it 8192",
        "leave it out of flags",
    ),
    "a group of one": (
        SMALL,
        {"chains": {"rollout": "groups.siblings", "length": 2, "siblings": 1}},
        "runs groups of one",
        "--set rollout=NAME",
    ),
    "an indivisible group": (
        SMALL,
        {"budget__trajectories_per_step": 20},
        "no multiple of a group (4 siblings x 2 tasks = 8)",
        "would do",
    ),
    "an indivisible train batch": (
        SMALL,
        {"flags__train.batch_size": 12},
        "train.batch_size is 12, of 16 trajectories a step some would be left",
        "a divisor of 16",
    ),
    "micro batches that do not fill the trainers": (
        BIG,
        {"flags__train.micro_batch_size": 5},
        "no multiple of 5 (train.micro_batch_size) x 8 trainer processes",
        "a multiple of 40",
    ),
    "rows that do not make whole steps": (
        SMALL,
        {"budget__steps": 3},
        "the training needs 6 rows, no multiple of the 4 of data.train",
        "build 6 rows",
    ),
    "chains of another length": (
        SMALL,
        {"chains__length": 1, "budget__trajectories_per_step": 8},
        "data.train has a chain of 2 tasks, the method's have 1",
        "build it for this chain length",
    ),
    "engines that do not take up the GPUs": (
        BIG,
        {"flags__vllm.num_engines": 4},
        "4 x 8 trainer GPUs must be 4 engines x 4 GPUs each",
        "vllm.num_engines: 8",
    ),
    "more tensor parallelism than heads allow": (
        BIG,
        {"flags__vllm.tensor_parallel_size": 3},
        "vllm.tensor_parallel_size is 3",
        "a divisor of the model's 40 heads",
    ),
    "more GPUs than there are": (
        SMALL,
        {"flags__train.colocate_all": False, "flags__vllm.enable_sleep": False},
        "2 GPUs are asked for, the cluster has 1",
        "fewer engines",
    ),
    "sleep and async together": (
        SMALL,
        {"flags__train.async_enable": True},
        "train.async_enable and vllm.enable_sleep exclude each other",
        "leave out one",
    ),
    "an estimator that scales again": (
        SMALL,
        {"flags__algo.advantage.estimator": "group_norm"},
        "algo.advantage.estimator is group_norm",
        "dr_grpo",
    ),
    "a penalty on advantages": (
        SMALL,
        {"flags__reward.overlong_buffer_len": 256},
        "reward.overlong_buffer_len is 256",
        "leave it out",
    ),
    "a filter that makes budgets unequal": (
        SMALL,
        {"flags__algo.dynamic_filtering_enable": True},
        "filtering makes budgets unequal",
        "leave it out",
    ),
    "a reference model of another layout": (
        BIG,
        {"flags__algo.kl.init_coef": 0.01, "flags__ref.num_nodes": 2},
        "ref.num_nodes must be actor.num_nodes",
        "leave out flags.ref.num_nodes",
    ),
    "a data root that is not there": (
        SMALL,
        {"cluster__same_files": True, "benchmark__data_dir": "/nowhere/appworld"},
        "no readable data of appworld-mini at /nowhere/appworld/data",
        "cluster.same_files: false",
    ),
    "a model that does not fit": (
        BIG,
        {"flags__ds.zero_stage": 0},
        "a GPU would need",
        "ds.adam_offload, more GPUs, or a higher ds.zero_stage",
    ),
    "logits that do not fit": (
        BIG,
        {"flags__ds.ring_attn_size": 1, "flags__train.micro_batch_size": 4},
        "most of it: activations",
        "a larger ds.ring_attn_size",
    ),
    "an engine without room for one trajectory": (
        BIG,
        {"flags__vllm.gpu_memory_utilization": 0.2},
        "an engine's KV cache holds",
        "a larger vllm.gpu_memory_utilization",
    ),
    "a trajectory longer than the model": (
        SMALL,
        {"budget__tokens_per_trajectory": 40_000},
        "the model takes 32768 tokens",
        "no more than model.context",
    ),
    "a last step without evaluation": (
        BIG,
        {"evaluation__every": 40},
        "evaluation.every is 40: the last of 75 steps is not evaluated",
        "a divisor of 75",
    ),
    "a secret by value": (
        SMALL,
        {"cluster__env": {"WANDB_API_KEY": "0123456789"}},
        "cluster.env holds the value of WANDB_API_KEY",
        "name it in cluster.secrets",
    ),
    "a secret in a flag": (
        SMALL,
        {"flags__logger.wandb.key": "0123456789"},
        "--logger.wandb.key is a secret by value",
        "name WANDB_API_KEY in cluster.secrets",
    ),
    "a secret in place of a name": (
        SMALL,
        {"cluster__secrets": ["sk-0123456789"]},
        "something that is no variable's name",
        "names only",
    ),
    "an unknown key": (
        SMALL,
        {"budget__step": 3},
        "unknown key 'budget.step'",
        "did you mean 'steps'?",
    ),
    "a missing key": (SMALL, {"budget__turns": None}, "budget.turns is missing", "add it"),
    "a setting that the agent has not": (
        SMALL,
        {"agent": {"ouput": 100}},
        "the agent has no setting 'ouput'",
        "did you mean 'output'?",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_config_is_refused_in_one_line_with_its_mend(
    name: str, tmp_path: Path, capsys: Capsys
) -> None:
    base, changes, what, mend = WRONG[name]
    right = of_launcher(shipped(base), "ray")
    config = write_config(tmp_path, right)  # the datasets that the right one needs
    data = {**changed(right, **changes), "data": {"train": "train.jsonl"}}
    if "evaluation" in name:
        data["data"]["evaluation"] = "evaluation.jsonl"
    write_only(config, data)
    ended = train(capsys, config)
    assert ended.code == 2, name
    assert ended.out == ""
    [line] = ended.err.splitlines()
    assert line.startswith("error: ")
    assert what in line
    assert mend in line
    assert "0123456789" not in ended.err
    assert not (tmp_path / "runs").exists()


def write_only(config: Path, data: dict[str, Any]) -> None:
    from auto_research import strict_yaml

    config.write_text(strict_yaml.dump(data))


def test_there_are_at_least_twenty_of_them() -> None:
    assert len(WRONG) >= 20


def test_the_right_configs_pass(tmp_path: Path, capsys: Capsys) -> None:
    for name in (BIG, SMALL):
        folder = tmp_path / name
        folder.mkdir()
        config = write_config(folder, of_launcher(shipped(name), "ray"))
        assert train(capsys, config, "--dry-run").code == 0


@pytest.mark.parametrize(
    ("arguments", "what", "mend"),
    [
        (["--method", "react"], "its rollout 'none' never trains", ""),
        (["--method", "grasp"], "changes the library only between groups", ""),
        (["--method", "saeg"], "unknown method 'saeg'", "did you mean 'sage'?"),
        (["--backend", "openrhlf"], "unknown backend 'openrhlf'", "did you mean 'openrlhf'?"),
        (["--benchmark", "appworld"], "the chain is of appworld-mini", "--benchmark appworld-mini"),
        (["--set", "config.budget.steps"], "not an override", "config.key.key=value"),
        (["--name", "a/b"], "a run's name is no path", ""),
    ],
)
def test_a_wrong_request_is_refused(
    arguments: list[str], what: str, mend: str, tmp_path: Path, capsys: Capsys
) -> None:
    config = write_config(tmp_path, of_launcher(shipped(SMALL), "ray"))
    ended = train(capsys, config, "--dry-run", *arguments)
    assert ended.code == 2
    assert what in ended.err
    assert mend in ended.err


def test_rows_that_are_no_chains_are_named(tmp_path: Path, capsys: Capsys) -> None:
    config = write_config(tmp_path, of_launcher(shipped(SMALL), "ray"))
    rows = tmp_path / "train.jsonl"
    good = rows.read_text().splitlines()
    for bad, what in (
        ("{", "row 3"),
        ('{"input": "x", "label": "[]"}', "row 3"),
        ('{"input": 7, "label": "{}"}', "row 3"),
    ):
        rows.write_text("\n".join([*good[:2], bad, *good[3:]]) + "\n")
        ended = train(capsys, config, "--dry-run")
        assert (ended.code, what in ended.err) == (2, True)
    write_rows(rows, 4, evaluation=True)
    ended = train(capsys, config, "--dry-run")
    assert "data.train holds a row for evaluation" in ended.err
    rows.unlink()
    assert "data.train cannot be read" in train(capsys, config, "--dry-run").err


def test_no_config_says_where_to_find_one(tmp_path: Path, capsys: Capsys) -> None:
    ended = command(capsys, "train", "--backend", "openrlhf", "--out", tmp_path)
    assert ended.code == 2
    assert "plugins/openrlhf/configs" in ended.err
