"""Runs small comparisons in processes of their own."""

from __future__ import annotations

import subprocess

from shell import COMMAND, environment

COMPARE = [*COMMAND[:-1], "compare"]
SMALL = ["--benchmark", "small", "--agent", "telling", "--train-scenarios", "2", "--episodes", "6"]
GIVEN = [*SMALL, "--methods", "sage,react", "--seeds", "7,8"]
FOLDER = "compare-small"


def shell(*arguments: object, **more: str) -> subprocess.CompletedProcess[str]:
    command = [*COMPARE, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, env=environment(**more))
