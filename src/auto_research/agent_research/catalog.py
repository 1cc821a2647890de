"""What is installed, as a method needs to know it: operators by slot and name, and method files.

The plugin registry is a `Catalog`; so is anything a test puts together by hand.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from auto_research.agent_research.operators import (
    LibraryUpdate,
    Operator,
    RetrievalPolicy,
    Reward,
    Rollout,
    Slot,
)
from auto_research.benchmarks.base import Json
from auto_research.errors import UserError, did_you_mean

T = TypeVar("T")

SLOT_TYPES: Mapping[Slot, type[Operator]] = {
    "retrieval": RetrievalPolicy,
    "update": LibraryUpdate,
    "reward": Reward,
    "rollout": Rollout,
}


@dataclass(frozen=True, slots=True)
class Entry(Generic[T]):
    """Something registered under a name, and the plugin that registered it."""

    name: str
    value: T
    plugin: str


@dataclass(frozen=True, slots=True)
class MethodSource:
    """A method as written: its unvalidated data, and where it stands (for messages)."""

    data: Mapping[str, Json]
    where: str


class Catalog(Protocol):
    """Where methods and operators are looked up."""

    @property
    def operators(self) -> Mapping[Slot, Mapping[str, Entry[type[Operator]]]]:
        """Operators by slot, then name; every slot is present."""

    @property
    def methods(self) -> Mapping[str, Entry[MethodSource]]:
        """Methods by name."""


def find(kind: str, name: str, entries: Mapping[str, Entry[T]], *, where: str = "") -> T:
    """The value registered under `name`. Raises UserError with the nearest name."""
    if name not in entries:
        raise UserError(f"unknown {kind} {name!r}", where=where, mend=did_you_mean(name, entries))
    return entries[name].value
