"""The frame of the command line: what each kind of failure looks like from outside."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from auto_research.agent_research.operators import LibraryUpdate, Operator
from auto_research.hookspecs import hookimpl

COMMAND = [sys.executable, "-c", "from auto_research.cli.main import main; main()"]
RunCli = Callable[..., Any]  # the fixture of conftest.py: exit code, stdout, stderr
LISTS = ("plugins", "methods", "operators", "benchmarks")


class Hoard(LibraryUpdate):
    """Keeps everything, for ever."""

    name = "test.hoard"
    citation = "arXiv 0000.00000"
    summary = "keeps everything"


class Stranger:
    @hookimpl
    def register_operators(self) -> Sequence[type[Operator]]:
        return [Hoard]

    @hookimpl
    def register_methods(self) -> Sequence[dict[str, str]]:
        return [
            {
                "name": "hoarder",
                "update": "test.hoard",
                "retrieval": "none",
                "reward": "outcome",
                "rollout": "none",
            }
        ]


def shell(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, **environment}
    return subprocess.run([*COMMAND, *arguments], capture_output=True, text=True, env=env)


def broken(folder: Path, source: str) -> dict[str, str]:
    """An environment in which the plugin module `crashing` has that source."""
    (folder / "crashing.py").write_text(source)
    return {"PYTHONPATH": str(folder), "AUTO_RESEARCH_PLUGINS": "crashing"}


@pytest.mark.parametrize("command", LISTS)
def test_every_list_prints_an_array_and_nothing_else_with_json(cli: RunCli, command: str) -> None:
    ended = cli(command, "list", "--json", plugins=[Stranger()])
    assert ended.code == 0
    rows = json.loads(ended.out)
    assert isinstance(rows, list)
    assert all("name" in row for row in rows)


@pytest.mark.parametrize("command", LISTS)
def test_every_list_prints_a_table_without(cli: RunCli, command: str) -> None:
    ended = cli(command, "list")
    assert ended.code == 0
    assert "name" in ended.out


def test_operators_and_methods_tell_slot_citation_and_plugin(cli: RunCli) -> None:
    rows = json.loads(cli("operators", "list", "--json", plugins=[Stranger()]).out)
    row = next(row for row in rows if row["name"] == "test.hoard")
    assert row["slot"] == "update"
    assert row["citation"] == "arXiv 0000.00000"
    assert row["plugin"] == "Stranger"
    methods = json.loads(cli("methods", "list", "--json", plugins=[Stranger()]).out)
    assert next(m for m in methods if m["name"] == "hoarder")["update"] == "test.hoard"
    assert "arXiv 0000.00000" in cli("operators", "list", plugins=[Stranger()]).out


def test_showing_an_operator_tells_its_notes_and_settings(cli: RunCli) -> None:
    [shown] = json.loads(cli("operators", "show", "recent", "--json").out)
    assert shown["settings"]["top_k"] == {"default": 3, "minimum": 1, "type": "integer"}
    assert (
        "Keeps everything, for ever."
        in cli("operators", "show", "test.hoard", plugins=[Stranger()]).out
    )
    assert len(json.loads(cli("operators", "show", "none", "--json").out)) == 3


def test_a_shown_method_can_be_saved_and_read_back(cli: RunCli, tmp_path: Path) -> None:
    shown = cli("methods", "show", "raw-trace", "--set", "retrieval.top_k=5")
    file = tmp_path / "mine.yaml"
    file.write_text(shown.out)
    again = cli("methods", "show", str(file))
    assert again.out == shown.out
    assert json.loads(cli("methods", "show", str(file), "--json").out)["retrieval"]["top_k"] == 5


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (("methods", "show", "reakt"), "error: unknown method 'reakt'; did you mean 'react'?"),
        (("operators", "show", "recnt"), "error: unknown operator 'recnt'; did you mean 'recent'?"),
        (
            ("methods", "show", "react", "--set", "updat=none"),
            "error: unknown slot 'updat' (--set updat=none); did you mean 'update'?",
        ),
    ],
)
def test_bad_input_is_one_line_on_stderr_and_exit_2(
    cli: RunCli, arguments: tuple[str, ...], line: str
) -> None:
    ended = cli(*arguments)
    assert ended.code == 2
    assert ended.out == ""
    assert [text for text in ended.err.splitlines() if text.startswith("error")] == [line]
    assert "Traceback" not in ended.err


@pytest.mark.parametrize(
    "arguments",
    [("methods", "shw"), ("nothing",), ("methods", "list", "--jsn"), ("methods", "show")],
)
def test_a_wrong_command_or_option_is_exit_2_without_a_traceback(
    cli: RunCli, arguments: tuple[str, ...]
) -> None:
    ended = cli(*arguments)
    assert ended.code == 2
    assert "Traceback" not in ended.err


def test_help_and_version_work(cli: RunCli) -> None:
    assert "methods" in cli("--help").out
    assert cli("--version").out.strip().count(".") == 2


def test_a_bug_keeps_its_traceback_and_shows_no_locals(tmp_path: Path) -> None:
    environment = broken(
        tmp_path,
        "from auto_research.hookspecs import hookimpl\n"
        "class Odd:\n"
        "    def __call__(self, options): ...\n"
        "    @property\n"
        "    def __doc__(self):\n"
        "        api_key = 'sk-' + 'secret'\n"
        "        raise RuntimeError('a bug')\n"
        "@hookimpl\n"
        "def register_benchmarks(): return {'odd': Odd()}\n",
    )
    ended = shell("benchmarks", "list", **environment)
    assert ended.returncode == 1
    assert "Traceback" in ended.stderr
    assert "a bug" in ended.stderr
    assert "sk-secret" not in ended.stderr


@pytest.mark.parametrize("source", ["import no_such_module_anywhere", "raise SystemExit(0)"])
def test_the_command_line_works_with_a_crashing_plugin(tmp_path: Path, source: str) -> None:
    environment = broken(tmp_path, source)
    assert shell("--help", **environment).returncode == 0
    listed = shell("plugins", "list", "--json", **environment)
    assert listed.returncode == 0
    row = next(row for row in json.loads(listed.stdout) if row["name"] == "crashing")
    assert row["status"] == "broken"
    assert "warning: plugin 'crashing': cannot be loaded" in listed.stderr
    methods = shell("methods", "list", "--json", **environment)
    assert "react" in {row["name"] for row in json.loads(methods.stdout)}
    strict = shell("--strict", "methods", "list", "--json", **environment)
    assert strict.returncode == 2
    assert strict.stdout == ""
    assert "error: plugins with problems: " in strict.stderr
    assert "crashing" in strict.stderr.splitlines()[-1]


def test_strict_lets_sound_plugins_pass(cli: RunCli) -> None:
    ended = cli("--strict", "methods", "list", "--json")
    assert ended.code == 0, ended.err
    assert ended.err == ""


def test_a_method_of_a_broken_plugin_is_listed_with_its_problem(cli: RunCli) -> None:
    class Lost:
        @hookimpl
        def register_methods(self) -> Sequence[dict[str, str]]:
            return [
                {
                    "name": "lost",
                    "update": "gone",
                    "retrieval": "none",
                    "reward": "outcome",
                    "rollout": "none",
                }
            ]

    rows = json.loads(cli("methods", "list", "--json", plugins=[Lost()]).out)
    lost = next(row for row in rows if row["name"] == "lost")
    assert "unknown update operator 'gone'" in lost["problem"]
    assert lost["update"] is None


def test_ctrl_c_is_exit_130(tmp_path: Path) -> None:
    environment = broken(
        tmp_path, f"import os\nos.kill(os.getpid(), {int(signal.SIGINT)})\nimport this\n"
    )
    ended = shell("methods", "list", **environment)
    assert ended.returncode == 130
    assert ended.stderr == "stopped; a run that had begun goes on with --resume\n"


def test_a_reader_that_goes_away_is_not_an_error_worth_a_traceback() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    try:
        ended = subprocess.run(
            [*COMMAND, "operators", "list", "--json"],
            stdout=writing,
            stderr=subprocess.PIPE,
            text=True,
        )
    finally:
        os.close(writing)
    assert "Traceback" not in ended.stderr
    assert "BrokenPipe" not in ended.stderr


def test_no_colour_reaches_a_pipe() -> None:
    assert "\x1b" not in shell("methods", "list", NO_COLOR="1").stdout
