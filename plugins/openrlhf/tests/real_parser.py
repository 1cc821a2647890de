"""Runs the real command line of an installed OpenRLHF up to its training, with Ray, vLLM and torch
stubbed: its own parser and its own assertions. Standard library only.

    python real_parser.py train_ppo_ray --flag value ...

prints what it made of the flags as JSON, or ends as it ends.
"""

from __future__ import annotations

import importlib
import json
import runpy
import sys
import types
from typing import Any
from unittest.mock import MagicMock

STUBS = {
    "train_ppo_ray": (
        "ray",
        "ray.util",
        "ray.util.placement_group",
        "openrlhf.trainer",
        "openrlhf.trainer.ray",
        "openrlhf.trainer.ray.launcher",
        "openrlhf.trainer.ray.ppo_actor",
        "openrlhf.trainer.ray.ppo_critic",
    ),
    "train_sft": (
        "openrlhf.datasets",
        "openrlhf.datasets.utils",
        "openrlhf.models",
        "openrlhf.trainer",
        "openrlhf.trainer.sft_trainer",
    ),
}


class Captured(Exception):
    """The training would begin now."""


def told(program: str, arguments: list[str]) -> Any:
    """The nested arguments as the program sees them after its own checks."""
    for name in STUBS[program]:
        sys.modules[name] = MagicMock()
    utils = types.ModuleType("openrlhf.utils")
    package = importlib.import_module("openrlhf")
    utils.__path__ = [f"{next(iter(package.__path__))}/utils"]

    def get_strategy(args: Any) -> None:
        raise Captured(args)

    utils.get_strategy = get_strategy  # type: ignore[attr-defined]
    utils.get_tokenizer = MagicMock()  # type: ignore[attr-defined]
    sys.modules["openrlhf.utils"] = utils
    sys.argv = [program, *arguments]
    try:
        runpy.run_module(f"openrlhf.cli.{program}", run_name="__main__")
    except Captured as captured:
        return captured.args[0]
    raise RuntimeError("the program ended without a strategy")


if __name__ == "__main__":
    found = told(sys.argv[1], sys.argv[2:])
    print(json.dumps(found, default=lambda part: vars(part)))
