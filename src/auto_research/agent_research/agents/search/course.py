"""What a search did, expansion by expansion: a shorter search for the same is a part of it."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterable

from auto_research.pddl import Step


class Course:
    """A search as far as it went. `ended`: it found `steps`, or None where no plan exists."""

    def __init__(self) -> None:
        self.ended = False
        self.steps: list[Step] | None = None
        self.found = array("L")  # states, by the end of each expansion
        self._names: list[str] = []
        self._tried = array("H")  # numbers of actions, one for each state, in the order found

    @property
    def expansions(self) -> int:
        return len(self.found)

    def record(self, actions: Iterable[str]) -> None:
        """Keep which action led to each state, in the order in which they were found."""
        numbers: dict[str, int] = {}
        self._tried = array("H", [numbers.setdefault(a, len(numbers)) for a in actions])
        self._names = list(numbers)

    def tried(self, expansions: int) -> Counter[str]:
        """By action, how many states it had led to by the end of so many expansions."""
        states = self.found[expansions - 1] if expansions else 0
        counts = Counter(self._tried[:states])
        return Counter({self._names[number]: count for number, count in counts.items()})
