"""How far the executor goes for a goal, and what it keeps in mind of each open subgoal."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from auto_research.agent_research.agents.search.facts import unify
from auto_research.pddl import Atom
from auto_research.pddl.strips import State


@dataclass(frozen=True, slots=True)
class Freedom:
    """How far the executor goes for a goal.

    It may break `goals` that stand, or what open subgoals still need (`needs`); it may `bring`
    about what was given whenever a rule was shown, and `stray` from the chain that tied a rule's
    objects together. `units` is what it may cost before the goal is given up.
    """

    goals: bool = False
    needs: bool = False
    bring: bool = False
    stray: bool = False
    units: int = 400


LADDER = (
    Freedom(units=200),
    Freedom(goals=True),
    Freedom(goals=True, bring=True),
    Freedom(goals=True, needs=True, bring=True),
    Freedom(goals=True, needs=True, bring=True, stray=True),
)


@dataclass(slots=True)
class Frame:
    """One fact being achieved: where it began, and what must stay true while it is worked on."""

    fact: Atom
    state: State
    length: int
    needs: tuple[Atom, ...] = ()
    turns: int = 1
    usual: tuple[Atom, ...] = ()  # what the rule at work found given: no order is known for it
    brought: set[Atom] = field(default_factory=set)

    def standing(self, work: Atom) -> Iterator[Atom]:
        """Needs that work on one of them must not break.

        Those brought about already, and those that the rule has shown to come before it.
        """
        earlier = True
        for need in self.needs:
            if need == work:
                earlier = False
            elif need in self.brought or (earlier and not self._given(need)):
                yield need

    def _given(self, need: Atom) -> bool:
        return any(unify(pattern, need, {}) is not None for pattern in self.usual)
