"""Worlds on AppWorld's own engine: what code in them sees, leaves behind, and is charged for."""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from appworld_cases import hunt, processes

from auto_research.benchmarks.appworld.home import Home
from auto_research.benchmarks.appworld.worlds import Limits, World, Worlds
from auto_research.errors import UserError

pytestmark = pytest.mark.appworld


@pytest.fixture(scope="module")
def tasks(home: Home) -> list[str]:
    return (home.mini / "data" / "datasets" / "dev.txt").read_text().split()


@pytest.fixture(scope="module")
def worlds(home: Home, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Worlds]:
    opened = Worlds(home, home.mini, tmp_path_factory.mktemp("spool"))
    yield opened
    opened.close()


@pytest.fixture
def world(worlds: Worlds, tasks: list[str]) -> Iterator[World]:
    opened = worlds.open(tasks[0])
    yield opened
    opened.close()


def instruction(home: Home, task: str) -> str:
    specs = json.loads((home.mini / "data" / "tasks" / task / "specs.json").read_text())
    return str(specs["instruction"])


def test_definitions_stay_in_a_world_and_leave_nothing_in_the_next(
    worlds: Worlds, world: World, tasks: list[str]
) -> None:
    assert not world.execute("def double(x):\n    return 2 * x\njson.mark = 1").failed
    assert world.execute("print(double(21), json.mark)").text.strip() == "42 1"
    other = worlds.open(tasks[0])
    assert "NameError" in other.execute("double(21)").text
    assert "AttributeError" in other.execute("json.mark").text
    other.close()


def test_worlds_that_are_open_at_once_have_a_task_each(
    worlds: Worlds, home: Home, tasks: list[str]
) -> None:
    opened = {task: worlds.open(task) for task in tasks[:3]}
    for task, one in reversed(opened.items()):
        seen = one.execute('print(apis.supervisor.show_active_task()["instruction"])')
        assert seen.text.strip() == instruction(home, task)
    for one in opened.values():
        one.close()


@pytest.mark.parametrize(
    ("code", "told"),
    [
        ("", "No code"),
        ("print(", "Syntax error"),
        ("import os\nos.listdir('/')", "not allowed"),
        ("1 / 0", "ZeroDivisionError"),
    ],
)
def test_code_that_does_not_run_has_failed(world: World, code: str, told: str) -> None:
    seen = world.execute(code)
    assert seen.failed and told in seen.text
    assert (seen.calls, seen.finished) == (0, False)


def test_api_calls_are_counted_and_limited(world: World) -> None:
    three = "for _ in range(3):\n    apis.supervisor.show_profile()"
    seen = world.execute(three)
    assert (seen.calls, seen.failed) == (3, False)
    seen = world.execute(three, calls=2)
    assert (seen.calls, seen.failed) == (2, True)
    assert world.execute(three).calls == 3


def test_the_task_is_finished_once_it_is_handed_in(world: World) -> None:
    assert not world.execute("print(1)").finished
    assert world.execute("apis.supervisor.complete_task(answer='x')").finished
    assert world.execute("print(1)").finished


def test_a_hunt_for_the_answer_finds_nothing(worlds: Worlds, home: Home, tasks: list[str]) -> None:
    opened = worlds.open(tasks[0])
    skipped = ("/usr", sys.base_prefix, str(home.path / "venv"))
    seen = opened.execute(hunt(home.mini.resolve(), tasks[0], skipped))
    assert (json.loads(seen.text), seen.failed) == ([], False)
    assert opened.flags() == ("strayed-code",)
    opened.close()


STEPS = {
    "a file": 'load("path" + "lib").Path("/home/someone/notes.txt").read_text()',
    "an answer": 'getattr(builtins, "op" + "en")("data/tasks/x/ground_truth/answer.json")',
    "a folder": 'getattr(load("pos" + "ix"), "list" + "dir")("/")',
    "a way up": 'getattr(load("pos" + "ix"), "list" + "dir")("..")',
    "another process": 'getattr(builtins, "op" + "en")("/proc/1/environ", "rb")',
    "its memory": 'print(load("ctypes").CDLL(None).ptrace(16, 2, 0, 0))',
    "a program": 'load("pos" + "ix").posix_spawn("/bin/true", ["true"], {})',
    "the network": 'load("socket").create_connection(("127.0.0.1", 9))',
}


@pytest.mark.parametrize("step", STEPS)
def test_a_step_out_of_a_world_is_noted_whatever_came_of_it(world: World, step: str) -> None:
    load = 'load = getattr(builtins, "__imp" + "ort__")\n'
    world.execute("print(apis.supervisor.show_profile())")
    assert world.flags() == ()
    seen = world.execute(f"try:\n    {load}    {STEPS[step]}\nexcept Exception:\n    pass")
    assert world.flags() == ("strayed-code",) and not seen.failed
    assert seen.text.strip() in ("-1", "Execution successful.")  # ptrace(2) is told -1: refused


@pytest.mark.slow
def test_the_same_hunt_finds_it_where_worlds_are_not_isolated(
    home: Home, tasks: list[str], tmp_path: Path
) -> None:
    open_worlds = Worlds(home, home.mini, tmp_path, unsafe=True)
    opened = open_worlds.open(tasks[0])
    seen = opened.execute(hunt(home.mini.resolve(), tasks[0], ("/",)))
    assert any("ground_truth/answer.json" in path for path in json.loads(seen.text))
    assert "memory" in seen.text and opened.flags() == ("strayed-code", "unsafe-worlds")
    opened.close()
    open_worlds.close()


@pytest.mark.slow
def test_code_that_never_ends_is_stopped_and_said_to_be(
    home: Home, tasks: list[str], tmp_path: Path
) -> None:
    hasty = Worlds(home, home.mini, tmp_path, limits=Limits(seconds=1, grace=5.0))
    opened = hasty.open(tasks[0])
    seen = opened.execute("while True:\n    pass")
    assert seen.failed and opened.flags() == ("safety-net",)
    assert opened.execute("print(1)").text.strip() == "1"
    deaf = "while True:\n    try:\n        while True:\n            pass\n    except:\n        pass"
    seen = opened.execute(deaf)
    assert seen.failed and "world has ended" in seen.text
    assert opened.execute("print(1)").failed
    assert opened.submission() == {"outputs": None}
    opened.close()
    hasty.close()


def test_a_world_that_is_killed_from_inside_has_failed(
    worlds: Worlds, tasks: list[str], world: World
) -> None:
    leave = 'getattr(getattr(builtins, "__imp" + "ort__")("pos" + "ix"), "_ex" + "it")(3)'
    seen = world.execute(leave)
    assert seen.failed and "world has ended" in seen.text
    assert "world-broke" in world.flags()
    other = worlds.open(tasks[1])
    assert not other.execute("print(1)").failed
    other.close()


@pytest.mark.slow
def test_a_server_that_died_is_started_again(home: Home, tasks: list[str], tmp_path: Path) -> None:
    root = tmp_path / "root"  # a name that no other process has in its command line
    root.symlink_to(home.mini)
    mortal = Worlds(home, root, tmp_path)
    orphan = mortal.open(tasks[0])
    os.kill(mortal.server_pid(), signal.SIGKILL)
    opened = mortal.open(tasks[1])
    assert not opened.execute("print(1)").failed
    assert orphan.execute("print(1)").failed
    orphan.close(), opened.close()
    assert processes(str(root)) == [mortal.server_pid()]
    mortal.close()
    assert processes(str(root)) == []


def test_a_task_that_is_not_there_cannot_be_opened(worlds: Worlds) -> None:
    with pytest.raises(UserError, match="could not be opened"):
        worlds.open("0000000_1")
