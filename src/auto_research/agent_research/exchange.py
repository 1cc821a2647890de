"""Skills as a folder of Agent Skills, so that people and other agents can read and give them.

One folder a skill: `SKILL.md` (YAML front matter, then words), `skill.py` or `text.md` (the
content, byte for byte) and `interface.json` when the skill has one. What comes back is checked as
a stranger's: a skill that is hostile or broken is refused with a reason, the others are taken.
"""

from __future__ import annotations

import json
import os
import re
import stat
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import yaml

from auto_research.agent_research.codec import skill_from_json, skill_to_json
from auto_research.agent_research.library import LibraryView
from auto_research.agent_research.skill import Skill, function_skill, plain_data, text_skill
from auto_research.benchmarks.base import Json
from auto_research.errors import UserError
from auto_research.strict_yaml import parse

MAX_BYTES = 256 * 1024  # of one file of a skill
MAX_NESTING = 32  # levels of an interface
CARD, CODE, TEXT, INTERFACE = "SKILL.md", "skill.py", "text.md", "interface.json"
_ID = re.compile(r"[0-9a-f]{16}\Z")
_FRONT_MATTER = re.compile(r"---\r?\n(.*?\n)---[ \t]*(?:\r?\n|\Z)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class ImportReport:
    """What an import found: the skills in order of creation, and what was refused and why."""

    skills: tuple[Skill, ...]
    refused: tuple[tuple[Path, str], ...]


class _Refused(Exception):
    """Why a folder is not taken as a skill."""


def export_skills(
    view: LibraryView, folder: Path, ids: Iterable[str] | None = None
) -> tuple[Path, ...]:
    """Write the skills of `view` (all, retired ones too, or `ids`), one new folder a skill.

    Returns the folders. Raises UserError if `folder` cannot be written or is not empty, or an id
    is unknown.
    """
    wanted = set(view.skills) if ids is None else set(ids)
    if unknown := sorted(wanted - set(view.skills)):
        raise UserError(f"no skill {unknown[0]} in the library")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if any(folder.iterdir()):
            raise UserError(
                "the folder to export to is not empty", where=str(folder), mend="name a new one"
            )
        chosen = [skill for skill in view.skills.values() if skill.id in wanted]
        return tuple(_write(skill, place, folder) for place, skill in enumerate(chosen))
    except OSError as error:
        raise UserError(f"cannot export: {error.strerror}", where=str(folder)) from None


def import_skills(folder: Path) -> ImportReport:
    """Read the skills in the folders of `folder`, or the one in `folder` itself.

    Raises UserError if `folder` is not a readable folder; single skills are refused in the report.
    """
    try:
        entries = sorted(folder.iterdir())
    except OSError as error:
        raise UserError(f"cannot import: {error.strerror}", where=str(folder)) from None
    if any(entry.name == CARD for entry in entries):
        entries = [folder]
    taken: list[tuple[int, Skill]] = []
    refused: list[tuple[Path, str]] = []
    for entry in entries:
        if entry != folder and entry.is_symlink():
            refused.append((entry, "it is a symbolic link"))
        elif entry.is_dir():
            try:
                place, skill = _read(entry)
                if any(skill.id == other.id for _, other in taken):
                    raise _Refused("it is the same skill as one in another folder")
                taken.append((place, skill))
            except _Refused as reason:
                refused.append((entry, str(reason)))
    # Sorting is stable: skills of equal place, from two exports, stay in order of their folders.
    taken.sort(key=lambda item: item[0])
    return ImportReport(tuple(skill for _, skill in taken), tuple(refused))


def _folder_name(skill: Skill) -> str:
    words = re.sub(r"[^a-z0-9]+", "-", skill.name.lower())[:40].strip("-")
    return f"{words or 'skill'}-{skill.id}"


def _write(skill: Skill, place: int, folder: Path) -> Path:
    content = CODE if skill.kind == "function" else TEXT
    own = folder / _folder_name(skill)
    own.mkdir()
    (own / content).write_bytes(skill.source.encode())
    if skill.interface:
        text = json.dumps(skill.interface, indent=1, ensure_ascii=False)
        (own / INTERFACE).write_bytes(text.encode())
    metadata = {"place": place, **skill_to_json(skill), "parents": list(skill.parents)}
    # Stricter readers of Agent Skills know no flow style, so there must be no [] or {}.
    for key in ("source", "interface") if skill.parents else ("source", "interface", "parents"):
        del metadata[key]
    summary = " ".join(skill.docstring.split())[:1000] or f"{skill.kind} {skill.name}"
    front = yaml.dump(
        {"name": own.name, "description": summary, "metadata": metadata},
        Dumper=_Dumper,
        sort_keys=False,
        allow_unicode=True,
        default_flow_style=False,
        width=100,
    )
    use = f"Call `{skill.signature}` from" if skill.kind == "function" else "Follow"
    (own / CARD).write_bytes(f"---\n{front}---\n\n{use} [{content}]({content}).\n".encode())
    return own


class _Dumper(yaml.SafeDumper):
    """PyYAML, but every reader of YAML 1.2 takes for text what is text here."""

    def ignore_aliases(self, data: object) -> bool:
        return True


def _represent_text(dumper: _Dumper, text: str) -> yaml.ScalarNode:
    # PyYAML leaves 1e5 bare, which YAML 1.2 reads as a number (an id may look so), and loses some
    # line breaks outside double quotes.
    harmless = text[:1].isalpha() and text.replace("\n", "").isprintable()
    style = None if harmless else '"'
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Dumper.add_representer(str, _represent_text)


def _read(folder: Path) -> tuple[int, Skill]:
    """The skill in a folder, and its place in the library it came from. Raises _Refused."""
    front = _front_matter(folder / CARD)
    if front.get("name") != folder.name:
        raise _Refused(f"its name is {front.get('name')!r}, not that of its folder")
    metadata = front.get("metadata")
    if not isinstance(metadata, Mapping):
        raise _Refused(f"{CARD} has no metadata that says which skill it is")
    record = {"parents": [], **metadata}
    place = record.pop("place", None)
    if not isinstance(place, int) or isinstance(place, bool):
        raise _Refused("place is not a whole number")
    record["source"] = _text_of(folder / (TEXT if record.get("kind") == "text" else CODE))
    record["interface"] = _interface(folder / INTERFACE)
    try:
        skill = skill_from_json(plain_data(record))
        _check(skill)
    except ValueError as error:
        raise _Refused(str(error)) from None
    return place, skill


def _check(skill: Skill) -> None:
    """Refuse a skill that is not what it says. Raises _Refused or ValueError."""
    for identity in (skill.id, skill.lineage, *skill.parents):
        if not _ID.match(identity):
            raise _Refused(f"{identity!r} is not the id of a skill")
    if skill.version < 1:
        raise _Refused("versions are counted from 1")
    if not skill.name.isprintable():
        raise _Refused("its name holds control characters")
    if skill.kind == "function":
        derived = function_skill(skill.source, main=skill.name)
    else:
        derived = text_skill(skill.source, name=skill.name)
    if derived.id != skill.id:
        raise _Refused(f"its id {skill.id} is not that of its content, {derived.id}")
    if derived.signature != skill.signature:
        raise _Refused(f"its signature is {derived.signature!r}, not {skill.signature!r}")


def _front_matter(card: Path) -> Mapping[str, Json]:
    found = _FRONT_MATTER.match(_text_of(card))
    if found is None:
        raise _Refused(f"{CARD} has no front matter between two lines of ---")
    try:
        data = parse(found[1], where=CARD)
    except UserError as error:
        raise _Refused(str(error)) from None
    if not isinstance(data, Mapping):
        raise _Refused(f"the front matter of {CARD} is not a mapping")
    return data


def _interface(path: Path) -> Json:
    if not os.path.lexists(path):
        return {}
    text = _text_of(path)
    try:
        return _shallow(json.loads(text, object_pairs_hook=_unique), MAX_NESTING)
    except RecursionError:
        raise _Refused(f"{INTERFACE} nests deeper than {MAX_NESTING} levels") from None
    except ValueError as error:
        raise _Refused(f"{INTERFACE} is not JSON: {error}") from None


def _unique(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise _Refused(f"{INTERFACE} has a key twice")
    return found


def _shallow(value: Json, levels: int) -> Json:
    if levels == 0:
        raise _Refused(f"{INTERFACE} nests deeper than {MAX_NESTING} levels")
    if isinstance(value, dict | list):
        for item in value.values() if isinstance(value, dict) else value:
            _shallow(item, levels - 1)
    return value


def _text_of(path: Path) -> str:
    """The text of a regular file that is no link, at most MAX_BYTES long. Raises _Refused."""
    # The checks are made on the open file, so that nothing can be swapped in between; opening
    # without waiting keeps a named pipe from holding the import up.
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    try:
        descriptor = os.open(path, flags)
        try:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                raise _Refused(f"{path.name} is not a regular file")
            with open(descriptor, "rb", closefd=False) as file:
                data = file.read(MAX_BYTES + 1)
        finally:
            os.close(descriptor)
    except OSError as error:
        link = path.is_symlink()
        reason = "is a symbolic link" if link else f"cannot be read: {error.strerror}"
        raise _Refused(f"{path.name} {reason}") from None
    if len(data) > MAX_BYTES:
        raise _Refused(f"{path.name} is larger than {MAX_BYTES // 1024} KiB")
    try:
        return data.decode()
    except UnicodeDecodeError:
        raise _Refused(f"{path.name} is not UTF-8 text") from None
