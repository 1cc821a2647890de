"""Configs and datasets for tests of the launcher: the shipped files, with rows that fit them."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from auto_research_openrlhf.label import Label

from auto_research import strict_yaml
from auto_research.agent_research.rows import json_line
from auto_research.cli.main import main

# An environment with openrlhf, ray and this project: the one that runs this, or another one.
CLUSTER = Path(os.environ.get("AUTO_RESEARCH_CLUSTER") or sys.prefix).absolute()
CONFIGS = Path(__file__).parents[1] / "configs"
RL = ("sage-qwen2.5-32b-appworld", "sage-qwen2.5-7b-one-node", "smoke")
SFT = "sft-qwen2.5-32b-appworld"
LAUNCHERS = ("ray", "slurm", "kuberay")


class Ended(NamedTuple):
    code: int
    out: str
    err: str


def command(capsys: pytest.CaptureFixture[str], *arguments: object) -> Ended:
    """The command line as a user's shell would see it."""
    capsys.readouterr()
    with pytest.raises(SystemExit) as ended:
        main([str(argument) for argument in arguments])
    code = ended.value.code
    return Ended(code if isinstance(code, int) else 0, *capsys.readouterr())


def train(capsys: pytest.CaptureFixture[str], config: Path, *arguments: object) -> Ended:
    """`train --backend openrlhf` on appworld-mini with runs beside the config."""
    given = ("--backend", "openrlhf", "--benchmark", "appworld-mini", "--config", config)
    return command(capsys, "train", *given, "--out", config.parent / "runs", *arguments)


def write_rows(
    path: Path,
    count: int,
    *,
    benchmark: str = "appworld-mini",
    length: int = 2,
    evaluation: bool = False,
) -> Path:
    """A dataset of `count` chains."""
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = []
    for row in range(count):
        label = Label(
            benchmark=benchmark,
            split="validation" if evaluation else "train",
            seed=7,
            limit=None,
            row=row,
            scenario=f"s{row}",
            tasks=[f"s{row}_{k}" for k in range(length)],
            chain_length=length,
            evaluation=evaluation,
        )
        lines.append(json_line({"input": f"chain {row}", "label": label.text()}))
    path.write_bytes(b"".join(lines))
    return path


def shipped(name: str) -> dict[str, Any]:
    """A shipped config as plain data."""
    data: Any = strict_yaml.read(CONFIGS / f"{name}.yaml")
    return dict(data)


def changed(data: Mapping[str, Any], **changes: Any) -> dict[str, Any]:
    """`data` with values at dotted keys (``budget__steps=3``); None takes a key out."""
    copy: dict[str, Any] = {k: dict(v) if isinstance(v, Mapping) else v for k, v in data.items()}
    for key, value in changes.items():
        *path, last = key.split("__")
        part = copy
        for step in path:
            part = part.setdefault(step, {})
        if value is None:
            part.pop(last, None)
        else:
            part[last] = value
    return copy


def write_config(
    folder: Path, data: Mapping[str, Any], *, benchmark: str = "appworld-mini"
) -> Path:
    """`data` as a config file, beside datasets of the sizes that it needs."""
    data = dict(data)
    if data.get("stage") == "sft":
        (folder / "train.jsonl").write_bytes(json_line({"messages": []}) * 128)
        data["data"] = {"train": "train.jsonl"}
    else:
        chains, budget = data["chains"], data["budget"]
        group = chains["length"] * chains["siblings"]
        rows = max(1, budget["steps"] * budget["trajectories_per_step"] // group)
        write_rows(folder / "train.jsonl", rows, benchmark=benchmark, length=chains["length"])
        tests = folder / "evaluation.jsonl"
        write_rows(tests, min(rows, 4), benchmark=benchmark, length=3, evaluation=True)
        data["data"] = {"train": "train.jsonl", "evaluation": "evaluation.jsonl"}
    path = folder / "config.yaml"
    path.write_text(strict_yaml.dump(data))
    return path


def of_launcher(data: Mapping[str, Any], launcher: str) -> dict[str, Any]:
    """The config for another launcher."""
    image = "registry.example/auto-research:1"
    kuberay = {"image": image, "claim": "storage", "mount": "/shared"}
    return changed(
        data,
        cluster__launcher=launcher,
        cluster__kuberay=kuberay if launcher == "kuberay" else None,
        cluster__same_files=False,
    )
