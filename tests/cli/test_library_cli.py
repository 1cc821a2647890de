"""`auto-research library` in a process of its own: results on stdout, one line for each mistake."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from auto_research.agent_research.library import Create, Retire, Revise
from auto_research.agent_research.skill import Provenance, Usage, function_skill, text_skill
from auto_research.agent_research.store import SkillStore

MAIN = """
import sys
from auto_research.cli.library import library_app
from auto_research.errors import UserError
try:
    library_app(sys.argv[1:])
except UserError as error:
    print(f"error: {error}", file=sys.stderr)
    sys.exit(2)
"""
STACK = function_skill(
    'def stack(a, b):\n    """Put a on b."""\n    return go("stack", a, b)\n',
    provenance=Provenance("run-1", "s1", "t1", "put [red] on b", 1),
)
BETTER = function_skill(
    'def stack(a, b):\n    """Put a on b."""\n    clear(b)\n    return go("stack", a, b)\n'
)
RULE = text_skill("Look before you leap.", name="[red]look")


def library(*arguments: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", MAIN, *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
    )


def printed(*arguments: object) -> Any:
    return json.loads(library(*arguments, "--json").stdout)


@pytest.fixture
def run(tmp_path: Path) -> Path:
    with SkillStore(tmp_path / "run" / "library.sqlite") as store:
        store.apply(
            [Create(STACK), Create(RULE), Revise(STACK.id, BETTER)],
            usage={BETTER.id: Usage(retrieved=9, called=7, helped=5, harmed=2)},
        )
    return tmp_path / "run"


def test_list_shows_what_is_in_use_and_all_shows_the_retired_too(run: Path) -> None:
    done = library("list", run)
    assert done.returncode == 0
    assert BETTER.id in done.stdout
    assert "[red]look" in done.stdout
    assert STACK.id not in done.stdout
    assert [row["id"] for row in printed("list", run)] == [RULE.id, BETTER.id]
    rows = printed("list", run, "--all")
    assert [row["id"] for row in rows] == [STACK.id, RULE.id, BETTER.id]
    assert [rows[2][key] for key in ("version", "called", "helped", "harmed")] == [2, 7, 5, 2]


def test_a_library_file_may_be_named_itself_and_an_empty_one_is_an_empty_array(
    run: Path, tmp_path: Path
) -> None:
    assert len(printed("list", run / "library.sqlite")) == 2
    SkillStore(tmp_path / "empty").close()
    assert printed("list", tmp_path / "empty") == []


def test_show_prints_record_line_of_versions_and_source(run: Path) -> None:
    done = library("show", run, STACK.id[:9])
    assert done.returncode == 0
    for part in (STACK.id, BETTER.id, "retired", "put [red] on b", "run run-1", STACK.source):
        assert part in done.stdout
    shown = printed("show", run, BETTER.id)
    assert shown["parents"] == [STACK.id]
    assert len(shown["versions"]) == 2


def test_diff_is_against_the_parent_or_a_named_skill(run: Path) -> None:
    done = library("diff", run, BETTER.id)
    assert done.stdout.splitlines()[:2] == [
        f"--- {STACK.id} stack version 1",
        f"+++ {BETTER.id} stack version 2",
    ]
    assert "+    clear(b)" in done.stdout.splitlines()
    assert "-Look before you leap." in library("diff", run, BETTER.id, RULE.id).stdout


def test_export_then_import_gives_the_same_library(run: Path, tmp_path: Path) -> None:
    done = library("export", run, tmp_path / "out")
    assert done.returncode == 0
    assert len(done.stdout.splitlines()) == 3
    assert done.stderr == "exported: 3\n"
    assert library("import", tmp_path / "copy", tmp_path / "out").returncode == 0
    assert printed("list", tmp_path / "copy", "--all") == printed("list", run, "--all")
    again = printed("import", tmp_path / "copy" / "library.sqlite", tmp_path / "out")
    assert [row["result"] for row in again] == ["known"] * 3


def test_import_into_a_library_leaves_the_skills_that_are_there(run: Path, tmp_path: Path) -> None:
    library("export", run, tmp_path / "out")
    with SkillStore(tmp_path / "mine.sqlite") as store:
        store.apply([Create(RULE), Retire(RULE.id, "")])
    rows = printed("import", tmp_path / "mine.sqlite", tmp_path / "out")
    assert [row["result"] for row in rows] == ["imported", "known", "imported"]
    kept = {row["id"]: row["status"] for row in printed("list", tmp_path / "mine.sqlite", "--all")}
    assert kept == {STACK.id: "retired", RULE.id: "retired", BETTER.id: "active"}


def test_one_skill_may_be_exported_alone(run: Path, tmp_path: Path) -> None:
    assert len(printed("export", run, tmp_path / "out", "--id", RULE.id[:8])) == 1
    assert [path.name for path in (tmp_path / "out").iterdir()] == [f"red-look-{RULE.id}"]


def test_refused_skills_are_named_and_the_others_imported(run: Path, tmp_path: Path) -> None:
    library("export", run, tmp_path / "out")
    (tmp_path / "out" / f"stack-{STACK.id}" / "skill.py").write_text("import os\n")
    done = library("import", tmp_path / "copy.sqlite", tmp_path / "out")
    assert done.returncode == 1
    assert "defines no function" in done.stdout
    assert "refused: 1" in done.stderr
    assert len(printed("list", tmp_path / "copy.sqlite", "--all")) == 2


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (("list", "{here}/nowhere"), "no skill library here"),
        (("list", "{here}"), "no skill library here"),
        (("list", "{here}/notes.txt"), "is not a skill library"),
        (("show", "{here}/run", "zzz"), "no skill zzz"),
        (("show", "{here}/run", ""), "3 skills begin with ''"),
        (("diff", "{here}/run", RULE.id), "has no parent"),
        (("export", "{here}/run", "{here}/run"), "not empty"),
        (("import", "{here}/run", "{here}/nowhere"), "cannot import"),
    ],
)
def test_a_mistake_is_one_line_on_stderr_and_exit_2(
    arguments: tuple[str, ...], line: str, run: Path, tmp_path: Path
) -> None:
    (tmp_path / "notes.txt").write_text("words " * 300)
    done = library(*(part.format(here=tmp_path) for part in arguments))
    assert (done.returncode, done.stdout) == (2, "")
    assert line in done.stderr
    assert len(done.stderr.splitlines()) == 1
