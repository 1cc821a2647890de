"""Find values for variables under which all of several facts hold, charged for each one tried."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from auto_research.agent_research.agents.search.facts import Facts, unify
from auto_research.pddl import Atom, substitute


class Joiner:
    """Joins patterns over the facts of a state; every value tried costs one ``match``."""

    def __init__(
        self, facts: Facts, objects: Iterable[str], spend: Callable[[str, int], None]
    ) -> None:
        self._facts, self._objects, self._spend = facts, sorted(objects), spend

    def join(
        self,
        patterns: list[Atom],
        binding: dict[str, str],
        names: list[str],
        found: dict[tuple[str, ...], None],
        most: int,
    ) -> None:
        """Add to `found`, up to `most`, the values of `names` under which all patterns hold."""
        if len(found) >= most:
            return
        if not patterns:
            self._complete(binding, names, found, most)
            return
        number, lifted, facts = self._narrowest(patterns, binding)
        rest = patterns[:number] + patterns[number + 1 :]
        for fact in facts:
            more = unify(lifted, fact, binding)
            if more is None:
                continue
            if len(more) > len(binding):
                self._spend("match", 1)
            self.join(rest, more, names, found, most)

    def _narrowest(
        self, patterns: list[Atom], binding: dict[str, str]
    ) -> tuple[int, Atom, Sequence[Atom]]:
        """The number of the pattern with the fewest facts to hold it against; it, bound; they."""
        found: list[tuple[int, Atom, Sequence[Atom]]] = []
        for number, pattern in enumerate(patterns):
            bound = substitute(pattern, binding)
            facts = self._facts.candidates(bound)
            if not found or len(facts) < len(found[-1][2]):
                found.append((number, bound, facts))
            if not facts:
                break
        return found[-1]

    def _complete(
        self,
        binding: dict[str, str],
        names: list[str],
        found: dict[tuple[str, ...], None],
        most: int,
    ) -> None:
        """Let variables that no pattern binds be any object."""
        loose = [n for n in names if n not in binding]
        if not loose:
            found[tuple(binding[n] for n in names)] = None
            return
        for thing in self._objects:
            if len(found) >= most:
                return
            self._spend("match", 1)
            self._complete({**binding, loose[0]: thing}, names, found, most)
