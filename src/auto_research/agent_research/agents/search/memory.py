"""What was worked out of a problem before, charged each time as if it were worked out anew.

Siblings of a group, and the trials of a search for methods, meet the same problem again and again.
Looking a result up saves time and no units, so nothing that is reported depends on it.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any, TypeVar

from auto_research.agent_research.agents.search.course import Course
from auto_research.errors import BudgetExceeded

Charge = Callable[[str, int], None]
T = TypeVar("T")
_KEPT = 256  # results of one problem


class Memory:
    """Results by what they were worked out from. One problem has one.

    `courses`: of searches, which may be known as far as somebody's units went.
    """

    def __init__(self) -> None:
        self._known: dict[Hashable, tuple[int, Any]] = {}
        self.courses: dict[Hashable, Course] = {}

    def keep(self, key: Hashable, course: Course) -> None:
        """Keep a course that goes further than the one that was known."""
        if key in self.courses or len(self.courses) < _KEPT:
            self.courses[key] = course

    def recall(self, key: Hashable, kind: str, charge: Charge, work: Callable[[Charge], T]) -> T:
        """What `work` gives, which charges one `kind` at a time and nothing else.

        Raises BudgetExceeded where `work` would; it is worked out then as far as the units go.
        """
        if key in self._known:
            amount, result = self._known[key]
            if _paid(kind, amount, charge):
                return result  # type: ignore[no-any-return]
        spent = 0

        def counted(kind: str, units: int) -> None:
            nonlocal spent
            charge(kind, units)
            spent += units

        made = work(counted)
        if len(self._known) < _KEPT:
            self._known[key] = spent, made
        return made


def _paid(kind: str, amount: int, charge: Charge) -> bool:
    try:
        if amount:
            charge(kind, amount)
    except BudgetExceeded:
        return False
    return True
