"""Plugins: what a stranger registers is there, and a broken one harms only itself."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import pytest

from auto_research.agent_research.method import load_method
from auto_research.agent_research.operators import LibraryUpdate, Operator, Reward
from auto_research.hookspecs import AgentFactory, MethodFile, hookimpl
from auto_research.plugins import Registry, load_plugins


class Hoard(LibraryUpdate):
    name = "test.hoard"
    citation = "none"
    summary = "keeps everything"


class Stranger:
    @hookimpl
    def register_operators(self) -> Sequence[type[Operator]]:
        return [Hoard]


def problems(registry: Registry, plugin: str) -> list[str]:
    return [problem.what for problem in registry.problems if problem.plugin == plugin]


WriteModule = Callable[[str, str], None]


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[WriteModule]:
    """Writes a module that `AUTO_RESEARCH_PLUGINS` names."""

    def module(name: str, source: str) -> None:
        (tmp_path / f"{name}.py").write_text(source)
        monkeypatch.syspath_prepend(tmp_path)
        importlib.invalidate_caches()
        monkeypatch.setenv("AUTO_RESEARCH_PLUGINS", name)
        written.append(name)

    written: list[str] = []
    yield module
    for name in written:
        sys.modules.pop(name, None)


def test_what_a_plugin_registers_is_used_like_a_built_in() -> None:
    registry = load_plugins([Stranger()])
    assert problems(registry, "Stranger") == []
    method = load_method("react", registry, ["update=test.hoard"])
    assert isinstance(method.build(registry).update, Hoard)
    assert registry.operators["update"]["test.hoard"].plugin == "Stranger"


def test_the_built_ins_come_through_the_same_hooks() -> None:
    registry = load_plugins()
    assert registry.plugins[0].name == "builtin"
    assert problems(registry, "builtin") == []
    assert {"react", "all-schemas", "raw-trace"} <= set(registry.methods)
    assert registry.operators["reward"]["outcome"].plugin == "builtin"


def test_a_module_named_in_the_environment_is_a_plugin(module: WriteModule) -> None:
    module(
        "env_plugin",
        "from auto_research.hookspecs import hookimpl\n"
        "@hookimpl\n"
        "def register_agents():\n"
        "    return {'test-agent': lambda options: None}\n",
    )
    assert load_plugins().agents["test-agent"].plugin == "env_plugin"


def test_an_installed_distribution_is_a_plugin_with_its_version(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    info = tmp_path / "test_dist-1.2.3.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: test-dist\nVersion: 1.2.3\n")
    (info / "entry_points.txt").write_text("[auto_research.plugins]\nfrom-dist = dist_plugin\n")
    (tmp_path / "dist_plugin.py").write_text(
        "from auto_research.hookspecs import hookimpl\n"
        "@hookimpl\n"
        "def register_benchmarks():\n"
        "    return {'test-bench': lambda options: None}\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    registry = load_plugins()
    assert registry.benchmarks["test-bench"].plugin == "from-dist"
    found = next(plugin for plugin in registry.plugins if plugin.name == "from-dist")
    assert (found.source, found.version, found.loaded) == ("test-dist", "1.2.3", True)


@pytest.mark.parametrize(
    ("source", "what"),
    [
        ("import no_such_module_anywhere", "cannot be loaded: ModuleNotFoundError"),
        ("raise SystemExit(3)", "cannot be loaded: SystemExit: 3"),
        ("def f(:", "cannot be loaded: SyntaxError"),
        ("1 / 0", "cannot be loaded: ZeroDivisionError"),
        ("def register_operators(): ...", "implements no hook (is @hookimpl missing?)"),
        (
            "from auto_research.hookspecs import hookimpl\n"
            "@hookimpl\n"
            "def register_operater(): return []",
            "unknown hook 'register_operater'; did you mean 'register_operators'?",
        ),
        (
            "from auto_research.hookspecs import hookimpl\n"
            "@hookimpl\n"
            "def register_operators(surprise): return []",
            "cannot be loaded: PluginValidationError",
        ),
        (
            "from auto_research.hookspecs import hookimpl\n"
            "@hookimpl\n"
            "def register_operators(): raise SystemExit('gone')",
            "register_operators failed: SystemExit: gone",
        ),
        (
            "from auto_research.hookspecs import hookimpl\n"
            "@hookimpl\n"
            "def register_operators(): return [int]",
            "<class 'int'> is not an Operator class",
        ),
        (
            "from auto_research.hookspecs import hookimpl\n"
            "@hookimpl\n"
            "def register_agents(): return ['search']",
            "register_agents must give names with factories, not 'search'",
        ),
        (
            "from auto_research.hookspecs import hookimpl\n"
            "@hookimpl\n"
            "def register_methods(): return [{'name': 'Bad Name'}, 'absent.yaml']",
            "method left out: a method needs a name, not 'Bad Name'",
        ),
        (
            "from auto_research.hookspecs import hookimpl\n"
            "@hookimpl\n"
            "def register_methods(): return [{'name': 'm', 'retrieval': 'none',"
            " 'update': 'gone', 'reward': 'outcome', 'rollout': 'none'}]",
            "method 'm': unknown update operator 'gone'",
        ),
        (
            "from auto_research.hookspecs import hookimpl\n"
            "@hookimpl\n"
            "def register_methods(): return [5]",
            "registration broke off: TypeError",
        ),
    ],
)
def test_a_broken_plugin_is_reported_by_name_and_the_rest_works(
    module: WriteModule, source: str, what: str
) -> None:
    module("broken_plugin", source)
    registry = load_plugins([Stranger()])
    found = problems(registry, "broken_plugin")
    assert any(line.startswith(what) for line in found), found
    assert all("\n" not in line for line in found)
    assert "react" in registry.methods
    assert "test.hoard" in registry.operators["update"]


def test_one_raising_hook_does_not_cost_the_plugin_its_others() -> None:
    class Half:
        @hookimpl
        def register_methods(self) -> Sequence[MethodFile]:
            raise RuntimeError("no methods today")

        @hookimpl
        def register_agents(self) -> Mapping[str, AgentFactory]:
            return {"test-agent": lambda options: None}

    registry = load_plugins([Half()])
    assert problems(registry, "Half") == ["register_methods failed: RuntimeError: no methods today"]
    assert "test-agent" in registry.agents


def test_a_name_stays_with_the_plugin_that_came_first() -> None:
    class Thief:
        @hookimpl
        def register_operators(self) -> Sequence[type[Operator]]:
            return [Hoard]

        @hookimpl
        def register_methods(self) -> Sequence[MethodFile]:
            return [{"name": "react", "retrieval": "random"}]

    registry = load_plugins([Stranger(), Thief()])
    assert problems(registry, "Thief") == [
        "update operator 'test.hoard' is taken by plugin 'Stranger'; left out",
        "method 'react' is taken by plugin 'builtin'; left out",
    ]
    assert load_method("react", registry).retrieval.use == "none"


def test_the_second_of_two_plugins_with_one_name_is_left_out() -> None:
    registry = load_plugins([Stranger(), Stranger()])
    assert problems(registry, "Stranger (extra)") == [
        "another plugin has this name already; left out"
    ]
    assert problems(registry, "Stranger") == []


def test_an_operator_that_does_not_say_what_it_is_is_refused() -> None:
    class Shy(Reward):
        name = "test.shy"

    class Misplaced(LibraryUpdate):
        name = "test.misplaced"
        slot = "reward"
        citation = summary = "none"

    class Plugin:
        @hookimpl
        def register_operators(self) -> Sequence[type[Operator]]:
            return [Shy, Misplaced]

    assert problems(load_plugins([Plugin()]), "Plugin") == [
        "operator Shy does not say its citation, summary",
        "operator 'test.misplaced' is not of the class for its slot 'reward'",
    ]


def test_what_a_plugin_prints_while_loading_stays_off_stdout(
    module: WriteModule, capsys: pytest.CaptureFixture[str]
) -> None:
    module("loud_plugin", "print('hello')")
    load_plugins()
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "hello" in captured.err


def test_an_observer_that_raises_is_reported_once_and_the_others_are_still_told(
    capsys: pytest.CaptureFixture[str],
) -> None:
    rows: list[Mapping[str, object]] = []

    class Raiser:
        @hookimpl
        def episode_finished(self, row: Mapping[str, object]) -> None:
            raise SystemExit("enough")

    class Listener:
        @hookimpl
        def episode_finished(self, row: Mapping[str, object]) -> None:
            rows.append(row)

    registry = load_plugins([Raiser(), Listener()])
    capsys.readouterr()
    registry.notify("episode_finished", row={"n": 1})
    registry.notify("episode_finished", row={"n": 2})
    assert rows == [{"n": 1}, {"n": 2}]
    assert capsys.readouterr().err.splitlines() == [
        "warning: plugin 'Raiser': episode_finished raised SystemExit: enough; it is told no more"
    ]
