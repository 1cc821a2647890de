"""What the command line does with streams, arguments and plugins that are not as they should be."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest
from test_command_line import COMMAND, broken, shell

FAILING = """
from auto_research.hookspecs import hookimpl

class Plugin:
    pass

def fails(options):
    raise ValueError("on purpose")

@hookimpl
def register_benchmarks():
    return {"fails": fails, "nothing": lambda options: None}

@hookimpl
def register_agents():
    return {"fails": fails, "nothing": lambda options: None}
"""


def redirected(where: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """A command with its streams as a shell makes them, `where` being the shell's words for it."""
    script = f'exec "$@" {where}'
    command = ["sh", "-c", script, "sh", *COMMAND, *arguments]
    return subprocess.run(command, capture_output=True, text=True)


def test_a_full_disk_is_one_line() -> None:
    ended = redirected(">/dev/full", "operators", "list", "--json")
    assert ended.returncode == 2
    [line] = ended.stderr.splitlines()
    assert line.startswith("error: cannot write: No space left on device")


@pytest.mark.parametrize("where", [">&-", ">&- 2>&-"])
def test_a_stream_that_is_closed_is_not_missed(where: str) -> None:
    ended = redirected(where, "methods", "list")
    assert (ended.returncode, ended.stderr) == (0, "")


def test_what_the_terminal_cannot_show_is_escaped() -> None:
    ended = shell("operators", "show", "sage.learned", PYTHONIOENCODING="ascii")
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.isascii()


def test_json_is_json_in_every_encoding() -> None:
    told = [
        json.loads(shell("operators", "list", "--json", PYTHONIOENCODING=encoding).stdout)
        for encoding in ("ascii", "utf-8")
    ]
    assert told[0] == told[1]


def test_an_argument_that_is_no_text_is_one_line() -> None:
    command = [*map(os.fsencode, COMMAND), b"evolve", b"--direction", b"keep sage \xff"]
    ended = subprocess.run(command, capture_output=True, text=True)
    assert ended.returncode == 2
    [line] = ended.stderr.splitlines()
    assert line.startswith("error: an argument is no text: 'keep sage \\udcff'")


@pytest.mark.parametrize("kind", ["agent", "benchmark"])
@pytest.mark.parametrize("command", ["agent-eval", "compare", "evolve"])
@pytest.mark.parametrize("name", ["fails", "nothing"])
def test_a_plugin_that_makes_nothing_of_its_options_is_named(
    tmp_path: Path, kind: str, command: str, name: str
) -> None:
    word = "dataset" if (command, kind) == ("evolve", "benchmark") else kind
    given = {
        "agent-eval": ("--method", "react"),
        "compare": ("--methods", "react,sage"),
        "evolve": ("--direction", "keep sage's reward, try other updates"),
    }
    where = ("--out", str(tmp_path / "runs"))
    ended = shell(command, *given[command], f"--{word}", name, *where, **broken(tmp_path, FAILING))
    assert ended.returncode == 2
    [line] = [text for text in ended.stderr.splitlines() if text.startswith("error")]
    assert f"{kind} {name!r}" in line and "plugin 'crashing'" in line
    assert "ValueError: on purpose" in line or "NoneType" in line
    assert "Traceback" not in ended.stderr
