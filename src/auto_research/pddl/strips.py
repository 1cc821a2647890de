"""Plain values for a STRIPS domain and problem, and the meaning of one action.

An atom is a tuple ``(predicate, *arguments)``; an argument that starts with ``?`` is a variable.
A type is a static atom with a colon, ``(":truck", "t1")``, so that a reader of conditions needs
one notion only. A negative precondition ``(not (p x))`` is the positive atom ``("not p", x)``,
which every effect on ``p`` keeps in step.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

Atom = tuple[str, ...]
Step = tuple[str, ...]  # a ground action: (name, *objects)
State = frozenset[Atom]


@dataclass(frozen=True)
class Schema:
    """One action. `pre` holds types and static atoms too; `add` and `delete` only fluents."""

    name: str
    params: tuple[str, ...]
    pre: tuple[Atom, ...]
    add: tuple[Atom, ...]
    delete: tuple[Atom, ...]


@dataclass(frozen=True)
class Domain:
    """Action schemas, type tree (child to parent) and predicates with their arity."""

    name: str
    parents: Mapping[str, str]
    predicates: Mapping[str, int]
    schemas: Mapping[str, Schema]
    constants: Mapping[str, str] = field(default_factory=dict)
    negated: frozenset[str] = frozenset()  # predicates that some precondition negates
    predicate_types: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @cached_property
    def fluents(self) -> frozenset[str]:
        """Predicates that some action changes."""
        return frozenset(a[0] for s in self.schemas.values() for a in (*s.add, *s.delete))

    def ancestors(self, kind: str) -> list[str]:
        """`kind` and the types above it, below ``object``."""
        found: list[str] = []
        while kind != "object" and kind not in found:
            found.append(kind)
            kind = self.parents.get(kind, "object")
        return found


@dataclass(frozen=True)
class Problem:
    """One task in a domain. `static` never changes; `init` holds the fluents that are true."""

    name: str
    domain: Domain
    objects: Mapping[str, str]
    static: State
    init: State
    goal: tuple[Atom, ...]

    @cached_property
    def static_by_name(self) -> Mapping[str, tuple[Atom, ...]]:
        """Static atoms by predicate, sorted."""
        return group(self.static)


def substitute(atom: Atom, binding: Mapping[str, str]) -> Atom:
    """`atom` with variables replaced where bound."""
    return (atom[0], *(binding.get(x, x) for x in atom[1:]))


def group(atoms: Iterable[Atom]) -> dict[str, tuple[Atom, ...]]:
    """Atoms by predicate, each group sorted."""
    by_name: dict[str, list[Atom]] = {}
    for atom in sorted(atoms):
        by_name.setdefault(atom[0], []).append(atom)
    return {name: tuple(found) for name, found in by_name.items()}


@dataclass(frozen=True)
class Ground:
    """A ground action's meaning: fluent preconditions, static ones, and effects."""

    step: Step
    pre: tuple[Atom, ...]
    static: tuple[Atom, ...]
    add: tuple[Atom, ...]
    delete: tuple[Atom, ...]

    def applicable(self, state: State, static: State) -> bool:
        return all(a in state for a in self.pre) and all(a in static for a in self.static)

    def apply(self, state: State) -> State:
        return (state - frozenset(self.delete)) | frozenset(self.add)


def instantiate(domain: Domain, step: Step) -> Ground | None:
    """The meaning of a ground action, or None if there is no such action or arity."""
    schema = domain.schemas.get(step[0])
    if schema is None or len(schema.params) != len(step) - 1:
        return None
    binding = dict(zip(schema.params, step[1:], strict=True))
    pre = [substitute(a, binding) for a in schema.pre]
    add = tuple(substitute(a, binding) for a in schema.add)
    # Where an action adds and deletes one atom, the atom is true after it: no complement then.
    false_add = {("not " + a[0], *a[1:]) for a in add}
    return Ground(
        step=step,
        pre=tuple(a for a in pre if a[0] in domain.fluents),
        static=tuple(a for a in pre if a[0] not in domain.fluents),
        add=tuple(a for a in add if a not in false_add),
        delete=tuple(substitute(a, binding) for a in schema.delete),
    )
