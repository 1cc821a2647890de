"""A fixed installation for the tests of directions, spaces and searches: the built-ins and sage."""

from __future__ import annotations

from functools import cache

from auto_research.agent_research.method import Method
from auto_research.agent_research.operators import SLOTS
from auto_research.evolution.direction import known_methods, read_direction, space_of
from auto_research.evolution.space import Space
from auto_research.plugins import Registry, load_plugins

EVERYTHING = "sage and all operators"


@cache
def installed() -> Registry:
    """What is installed, without what other plugins bring."""
    whole = load_plugins()
    ours = ("builtin", "sage")
    return Registry(
        operators={
            slot: {n: e for n, e in whole.operators[slot].items() if e.plugin in ours}
            for slot in SLOTS
        },
        methods={n: e for n, e in whole.methods.items() if e.plugin in ours},
        agents=whole.agents,
        benchmarks=whole.benchmarks,
    )


def methods() -> list[Method]:
    """sage first."""
    return known_methods(installed(), first=("sage",))


def space(direction: str = EVERYTHING) -> Space:
    """The space of a direction."""
    return space_of(read_direction(direction, installed()), installed())
