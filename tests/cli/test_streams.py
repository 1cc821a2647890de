"""What the command line does with streams, arguments and plugins that are not as they should be."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, ClassVar

import pytest
from test_command_line import COMMAND, shell

from auto_research.hookspecs import hookimpl

RunCli = Callable[..., Any]  # the fixture of conftest.py: exit code, stdout, stderr


def fails(options: object) -> Any:
    raise ValueError("on purpose")


def nothing(options: object) -> Any:
    return None


class Futile:
    """A plugin whose benchmark and agent cannot be made."""

    made: ClassVar[Mapping[str, Any]] = {"fails": fails, "nothing": nothing}

    @hookimpl
    def register_benchmarks(self) -> Mapping[str, Any]:
        return self.made

    @hookimpl
    def register_agents(self) -> Mapping[str, Any]:
        return self.made


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
    cli: RunCli, tmp_path: Path, kind: str, command: str, name: str
) -> None:
    word = "dataset" if (command, kind) == ("evolve", "benchmark") else kind
    given = {
        "agent-eval": ("--method", "react"),
        "compare": ("--methods", "react,sage"),
        "evolve": ("--direction", "keep sage's reward, try other updates"),
    }
    where = ("--out", str(tmp_path / "runs"))
    ended = cli(command, *given[command], f"--{word}", name, *where, plugins=[Futile()])
    assert ended.code == 2
    [line] = [text for text in ended.err.splitlines() if text.startswith("error")]
    assert f"{kind} {name!r}" in line and "plugin 'Futile'" in line
    assert "ValueError: on purpose" in line or "NoneType" in line
