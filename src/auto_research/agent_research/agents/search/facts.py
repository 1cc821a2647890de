"""Facts, indexed so that a pattern finds its matches without looking at all the others."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from auto_research.pddl import Atom, Problem
from auto_research.pddl.strips import State


class Index:
    """A growing set of facts, found by predicate and any one argument."""

    def __init__(self, atoms: Iterable[Atom] = ()) -> None:
        self.atoms: set[Atom] = set()
        self._lists: dict[tuple[str, int, str], list[Atom]] = {}
        for atom in sorted(atoms):
            self.add(atom)

    def add(self, atom: Atom) -> None:
        """Add a fact that is not there yet."""
        self.atoms.add(atom)
        self._lists.setdefault((atom[0], 0, ""), []).append(atom)
        for position, thing in enumerate(atom[1:], 1):
            self._lists.setdefault((atom[0], position, thing), []).append(atom)

    def candidates(self, pattern: Atom) -> Sequence[Atom]:
        """The shortest list known to hold every fact that `pattern` could match."""
        best: Sequence[Atom] = self._lists.get((pattern[0], 0, ""), ())
        for position, thing in enumerate(pattern[1:], 1):
            if not thing.startswith("?"):
                found = self._lists.get((pattern[0], position, thing), ())
                if len(found) < len(best):
                    best = found
        return best


class Facts:
    """The facts of a changing state; its index is made anew when it is first asked."""

    def __init__(self, problem: Problem) -> None:
        self._static = Index(problem.static)
        self._fluents = problem.domain.fluents
        self._state: State = frozenset()
        self._current: Index | None = None

    @property
    def state(self) -> State:
        return self._state

    @state.setter
    def state(self, state: State) -> None:
        self._state, self._current = state, None

    def candidates(self, pattern: Atom) -> Sequence[Atom]:
        """As `Index.candidates`, over the state and the static facts."""
        if pattern[0] not in self._fluents:
            return self._static.candidates(pattern)
        if self._current is None:
            self._current = Index(self._state)
        return self._current.candidates(pattern)


def unify(pattern: Atom, fact: Atom, binding: dict[str, str]) -> dict[str, str] | None:
    """`binding` extended so that `pattern` becomes `fact`, or None."""
    if len(pattern) != len(fact) or pattern[0] != fact[0]:
        return None
    more = dict(binding)
    for x, y in zip(pattern[1:], fact[1:], strict=True):
        if x.startswith("?"):
            if more.setdefault(x, y) != y:
                return None
        elif x != y:
            return None
    return more
