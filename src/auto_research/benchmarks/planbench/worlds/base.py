"""What one classical planning world gives the generator, as plain values with plain names."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from random import Random

from auto_research.pddl import Atom

Counts = Mapping[str, int]  # how many of each thing, drawn from sizes.py


@dataclass(frozen=True)
class Instance:
    """A planning problem as values: `objects` maps a name to its type ("object" if untyped)."""

    objects: Mapping[str, str]
    init: tuple[Atom, ...]
    goal: tuple[Atom, ...] = ()

    def with_goal(self, goal: tuple[Atom, ...]) -> Instance:
        return replace(self, goal=goal)


@dataclass(frozen=True)
class Drift:
    """One more required action: each action in `needs` needs its atom, and uses it up.

    `predicate` declares the atom, `action` is the action that makes it true; all PDDL text.
    """

    predicate: str
    needs: Mapping[str, str]
    action: str


@dataclass(frozen=True)
class World:
    """A base domain: its PDDL text, its drift, and how to draw a start and a goal.

    Whatever goal `draw_goal` returns can be reached from any state reachable from the start.
    """

    name: str
    domain: str
    drift: Drift
    draw_start: Callable[[Random, Counts], Instance]
    draw_goal: Callable[[Random, Counts, Instance], tuple[Atom, ...]]


def numbered(prefix: str, count: int) -> list[str]:
    """`count` plain object names."""
    return [f"{prefix}{i}" for i in range(count)]
