"""The facts of a state, indexed so that a pattern finds its matches at once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from auto_research.pddl import Atom, Problem
from auto_research.pddl.strips import State


class Facts:
    """The facts of a state, found by predicate and any one argument without enumerating them."""

    def __init__(self, problem: Problem) -> None:
        self._static = _indexed(problem.static)
        self._fluents = problem.domain.fluents
        self._state: State = frozenset()
        self._current: dict[tuple[str, int, str], list[Atom]] | None = None

    @property
    def state(self) -> State:
        return self._state

    @state.setter
    def state(self, state: State) -> None:
        self._state, self._current = state, None

    def candidates(self, pattern: Atom) -> Sequence[Atom]:
        """The shortest list of facts known to hold every fact that `pattern` could match."""
        if pattern[0] in self._fluents:
            if self._current is None:
                self._current = _indexed(self._state)
            index = self._current
        else:
            index = self._static
        best = index.get((pattern[0], 0, ""), ())
        for position, thing in enumerate(pattern[1:], 1):
            if not thing.startswith("?"):
                found = index.get((pattern[0], position, thing), ())
                if len(found) < len(best):
                    best = found
        return best


def _indexed(atoms: Iterable[Atom]) -> dict[tuple[str, int, str], list[Atom]]:
    index: dict[tuple[str, int, str], list[Atom]] = {}
    for atom in sorted(atoms):
        index.setdefault((atom[0], 0, ""), []).append(atom)
        for position, thing in enumerate(atom[1:], 1):
            index.setdefault((atom[0], position, thing), []).append(atom)
    return index
