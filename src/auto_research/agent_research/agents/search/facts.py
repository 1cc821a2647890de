"""Facts, indexed so that a pattern finds its matches without looking at all the others."""

from __future__ import annotations

from collections import defaultdict
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
    """The facts of a changing state.

    Each predicate has an index of its own, made anew when it is asked for after a change.
    """

    def __init__(self, problem: Problem) -> None:
        self._static = Index(problem.static)
        self._fluents = problem.domain.fluents
        self._state: State = frozenset()
        self._by_name: defaultdict[str, set[Atom]] = defaultdict(set)
        self._current: dict[str, Index] = {}

    @property
    def state(self) -> State:
        return self._state

    @state.setter
    def state(self, state: State) -> None:
        for atom in state ^ self._state:
            self._by_name[atom[0]] ^= {atom}
            self._current.pop(atom[0], None)
        self._state = state

    def candidates(self, pattern: Atom) -> Sequence[Atom]:
        """As `Index.candidates`, over the state and the static facts."""
        name = pattern[0]
        if name not in self._fluents:
            return self._static.candidates(pattern)
        if name not in self._current:
            self._current[name] = Index(self._by_name[name])
        return self._current[name].candidates(pattern)


def unify(pattern: Atom, fact: Atom, binding: dict[str, str]) -> dict[str, str] | None:
    """`binding` extended so that `pattern` becomes `fact`, or None."""
    if len(pattern) != len(fact) or pattern[0] != fact[0]:
        return None
    more = binding
    for x, y in zip(pattern[1:], fact[1:], strict=True):
        if x.startswith("?"):
            if x not in more:
                more = {**more, x: y}
            elif more[x] != y:
                return None
        elif x != y:
            return None
    return more
