"""Search from scratch: ground what is relaxed-reachable, then go greedy best-first; all charged.

This is what the agent does without an applicable skill, and its local repair when a skill gets
stuck. It is domain-independent: a state is a bit mask over the reachable fluents, the heuristic
counts unmet goals, ties go to the state found first.
"""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence

from auto_research.agent_research.agents.search.facts import Index, unify
from auto_research.pddl import Atom, Problem, Schema, Step, substitute
from auto_research.pddl.strips import State, instantiate

Charge = Callable[[str, int], None]


class Searcher:
    """Forward search over one problem. Grounding happens once, on first use, and is charged."""

    def __init__(self, problem: Problem, charge: Charge) -> None:
        self._problem, self._charge = problem, charge
        self._operators: _Operators | None = None

    def plan(
        self, start: State, goal: Iterable[Atom], limit: int | None = None
    ) -> list[Step] | None:
        """Steps from `start` to a state with all of `goal`, or None.

        None means no plan exists or `limit` expansions were not enough. Each expansion costs one
        unit of kind ``expand``. Raises BudgetExceeded.
        """
        if self._operators is None:
            self._operators = _Operators(self._problem, self._charge)
        open_goals = [a for a in goal if a not in self._problem.static]
        return self._operators.search(start, open_goals, limit, self._charge)


class _Operators:
    """Ground actions as bit masks, indexed by one precondition so that few are ever looked at."""

    def __init__(self, problem: Problem, charge: Charge) -> None:
        self.bit: dict[Atom, int] = {a: i for i, a in enumerate(sorted(problem.init))}
        steps = list(reachable_steps(problem, charge))
        grounds = [g for s in steps if (g := instantiate(problem.domain, s)) is not None]
        for ground in grounds:
            for atom in (*ground.pre, *ground.add):
                self.bit.setdefault(atom, len(self.bit))
        uses: dict[Atom, int] = {}
        for ground in grounds:
            for atom in ground.pre:
                uses[atom] = uses.get(atom, 0) + 1
        self.always: list[tuple[int, int, int, Step]] = []
        self.watching: dict[int, list[tuple[int, int, int, Step]]] = {}
        for ground in grounds:
            entry = (
                self.mask(ground.pre),
                ~self.mask(a for a in ground.delete if a in self.bit),
                self.mask(ground.add),
                ground.step,
            )
            if ground.pre:
                watched = min(ground.pre, key=lambda a: (uses[a], self.bit[a]))
                self.watching.setdefault(1 << self.bit[watched], []).append(entry)
            else:
                self.always.append(entry)

    def mask(self, atoms: Iterable[Atom]) -> int:
        return sum(1 << self.bit[a] for a in set(atoms))

    def search(
        self, start: State, goal: Sequence[Atom], limit: int | None, charge: Charge
    ) -> list[Step] | None:
        if any(a not in self.bit for a in goal):
            return None
        target = self.mask(goal)
        first = self.mask(a for a in start if a in self.bit)
        if first & target == target:
            return []
        order = itertools.count()
        parents: dict[int, tuple[int, Step] | None] = {first: None}
        queue = [((target & ~first).bit_count(), next(order), first)]
        watching, always = self.watching, self.always
        while queue and (limit is None or limit > 0):
            state = heapq.heappop(queue)[2]
            charge("expand", 1)
            limit = None if limit is None else limit - 1
            rest = state
            entries: list[tuple[int, int, int, Step]] = list(always)
            while rest:
                low = rest & -rest
                rest ^= low
                if low in watching:
                    entries += watching[low]
            for pre, keep, add, step in entries:
                if pre & state != pre:
                    continue
                new = (state & keep) | add
                if new in parents:
                    continue
                parents[new] = (state, step)
                if new & target == target:
                    return _path(parents, new)
                heapq.heappush(queue, ((target & ~new).bit_count(), next(order), new))
        return None


def _path(parents: dict[int, tuple[int, Step] | None], state: int) -> list[Step]:
    steps: list[Step] = []
    link = parents[state]
    while link is not None:
        state, step = link
        steps.append(step)
        link = parents[state]
    return steps[::-1]


def reachable_steps(problem: Problem, charge: Charge) -> list[Step]:
    """Every ground action reachable when nothing is ever deleted, sorted; one ``ground`` each.

    A fact is joined once, when it is first reached, with what was reached before it.
    """
    fluents = problem.domain.fluents
    facts = Index(problem.static)
    found: dict[Step, None] = {}
    waiting: list[Atom] = []
    schemas = [problem.domain.schemas[name] for name in sorted(problem.domain.schemas)]

    def take(schema: Schema, bindings: Iterator[dict[str, str]]) -> None:
        for binding in list(bindings):
            step = (schema.name, *(binding[p] for p in schema.params))
            if step not in found:
                charge("ground", 1)
                found[step] = None
                for atom in schema.add:
                    reach(substitute(atom, binding))

    def reach(atom: Atom) -> None:
        if atom not in facts.atoms:
            facts.add(atom)
            waiting.append(atom)

    for schema in schemas:
        if not any(a[0] in fluents for a in schema.pre):
            take(schema, _bindings(schema, list(schema.pre), {}, facts, problem))
    for atom in sorted(problem.init):
        reach(atom)
    while waiting:
        fact = waiting.pop(0)
        for schema in schemas:
            for condition in schema.pre:
                start = unify(condition, fact, {})
                if start is not None:
                    rest = [a for a in schema.pre if a is not condition]
                    take(schema, _bindings(schema, rest, start, facts, problem))
    return sorted(found)


def _bindings(
    schema: Schema, left: list[Atom], binding: dict[str, str], facts: Index, problem: Problem
) -> Iterator[dict[str, str]]:
    """Ways to complete `binding` so that all of `left` are among `facts`."""
    if not left:
        loose = [p for p in schema.params if p not in binding]
        for objects in itertools.product(sorted(problem.objects), repeat=len(loose)):
            yield {**binding, **dict(zip(loose, objects, strict=True))}
        return
    lifted = [substitute(a, binding) for a in left]
    choices = [facts.candidates(a) for a in lifted]
    best = min(range(len(left)), key=lambda i: len(choices[i]))
    rest = left[:best] + left[best + 1 :]
    for fact in tuple(choices[best]):
        more = unify(lifted[best], fact, binding)
        if more is not None:
            yield from _bindings(schema, rest, more, facts, problem)
