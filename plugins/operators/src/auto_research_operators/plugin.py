"""Registers every operator in `papers` and every method in `methods`: a new paper is a new file."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from inspect import isabstract, isclass
from pathlib import Path
from pkgutil import iter_modules

from auto_research.agent_research.operators import Operator
from auto_research.hookspecs import MethodFile, hookimpl
from auto_research_operators import papers, shared


@hookimpl
def register_operators() -> Sequence[type[Operator]]:
    return [
        operator
        for package in (shared, papers)
        for module in sorted(m.name for m in iter_modules(package.__path__, package.__name__ + "."))
        for operator in _operators_in(module)
    ]


@hookimpl
def register_methods() -> Sequence[MethodFile]:
    return sorted((Path(__file__).parent / "methods").glob("*.yaml"))


def _operators_in(module: str) -> list[type[Operator]]:
    """The operators that `module` itself defines, by name; bases without a name are none."""
    members = vars(import_module(module)).values()
    found = [
        m
        for m in members
        if isclass(m)
        and issubclass(m, Operator)
        and m.__module__ == module
        and "name" in vars(m)
        and not isabstract(m)
    ]
    return sorted(found, key=lambda operator: (operator.slot, operator.name))
