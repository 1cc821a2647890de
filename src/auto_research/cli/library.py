"""`auto-research library`: look into a skill library, and exchange skills as Agent Skills."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from auto_research.benchmarks.base import Json
from auto_research.cli.output import AsJson, print_json, print_rows
from auto_research.errors import UserError

if TYPE_CHECKING:
    from auto_research.agent_research.library import LibraryView
    from auto_research.agent_research.skill import Skill

library_app = typer.Typer(no_args_is_help=True, help="The skills of a run.")

Library = Annotated[
    Path, typer.Argument(metavar="PATH", help="A run's directory, or a library file.")
]
SkillId = Annotated[str, typer.Argument(metavar="ID", help="A skill's id, or how it begins.")]


@library_app.command("list")
def list_skills(
    path: Library,
    retired_too: Annotated[bool, typer.Option("--all", help="Retired skills too.")] = False,
    as_json: AsJson = False,
) -> None:
    """Every skill with its version and record, in order of creation."""
    rows = [
        _row(skill)
        for skill in _read(path).skills.values()
        if retired_too or skill.status != "retired"
    ]
    columns = ("id", "name", "kind", "status", "version", "called", "helped", "harmed")
    print_rows(rows, columns, as_json=as_json)


@library_app.command("show")
def show_skill(path: Library, skill_id: SkillId, as_json: AsJson = False) -> None:
    """One skill: its record, its line of versions, its source."""
    from auto_research.agent_research.codec import skill_to_json

    view = _read(path)
    skill = _find(view, skill_id)
    line = [other for other in view.skills.values() if other.lineage == skill.lineage]
    versions = [f"{other.id} version {other.version} {other.status}" for other in line]
    if as_json:
        print_json({**skill_to_json(skill), "versions": versions})
        return
    origin, usage = skill.provenance, skill.usage
    record = {
        "id": skill.id,
        "name": skill.name,
        "kind": skill.kind,
        "signature": skill.signature,
        "status": skill.status,
        "version": str(skill.version),
        "parents": ", ".join(skill.parents),
        "written": f"run {origin.run}, scenario {origin.scenario}, task {origin.task}, "
        f"attempt {origin.attempt}",
        "query": origin.query,
        "usage": f"retrieved {usage.retrieved}, called {usage.called}, helped {usage.helped}, "
        f"harmed {usage.harmed}",
        "versions": ("\n" + " " * 11).join(versions),
    }
    for key, value in record.items():
        if value:
            print(f"{key:<10} {value}")
    print(f"\n{skill.source}")


@library_app.command("diff")
def diff_skills(
    path: Library,
    skill_id: SkillId,
    other_id: Annotated[
        str | None,
        typer.Argument(metavar="[OTHER]", help="What to compare with (default: its parents)."),
    ] = None,
) -> None:
    """What a version changed, as a unified diff against its parents or OTHER."""
    from difflib import unified_diff

    view = _read(path)
    skill = _find(view, skill_id)
    parents = (_find(view, parent) for parent in skill.parents)
    others = [_find(view, other_id)] if other_id is not None else list(parents)
    if not others:
        raise UserError(f"skill {skill.id} has no parent", mend="name the skill to compare with")
    for other in others:
        lines = unified_diff(
            other.source.splitlines(),
            skill.source.splitlines(),
            f"{other.id} {other.name} version {other.version}",
            f"{skill.id} {skill.name} version {skill.version}",
            lineterm="",
        )
        for line in lines:
            print(line)


@library_app.command("export")
def export_library(
    path: Library,
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A new or empty folder.")],
    ids: Annotated[
        list[str] | None,
        typer.Option("--id", metavar="ID", help="Only this skill; may be given again."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Write every skill, retired ones too, as a folder of Agent Skills; print the folders."""
    from auto_research.agent_research.exchange import export_skills

    view = _read(path)
    wanted = [_find(view, skill_id).id for skill_id in ids] if ids else None
    folders = [str(written) for written in export_skills(view, folder, wanted)]
    if as_json:
        print_json(folders)
    else:
        for written in folders:
            print(written)
    print(f"exported: {len(folders)}", file=sys.stderr)


@library_app.command("import")
def import_library(
    path: Annotated[
        Path,
        typer.Argument(
            metavar="PATH", help="A run's directory, or a library file; made if absent."
        ),
    ],
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A folder of Agent Skills.")],
    as_json: AsJson = False,
) -> None:
    """Add the skills of a folder; those already there stay as they are; exit 1 if any is bad."""
    from auto_research.agent_research.exchange import import_skills
    from auto_research.agent_research.library import Create
    from auto_research.agent_research.store import SkillStore

    report = import_skills(folder)
    with SkillStore(_file(path)) as store:
        known = store.view().skills.keys()
        store.apply([Create(skill) for skill in report.skills])
    rows: list[dict[str, Json]] = [
        {**_row(skill), "result": "known" if skill.id in known else "imported", "reason": ""}
        for skill in report.skills
    ]
    rows += [
        {"path": _printable(place), "result": "refused", "reason": reason}
        for place, reason in report.refused
    ]
    print_rows(rows, ("id", "name", "result", "path", "reason"), as_json=as_json)
    if report.refused:
        print(f"refused: {len(report.refused)}", file=sys.stderr)
        raise typer.Exit(1)


def _file(path: Path) -> Path:
    """The library file that PATH means."""
    from auto_research.agent_research.store import LIBRARY_FILE

    is_file = path.is_file() or (not path.exists() and path.suffix != "")
    return path if is_file else path / LIBRARY_FILE


def _read(path: Path) -> LibraryView:
    from auto_research.agent_research.store import SkillStore

    with SkillStore(_file(path), create=False) as store:
        return store.view()


def _find(view: LibraryView, beginning: str) -> Skill:
    """The only skill whose id begins so. Raises UserError."""
    from auto_research.errors import did_you_mean

    found = [skill for skill in view.skills.values() if skill.id.startswith(beginning)]
    if not found:
        raise UserError(f"no skill {beginning}", mend=did_you_mean(beginning, view.skills))
    if len(found) > 1:
        ids = ", ".join(skill.id for skill in found[:5])
        raise UserError(f"{len(found)} skills begin with {beginning!r}", mend=f"be exact: {ids}")
    return found[0]


def _row(skill: Skill) -> dict[str, Json]:
    return {
        "id": skill.id,
        "name": skill.name,
        "kind": skill.kind,
        "status": skill.status,
        "version": skill.version,
        "signature": skill.signature,
        "lineage": skill.lineage,
        "parents": list(skill.parents),
        "retrieved": skill.usage.retrieved,
        "called": skill.usage.called,
        "helped": skill.usage.helped,
        "harmed": skill.usage.harmed,
    }


def _printable(path: Path) -> str:
    """A path as text that any terminal takes, whatever bytes it holds."""
    return str(path).encode("utf-8", "backslashreplace").decode()
