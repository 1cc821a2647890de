"""Finds plugins and takes in what they register, so that a broken one harms only itself.

Every plugin gets a pluggy manager of its own: a hook that is misspelt or raises is then that
plugin's problem, by construction, and is reported under its name while the rest goes on.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import entry_points, version
from typing import Any, TypeVar

import pluggy

from auto_research import builtin, hookspecs
from auto_research.agent_research.catalog import SLOT_TYPES, Entry, MethodSource
from auto_research.agent_research.method import NAME, read_method, resolve_method
from auto_research.agent_research.operators import SLOTS, Operator, Settings, Slot
from auto_research.errors import UserError, did_you_mean
from auto_research.hookspecs import AgentFactory, BenchmarkFactory, MethodFile

GROUP = "auto_research.plugins"
ENV = "AUTO_RESEARCH_PLUGINS"  # names of further plugin modules, separated by commas
HOOKS = tuple(
    name for name in vars(hookspecs) if name.startswith(("register_", "run_", "episode_"))
)

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class PluginProblem:
    """One thing wrong with one plugin, on one line."""

    plugin: str
    what: str


@dataclass(frozen=True, slots=True)
class PluginInfo:
    """A plugin that was found: where it comes from and whether it could be loaded at all."""

    name: str
    source: str  # its distribution, or how else it was named
    version: str
    loaded: bool


@dataclass(slots=True)
class Registry:
    """Everything installed, by name. Also the `Catalog` that methods are resolved against."""

    operators: dict[Slot, dict[str, Entry[type[Operator]]]] = field(
        default_factory=lambda: {slot: {} for slot in SLOTS}
    )
    methods: dict[str, Entry[MethodSource]] = field(default_factory=dict)
    agents: dict[str, Entry[AgentFactory]] = field(default_factory=dict)
    benchmarks: dict[str, Entry[BenchmarkFactory]] = field(default_factory=dict)
    backends: dict[str, Entry[Callable[..., Any]]] = field(default_factory=dict)
    plugins: list[PluginInfo] = field(default_factory=list)
    problems: list[PluginProblem] = field(default_factory=list)
    _managers: dict[str, pluggy.PluginManager] = field(default_factory=dict)

    def notify(self, hook: str, **arguments: object) -> None:
        """Tell the observers. One that raises is reported on stderr once and not told again."""
        for name, manager in list(self._managers.items()):
            try:
                getattr(manager.hook, hook)(**arguments)
            except (Exception, SystemExit) as error:
                del self._managers[name]
                what = f"{hook} raised {_line(error)}; it is told no more"
                print(f"warning: plugin {name!r}: {what}", file=sys.stderr)

    def _report(self, plugin: str, what: str) -> None:
        self.problems.append(PluginProblem(plugin, " ".join(what.split())))


@dataclass(frozen=True, slots=True)
class _Found:
    name: str
    source: str
    version: str
    load: Callable[[], object]


def load_plugins(extra: Sequence[object] = ()) -> Registry:
    """The built-ins, the installed plugins, those named in the environment, then `extra`.

    Never raises for a broken plugin: see `Registry.problems`. A name goes to whoever came first.
    """
    registry = Registry()
    # What a plugin prints while it loads must not end up in a command's JSON.
    with contextlib.redirect_stdout(sys.stderr):
        for found in _found(extra):
            _load(registry, found)
    for name, method in registry.methods.items():
        try:
            resolve_method(method.value, registry)
        except UserError as error:
            registry._report(method.plugin, f"method {name!r}: {error}")
        except Exception as error:  # a validator of some operator's settings
            registry._report(method.plugin, f"method {name!r}: {_line(error)}")
    return registry


def _found(extra: Sequence[object]) -> Iterator[_Found]:
    yield _Found("builtin", "auto-research", version("auto-research"), lambda: builtin)
    points = entry_points(group=GROUP)
    for point in sorted(points, key=lambda p: (p.name, p.dist.name if p.dist else "", p.value)):
        dist = point.dist
        yield _Found(
            point.name, dist.name if dist else "", dist.version if dist else "", point.load
        )
    for module in filter(None, map(str.strip, os.environ.get(ENV, "").split(","))):
        yield _Found(module, ENV, "", functools.partial(importlib.import_module, module))
    for plugin in extra:
        name = getattr(plugin, "__name__", type(plugin).__name__)
        yield _Found(str(name), "extra", "", functools.partial(_itself, plugin))


def _itself(plugin: object) -> object:
    return plugin


def _load(registry: Registry, found: _Found) -> None:
    name, loaded = found.name, False
    if name in registry._managers:
        name = f"{name} ({found.source})"
        registry._report(name, "another plugin has this name already; left out")
    else:
        try:
            manager = _manager(name, found.load())
        except (Exception, SystemExit) as error:
            registry._report(name, f"cannot be loaded: {_line(error)}")
        else:
            loaded = True
            registry._managers[name] = manager
            _check_hooks(registry, name, manager)
            try:
                _Intake(registry, name, manager).take_all()
            except Exception as error:  # what it registers can misbehave when looked at
                registry._report(name, f"registration broke off: {_line(error)}")
    registry.plugins.append(PluginInfo(name, found.source, found.version, loaded))


def _manager(name: str, plugin: object) -> pluggy.PluginManager:
    manager = pluggy.PluginManager(hookspecs.PROJECT)
    manager.add_hookspecs(hookspecs)
    manager.register(plugin, name)
    return manager


def _check_hooks(registry: Registry, name: str, manager: pluggy.PluginManager) -> None:
    """pluggy takes a misspelt hook without a word, so look for implementations of no spec."""
    callers = manager.get_hookcallers(manager.get_plugin(name)) or []
    if not callers:
        registry._report(name, "implements no hook (is @hookimpl missing?)")
    for caller in callers:
        optional = all(found.optionalhook for found in caller.get_hookimpls())
        if not caller.has_spec() and not optional:
            mend = did_you_mean(caller.name, HOOKS)
            registry._report(name, f"unknown hook {caller.name!r}; {mend}")


@dataclass(frozen=True, slots=True)
class _Intake:
    """Takes what one plugin registers into the registry, item by item."""

    registry: Registry
    plugin: str
    manager: pluggy.PluginManager

    def take_all(self) -> None:
        registry = self.registry
        for operator in self._items("register_operators"):
            self._operator(operator)
        for method in self._items("register_methods"):
            self._method(method)
        self._factories("agent", "register_agents", registry.agents)
        self._factories("benchmark", "register_benchmarks", registry.benchmarks)
        self._factories("backend", "register_backends", registry.backends)

    def _items(self, hook: str) -> list[Any]:
        """What the hook returned; for a mapping, its pairs. Empty, and reported, if it raised."""
        try:
            results = getattr(self.manager.hook, hook)()
            return [
                item
                for result in results
                for item in (result.items() if isinstance(result, Mapping) else result)
            ]
        except (Exception, SystemExit) as error:
            self.registry._report(self.plugin, f"{hook} failed: {_line(error)}")
            return []

    def _operator(self, operator: Any) -> None:
        problem = _operator_problem(operator)
        if problem:
            self.registry._report(self.plugin, problem)
        else:
            self._claim(
                f"{operator.slot} operator",
                operator.name,
                operator,
                self.registry.operators[operator.slot],
            )

    def _method(self, written: MethodFile) -> None:
        try:
            source = read_method(written)
        except UserError as error:
            self.registry._report(self.plugin, f"method left out: {error}")
        else:
            self._claim("method", str(source.data["name"]), source, self.registry.methods)

    def _factories(self, kind: str, hook: str, entries: dict[str, Entry[Any]]) -> None:
        for item in self._items(hook):
            if not isinstance(item, tuple) or len(item) != 2 or not callable(item[1]):
                self.registry._report(
                    self.plugin, f"{hook} must give names with factories, not {item!r}"
                )
            else:
                self._claim(kind, str(item[0]), item[1], entries)

    def _claim(self, kind: str, name: str, value: T, entries: dict[str, Entry[T]]) -> None:
        if name in entries:
            owner = entries[name].plugin
            self.registry._report(
                self.plugin, f"{kind} {name!r} is taken by plugin {owner!r}; left out"
            )
        else:
            entries[name] = Entry(name, value, self.plugin)


def _operator_problem(operator: Any) -> str:
    """Why `operator` cannot be registered; empty if it can."""
    if not isinstance(operator, type) or not issubclass(operator, Operator):
        return f"{operator!r} is not an Operator class"
    missing = [
        key
        for key in ("name", "slot", "citation", "summary")
        if not isinstance(getattr(operator, key, None), str)
    ]
    if missing:
        return f"operator {operator.__name__} does not say its {', '.join(missing)}"
    if not NAME.fullmatch(operator.name):
        return f"operator name {operator.name!r} may hold only small letters, digits, '.', '_', '-'"
    kind = SLOT_TYPES.get(operator.slot)
    if kind is None or not issubclass(operator, kind):
        return f"operator {operator.name!r} is not of the class for its slot {operator.slot!r}"
    settings = operator.settings_type
    if not issubclass(settings, Settings) or "use" in settings.model_fields:
        return f"operator {operator.name!r}: settings_type must be a Settings without a field 'use'"
    return ""


def _line(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}".rstrip(": ")
