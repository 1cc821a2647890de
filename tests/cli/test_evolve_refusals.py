"""What `evolve` refuses, and what it makes of operators that break."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import small_world
import yaml
from searching import BROKEN, DIRECTION, NAME, SIZES, broken, evolve, trials

RunCli = Callable[..., Any]  # the fixture of conftest.py: exit code, stdout, stderr


def test_what_breaks_is_reported_with_its_reason_and_never_wins(tmp_path: Path) -> None:
    names = ("raises", "no-number", "dies", "shouts")
    direction = "keep sage, try " + ", try ".join(f"broken.{name}" for name in names)
    sizes = ("--population", 4, "--generations", 1, "--json")
    ended = evolve(tmp_path, *sizes, direction=direction, **broken())
    assert ended.returncode == 0, ended.stderr
    told = json.loads(ended.stdout)  # whatever an operator prints
    assert told["searched"] == "enumeration"
    assert (told["evaluations"]["failed"], told["evaluations"]["distinct"]) == (3, 4)
    assert told["flags"] == ["worker-died"]
    champion = yaml.safe_load((tmp_path / NAME / "champion.yaml").read_text())
    assert champion["update"]["use"] == "broken.shouts"
    reasons = {t["method"]["update"]["use"]: t["reason"] for t in trials(tmp_path)}
    assert reasons["broken.raises"] == "ValueError: broken on purpose"
    assert reasons["broken.no-number"].startswith("ValueError")
    assert reasons["broken.dies"] == "its process died"
    assert any("could not beat random search" in line for line in told["verdict"])


def test_a_search_in_which_everything_fails_says_so(
    tmp_path: Path, cli: RunCli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(BROKEN)
    monkeypatch.setenv("AUTO_RESEARCH_PLUGINS", "small_world,broken_operators")
    direction = "keep sage, try broken.raises, try broken.no-number"
    given = [*SIZES, "--direction", direction, "--out", tmp_path, "--workers", 1]
    ended = cli("evolve", *map(str, given))
    assert ended.code == 2
    assert "every genome of evolution failed, the first one so: ValueError" in ended.err


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("--model", "prompt"), "'prompt' cannot be evolved (--model); known: agent"),
        (("--dataset", "smal"), "unknown benchmark 'smal'; did you mean 'small'?"),
        (("--agent", "serach"), "unknown agent 'serach'; did you mean 'search'?"),
        (("--population", 1), "1 is out of range (--population); from 2"),
        (("--generations", 0), "0 is out of range (--generations)"),
        (("--max-seconds", 0), "0 is out of range (--max-seconds)"),
        (("--direction", "keep sage"), "leaves a single genome"),
        (("--direction", "raise the cost"), "the direction asks for cost up (--direction)"),
        (("--name", "../elsewhere"), "a run's name is no path"),
        (("--resume",), f"there is no run '{NAME}' to resume"),
        (("--out", "/dev/null"), "cannot make the run's directory"),
    ],
)
def test_a_bad_value_is_one_line_and_exit_2(
    cli: RunCli, tmp_path: Path, arguments: tuple[object, ...], told: str
) -> None:
    given = [*SIZES, "--direction", DIRECTION, "--out", tmp_path, *arguments]
    ended = cli("evolve", *map(str, given), plugins=[small_world])
    assert ended.code == 2
    lines = [text for text in ended.err.splitlines() if text.startswith("error")]
    assert len(lines) == 1
    assert told in lines[0]
    assert list(tmp_path.iterdir()) == []


def test_help_does_not_wait_for_the_sampler() -> None:
    script = (
        "import sys; from auto_research.cli.main import main\n"
        "try: main(['evolve', '--help'])\n"
        "except SystemExit: pass\n"
        "print('optuna' in sys.modules, file=sys.stderr)"
    )
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert ended.stderr.splitlines()[-1] == "False"
