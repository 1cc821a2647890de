"""What `compare` refuses before anything is paid."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import small_world
from comparing import FOLDER
from evaluating import Brought

RunCli = Callable[..., Any]  # the fixture of conftest.py: exit code, stdout, stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--seeds", "8..7"), "'8..7' runs backwards (--seeds)"),
        (("--seeds", ""), "'' is no seed (--seeds)"),
        (
            ("--seeds", "1,9999999999999999999"),
            "9999999999999999999 is out of range, 0 to 9223372036854775808 (--seeds)",
        ),
        (("--name", ".."), "a run's name is no path: '..' (--name)"),
        (("--methods", "sage"), "a comparison needs two methods (--methods)"),
        (("--methods", "sage,sage"), "two methods are named 'sage' (--methods)"),
        (("--methods", "sage,raect"), "did you mean 'react'?"),
        (("--baseline", "raect"), "unknown baseline 'raect' (--baseline); did you mean 'react'?"),
        (("--benchmark", "smal"), "unknown benchmark 'smal'; did you mean 'small'?"),
        (("--agent", "serach"), "unknown agent 'serach'; did you mean 'search'?"),
        (("--split", "train"), "unknown value 'train' (--split)"),
        (("--episodes", 0), "0 is out of range (--episodes)"),
        (("--units", 0), "0 is out of range (--units)"),
        (("--workers", 0), "0 is out of range (--workers)"),
        (("--train-seed", -1), "-1 is out of range (--train-seed)"),
        (("--train-scenarios", -1), "out of range (--train-scenarios)"),
        (("--name", "../elsewhere"), "a run's name is no path: '../elsewhere' (--name)"),
        (("--out", "/dev/null"), "cannot make the comparison's directory: Not a directory"),
        (("--resume",), f"there is no run '{FOLDER}' to resume"),
        (("--json", "--csv"), "--json, --csv and --markdown exclude each other"),
        (("some-run",), "give either --methods or the directories of finished runs, not both"),
        (("--methods", ""), "give either --methods or the directories of finished runs"),
    ],
)
def test_a_bad_value_is_one_line_and_exit_2_before_anything_is_paid(
    compare: RunCli, tmp_path: Path, arguments: tuple[object, ...], message: str
) -> None:
    ended = compare(*arguments)
    assert (ended.code, ended.out) == (2, "")
    [line] = [text for text in ended.err.splitlines() if not text.startswith("warning")]
    assert line.startswith("error: ")
    assert message in line
    assert list(tmp_path.iterdir()) == []


def test_a_method_whose_name_no_directory_can_have_is_refused_before_a_dry_run(
    compare: RunCli, tmp_path: Path
) -> None:
    file = tmp_path / "long.yaml"
    slots = "retrieval: none\nupdate: none\nreward: outcome\nrollout: none\n"
    file.write_text(f"name: {'a' * 300}\n{slots}")
    ended = compare("--methods", f"{file},sage", "--dry-run")
    assert (ended.code, ended.out) == (2, "")
    [line] = ended.err.splitlines()
    assert "a method needs a name" in line and len(line) < 400


class Oracle(small_world.TellingAgent):
    """An agent that says that it reads answers."""

    reads_answers = True


def test_an_agent_that_reads_answers_is_refused_before_it_runs(
    compare: RunCli, tmp_path: Path
) -> None:
    oracle = Brought(agents={"oracle": lambda options: Oracle()})
    ended = compare("--agent", "oracle", plugins=[oracle])
    assert (ended.code, ended.out) == (2, "")
    assert "the agent 'oracle' reads the answers" in ended.err
    assert list(tmp_path.iterdir()) == []
    shown = compare("--agent", "oracle", "--seeds", 7, "--unmatched", "--json", plugins=[oracle])
    assert shown.code == 0, shown.err
    content = json.loads(shown.out)
    assert [m["pareto"] for m in content["methods"]] == [False, False]
    assert "warning: not matched, so no fair comparison: the agent of sage reads" in shown.err
    assert len(content["warnings"]) == 2
