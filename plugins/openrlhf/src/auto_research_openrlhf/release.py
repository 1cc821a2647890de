"""The command line of the pinned OpenRLHF release, as data; run as a script it writes the snapshot.

Only the standard library, so that it runs where nothing but OpenRLHF is installed:

    pip install --no-deps openrlhf==0.11.2
    python release.py > flags.json

OpenRLHF builds each parser under ``if __name__ == "__main__"``. The statements before it parses
are run here and no others, so that neither Ray nor vLLM nor torch need be there.
"""

from __future__ import annotations

import argparse
import ast
import importlib.util
import itertools
import json
import math
import os
import sys
from datetime import datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

VERSION = "0.11.2"
RAY = "2.55.0"  # what this release pins, as the two below
VLLM = "0.29.0"
DEEPSPEED = "0.19.6"
PROGRAMS = ("train_ppo_ray", "train_sft")


def installed() -> str:
    """The version of OpenRLHF that is installed here; empty if none is."""
    try:
        return version("openrlhf")
    except PackageNotFoundError:
        return ""


def parser_of(program: str) -> argparse.ArgumentParser:
    """The real parser of an installed release, without importing the program itself."""
    found = importlib.util.find_spec("openrlhf")
    if found is None or not found.submodule_search_locations:
        raise ModuleNotFoundError("openrlhf is not installed")
    path = Path(found.submodule_search_locations[0]) / "cli" / f"{program}.py"
    whole = ast.parse(path.read_text(encoding="utf-8"))
    blocks = [b for b in whole.body if isinstance(b, ast.If) and "__main__" in ast.unparse(b.test)]
    body = list(itertools.takewhile(_not_parsing, blocks[0].body))
    names: dict[str, Any] = {"argparse": argparse, "os": os, "datetime": datetime}
    exec(compile(ast.Module(body, []), str(path), "exec"), names)
    parser: argparse.ArgumentParser = names["parser"]
    return parser


def _not_parsing(statement: ast.stmt) -> bool:
    return "parser.parse_args(" not in ast.unparse(statement)


def described(parser: argparse.ArgumentParser) -> dict[str, dict[str, Any]]:
    """Options by name: ``type`` (flag, int, float, str), ``nargs``, ``choices``, ``default``."""
    options: dict[str, dict[str, Any]] = {}
    for action in parser._actions:
        for name in action.option_strings:
            if name in ("-h", "--help"):
                continue
            flag = action.nargs == 0
            kind = "flag" if flag else getattr(action.type, "__name__", "str")
            options[name.lstrip("-")] = {
                "type": kind,
                "nargs": None if flag else action.nargs,
                "choices": None if action.choices is None else list(action.choices),
                "default": _plain(name, action.default),
            }
    return dict(sorted(options.items()))


def _plain(name: str, default: Any) -> Any:
    """A default that JSON can hold and that is the same tomorrow: some names are the clock's."""
    if name.endswith("run_name"):
        return None
    return "inf" if default == math.inf else list(default) if _many(default) else default


def _many(value: Any) -> bool:
    return isinstance(value, list | tuple)


def snapshot() -> str:
    """The options of every program as JSON, an option a line."""
    lines = []
    for program in PROGRAMS:
        options = described(parser_of(program)).items()
        told = ",\n".join(f"{json.dumps(name)}: {json.dumps(option)}" for name, option in options)
        lines.append(f"{json.dumps(program)}: {{\n{told}\n}}")
    programs = ",\n".join(lines)
    return f'{{"version": {json.dumps(installed())}, "programs": {{\n{programs}\n}}}}\n'


if __name__ == "__main__":
    sys.stdout.write(snapshot())
