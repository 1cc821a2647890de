"""Skills leave as Agent Skills and come back whole; hostile folders are refused, one by one."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from library_examples import FEW, skills

from auto_research.agent_research.codec import dumps, skill_to_json
from auto_research.agent_research.exchange import export_skills, import_skills
from auto_research.agent_research.library import Revise, apply_changes, view_of
from auto_research.agent_research.skill import Skill, function_skill, text_skill
from auto_research.errors import UserError

GOOD, BAD = FEW[0], FEW[1]


@settings(max_examples=60, deadline=None)
@given(st.lists(skills(), max_size=4, unique_by=lambda skill: skill.id))
def test_what_was_exported_comes_back_the_same_and_in_order(made: list[Skill]) -> None:
    with TemporaryDirectory() as parent:
        folder = Path(parent) / "skills"
        export_skills(view_of(made), folder)
        report = import_skills(folder)
    assert report.refused == ()
    as_text = [dumps(skill_to_json(skill)) for skill in report.skills]
    assert as_text == [dumps(skill_to_json(skill)) for skill in made]


@settings(max_examples=60, deadline=None)
@given(skills())
def test_the_front_matter_is_plain_yaml_after_the_agent_skills_specification(skill: Skill) -> None:
    with TemporaryDirectory() as parent:
        (folder,) = export_skills(view_of([skill]), Path(parent))
        _, front, body = (folder / "SKILL.md").read_text(encoding="utf-8").split("---\n", 2)
    data = yaml.safe_load(front)
    assert data["name"] == folder.name
    assert len(data["name"]) <= 64
    assert set(data["name"]) <= set("abcdefghijklmnopqrstuvwxyz0123456789-")
    assert "--" not in data["name"]
    assert 1 <= len(data["description"]) <= 1024
    assert data["metadata"]["id"] == skill.id
    assert data["metadata"]["usage"]["helped"] == skill.usage.helped
    assert body.strip()


def test_code_text_and_interface_lie_in_files_of_their_own(tmp_path: Path) -> None:
    code = function_skill("def Go_Up(x):\r\n    return x\r\n", interface={"up": ["x"]})
    words = text_skill("Look before you leap.\n", name="../Rule: one/two")
    first, second = export_skills(view_of([code, words]), tmp_path / "out")
    assert first.name == f"go-up-{code.id}"
    assert (first / "skill.py").read_bytes() == b"def Go_Up(x):\r\n    return x\r\n"
    assert (first / "interface.json").read_text() == '{\n "up": [\n  "x"\n ]\n}'
    assert second.name == f"rule-one-two-{words.id}"
    assert sorted(path.name for path in second.iterdir()) == ["SKILL.md", "text.md"]


def test_chosen_skills_only_are_exported(tmp_path: Path) -> None:
    view = apply_changes(view_of([GOOD]), [Revise(GOOD.id, BAD)])
    assert len(export_skills(view, tmp_path / "all")) == 2
    (folder,) = export_skills(view, tmp_path / "one", [BAD.id])
    (skill,) = import_skills(folder).skills
    assert skill == view.skills[BAD.id]
    with pytest.raises(UserError, match="no skill nope"):
        export_skills(view, tmp_path / "none", ["nope"])


def test_a_folder_with_something_in_it_is_not_written_to(tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("precious")
    with pytest.raises(UserError, match="not empty"):
        export_skills(view_of([GOOD]), tmp_path)
    with pytest.raises(UserError, match="cannot export"):
        export_skills(view_of([GOOD]), tmp_path / "mine")


def test_a_folder_that_is_not_there_is_one_clear_line(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="cannot import"):
        import_skills(tmp_path / "nowhere")


def test_the_same_skill_in_two_folders_is_taken_once(tmp_path: Path) -> None:
    twin = function_skill("def other_name(y):\n    return go(y, 0)\n")
    assert twin.id == GOOD.id
    export_skills(view_of([GOOD]), tmp_path / "a")
    export_skills(view_of([twin]), tmp_path / "b")
    both = tmp_path / "both"
    both.mkdir()
    for source in (*(tmp_path / "a").iterdir(), *(tmp_path / "b").iterdir()):
        source.rename(both / source.name)
    report = import_skills(both)
    assert report.skills == (GOOD,)
    assert [reason for _, reason in report.refused] == [
        "it is the same skill as one in another folder"
    ]


def edit(name: str, old: str, new: str) -> Callable[[Path], None]:
    def damage(folder: Path) -> None:
        path = folder / name
        text = path.read_bytes().decode()
        assert old in text
        path.write_bytes(text.replace(old, new).encode())

    return damage


def write(name: str, data: bytes) -> Callable[[Path], None]:
    return lambda folder: (folder / name).write_bytes(data) and None


def front(text: str) -> Callable[[Path], None]:
    return write("SKILL.md", f"---\n{text}\n---\nbody\n".encode())


def link(name: str, target: str) -> Callable[[Path], None]:
    def damage(folder: Path) -> None:
        (folder / name).unlink(missing_ok=True)
        (folder / name).symlink_to(target)

    return damage


def pipe(folder: Path) -> None:
    (folder / "skill.py").unlink()
    os.mkfifo(folder / "skill.py")


def card_is_a_folder(folder: Path) -> None:
    (folder / "SKILL.md").unlink()
    (folder / "SKILL.md").mkdir()


BOMB = "a: &a [x, x]\nb: &b [*a, *a]\nc: &c [*b, *b]\nmetadata: *c"
HOSTILE: dict[str, tuple[Callable[[Path], None], str]] = {
    "traversal in the name": (edit("SKILL.md", "name: f1-", "name: ../../f1-"), "not that of its"),
    "traversal in the function": (edit("SKILL.md", "  name: f1", "  name: ../f1"), "no function"),
    "link out": (link("skill.py", "/etc/passwd"), "skill.py is a symbolic link"),
    "link of the card": (link("SKILL.md", "/etc/passwd"), "SKILL.md is a symbolic link"),
    "dangling interface": (link("interface.json", "nowhere"), "interface.json is a symbolic link"),
    "named pipe": (pipe, "skill.py is not a regular file"),
    "folder for a card": (card_is_a_folder, "SKILL.md is not a regular file"),
    "no card": (lambda folder: (folder / "SKILL.md").unlink(), "SKILL.md cannot be read"),
    "no code": (lambda folder: (folder / "skill.py").unlink(), "skill.py cannot be read"),
    "huge code": (write("skill.py", b"#" * (256 * 1024 + 1)), "larger than 256 KiB"),
    "huge card": (write("SKILL.md", b"#" * (256 * 1024 + 1)), "larger than 256 KiB"),
    "not UTF-8": (write("skill.py", b"def f(): return '\xff'"), "not UTF-8"),
    "card not UTF-8": (write("SKILL.md", b"---\nname: \xff\n---\n"), "not UTF-8"),
    "no front matter": (write("SKILL.md", b"just words"), "no front matter"),
    "broken YAML": (front("name: [1, 2"), "not valid YAML"),
    "duplicate key": (edit("SKILL.md", "  version: 1", "  version: 1\n  version: 2"), "twice"),
    "alias bomb": (front(BOMB), "aliases"),
    "object tag": (front("name: !!python/object/apply:os.system [ls]"), "tags"),
    "deep YAML": (front("name: " + "[" * 100_000), "not valid YAML"),
    "long number": (front("name: " + "9" * 10_000), "not valid YAML"),
    "list for a card": (front("- name"), "not a mapping"),
    "no metadata": (
        lambda folder: front(f"name: {folder.name}\ndescription: x")(folder),
        "no metadata",
    ),
    "wrong type": (edit("SKILL.md", "  version: 1", "  version: one"), "version is not a whole"),
    "version nought": (edit("SKILL.md", "  version: 1", "  version: 0"), "counted from 1"),
    "endless count": (edit("SKILL.md", "called: 0", f"called: {10**100}"), "2\\*\\*63"),
    "half a character": (edit("SKILL.md", 'query: ""', 'query: "\\ud800"'), "half a character"),
    "unknown key": (edit("SKILL.md", "  version: 1", "  version: 1\n  extra: 1"), "unknown extra"),
    "missing key": (edit("SKILL.md", "  version: 1\n", ""), "no version"),
    "false signature": (edit("SKILL.md", "f1(x)", "f1(x, y)"), "its signature is"),
    "strange parent": (
        edit("SKILL.md", "  version: 1", "  version: 1\n  parents: [../x]"),
        "not the",
    ),
    "other content": (edit("skill.py", "go(x, 1)", "go(x, 2)"), "not that of its content"),
    "code does not parse": (edit("skill.py", "return", "return return"), "does not parse"),
    "no function": (write("skill.py", b"x = 1\n"), "no function"),
    "null byte": (write("skill.py", b"def f1(x): return '\0'"), "does not parse"),
    "deep code": (write("skill.py", b"def f1(x): return " + b"-" * 90_000 + b"1"), "skill source"),
    "deep brackets": (write("skill.py", b"f1=" + b"(" * 90_000 + b")" * 90_000), "skill source"),
    "interface is no object": (write("interface.json", b"[1]"), "interface is not an object"),
    "interface is no JSON": (write("interface.json", b"{"), "interface.json is not JSON"),
    "deep interface": (write("interface.json", b"[" * 90_000), "nests deeper"),
    "rather deep interface": (write("interface.json", b"[" * 40 + b"]" * 40), "nests deeper"),
    "double interface": (write("interface.json", b'{"a": 1, "a": 2}'), "a key twice"),
    "no number": (write("interface.json", b'{"a": NaN}'), "nan is not plain data"),
    "surrogate": (write("interface.json", b'{"a": "\\ud800"}'), "half a character"),
}


@pytest.mark.parametrize(("damage", "reason"), HOSTILE.values(), ids=HOSTILE.keys())
def test_a_hostile_skill_is_refused_with_a_reason_and_the_others_are_taken(
    damage: Callable[[Path], None], reason: str, tmp_path: Path
) -> None:
    _, folder = export_skills(view_of([GOOD, BAD]), tmp_path / "skills")
    damage(folder)
    report = import_skills(tmp_path / "skills")
    assert report.skills == (GOOD,)
    ((place, why),) = report.refused
    assert place == folder
    with pytest.raises(AssertionError, match=reason):
        raise AssertionError(why)


def test_a_linked_folder_is_refused_and_plain_files_are_passed_over(tmp_path: Path) -> None:
    export_skills(view_of([GOOD]), tmp_path / "elsewhere")
    (tmp_path / "skills").mkdir()
    (tmp_path / "skills" / "linked").symlink_to(next((tmp_path / "elsewhere").iterdir()))
    (tmp_path / "skills" / "README").write_text("words")
    report = import_skills(tmp_path / "skills")
    assert report.skills == ()
    assert report.refused == ((tmp_path / "skills" / "linked", "it is a symbolic link"),)
