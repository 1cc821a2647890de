"""Runs small searches of `evolve` in processes of their own, and reads what they leave."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import shell

BROKEN = str(Path(__file__).parent / "evolution")
COMMAND = [*shell.COMMAND[:-1], "evolve"]
NAME = "evolve-small-seed7"
SIZES = (
    *("--dataset", "small", "--agent", "telling", "--seed", 7, "--generations", 2),
    *("--population", 2, "--episodes", 3, "--train-scenarios", 1),
    *("--test-episodes", 6, "--final-train-scenarios", 1),
)
DIRECTION = "keep sage's rollout; try sage.evolve and sage.save, sage.chain and the sage reward"
FILES = ("evolve.yaml", "trials.jsonl", "champion.yaml", "lineage.json", "result.json")


def broken() -> dict[str, str]:
    """The environment that adds the plugin of broken operators."""
    path = [BROKEN, str(Path(BROKEN).parent), *filter(None, [os.environ.get("PYTHONPATH")])]
    return {
        "PYTHONPATH": os.pathsep.join(path),
        "AUTO_RESEARCH_PLUGINS": "small_world,broken_operators",
    }


def evolve(
    out: Path,
    *arguments: object,
    direction: str = DIRECTION,
    at_start: Callable[[], None] | None = None,
    **more: str,
) -> subprocess.CompletedProcess[str]:
    command = [*COMMAND, *SIZES, "--direction", direction, "--out", out, *arguments]
    return subprocess.run(
        [*map(str, command)],
        capture_output=True,
        text=True,
        env=shell.environment(**more),
        preexec_fn=at_start,
    )


def files(out: Path) -> dict[str, bytes]:
    """What must be equal in equal searches."""
    kept = {name: (out / NAME / name).read_bytes() for name in FILES}
    packed = sorted((out / NAME / "transcripts").iterdir())
    return kept | {path.name: path.read_bytes() for path in packed}


def trials(out: Path) -> list[dict[str, Any]]:
    return [*map(json.loads, (out / NAME / "trials.jsonl").read_bytes().splitlines())]
