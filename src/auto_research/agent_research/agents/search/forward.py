"""Search from scratch: ground what is relaxed-reachable, then go greedy best-first; all charged.

This is what the agent does without an applicable skill, and its local repair when a skill gets
stuck. It is domain-independent: a state is a bit mask over the reachable fluents, the heuristic
counts unmet goals, ties go to the state found first. Where advice was given (`advice.py`), ties go
to the state on whose way the actions weigh least, then to the one found first.
"""

from __future__ import annotations

import heapq
import itertools
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence

from auto_research.agent_research.agents.search.course import Course
from auto_research.agent_research.agents.search.facts import Index, unify
from auto_research.agent_research.agents.search.memory import Charge, Memory
from auto_research.pddl import Atom, Problem, Schema, Step, substitute
from auto_research.pddl.strips import State, instantiate

NEUTRAL = 1  # what an action weighs that no advice speaks of, once advice was given


class Searcher:
    """Forward search over one problem. Grounding happens once, on first use, and is charged.

    `weights`: what each action weighs, by name; without any, all ways are alike. `memory` is that
    of the problem, where it has been met before.
    """

    def __init__(
        self,
        problem: Problem,
        charge: Charge,
        weights: Mapping[str, int] | None = None,
        memory: Memory | None = None,
    ) -> None:
        self._problem, self._charge = problem, charge
        self._weights = weights or {}
        self._memory = memory or Memory()
        self._key = tuple(sorted(self._weights.items()))
        self._operators: _Operators | None = None
        self._tried: Counter[str] = Counter()

    @property
    def tried(self) -> Mapping[str, int]:
        """By action, how many states it has led to in all searches so far."""
        return self._tried

    def plan(
        self, start: State, goal: Iterable[Atom], limit: int | None = None
    ) -> list[Step] | None:
        """Steps from `start` to a state with all of `goal`, or None.

        None means no plan exists or `limit` expansions were not enough. Each expansion costs one
        unit of kind ``expand``. Raises BudgetExceeded.
        """
        if self._operators is None:
            self._operators = self._memory.recall(
                self._key,
                "ground",
                self._charge,
                lambda charge: _Operators(self._problem, charge, self._weights),
            )
        ends = self._operators.ends(start, [a for a in goal if a not in self._problem.static])
        return None if ends is None else self._search(*ends, limit)

    def _search(self, first: int, target: int, limit: int | None) -> list[Step] | None:
        assert self._operators is not None
        if first & target == target:
            return []
        key = (self._key, first, target)
        course, done = self._memory.courses.get(key, Course()), 0
        try:
            while done < course.expansions and (limit is None or done < limit):
                self._charge("expand", 1)
                done += 1
            if not course.ended and (limit is None or done < limit):
                self._charge("expand", 1)  # what is not known yet is begun only if it can be paid
                course, charge = Course(), self._charge_after(done + 1)
                try:
                    self._operators.search(first, target, limit, charge, course)
                finally:
                    done = course.expansions
                    self._memory.keep(key, course)
        finally:
            self._tried += course.tried(done)
        if course.steps is None or done < course.expansions:
            return None
        return list(course.steps)

    def _charge_after(self, paid: int) -> Charge:
        """Charges what comes after the first `paid` units."""

        def charge(kind: str, units: int) -> None:
            nonlocal paid
            if paid:
                paid -= units
            else:
                self._charge(kind, units)

        return charge


_Entry = tuple[int, int, int, int, Step]  # preconditions, what is kept, added; weight; the action


class _Operators:
    """Ground actions as bit masks, indexed by one precondition so that few are ever looked at."""

    def __init__(self, problem: Problem, charge: Charge, weights: Mapping[str, int]) -> None:
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
        self.always: list[_Entry] = []
        self.watching: dict[int, list[_Entry]] = {}
        for ground in grounds:
            entry = (
                self.mask(ground.pre),
                ~self.mask(a for a in ground.delete if a in self.bit),
                self.mask(ground.add),
                weights.get(ground.step[0], NEUTRAL) if weights else 0,
                ground.step,
            )
            if ground.pre:
                watched = min(ground.pre, key=lambda a: (uses[a], self.bit[a]))
                self.watching.setdefault(1 << self.bit[watched], []).append(entry)
            else:
                self.always.append(entry)
        self._watched = sum(self.watching)

    def mask(self, atoms: Iterable[Atom]) -> int:
        mask = 0
        for atom in atoms:
            mask |= 1 << self.bit[atom]
        return mask

    def ends(self, start: State, goal: Sequence[Atom]) -> tuple[int, int] | None:
        """The masks of start and goal; None if nothing leads to some of the goal."""
        if any(a not in self.bit for a in goal):
            return None
        return self.mask(a for a in start if a in self.bit), self.mask(goal)

    def search(
        self, first: int, target: int, limit: int | None, charge: Charge, course: Course
    ) -> None:
        """See `Searcher.plan`. What it did is in `course`, even where the units do not suffice."""
        parents: dict[int, tuple[int, Step] | None] = {first: None}
        try:
            self._expand(first, target, limit, charge, parents, course)
        finally:
            course.record(link[1][0] for link in parents.values() if link is not None)

    def _expand(
        self,
        first: int,
        target: int,
        limit: int | None,
        charge: Charge,
        parents: dict[int, tuple[int, Step] | None],
        course: Course,
    ) -> None:
        wanted = target.bit_count()
        rank = (wanted - (target & first).bit_count(), 0)  # unmet goals, weight of the way
        waiting = {rank: deque([first])}  # by rank, those of one rank in the order found
        ranks = [rank]  # a heap
        watching, always, found = self.watching, self.always, course.found
        while ranks and (limit is None or len(found) < limit):
            rank = ranks[0]
            state = waiting[rank].popleft()
            if not waiting[rank]:
                del waiting[heapq.heappop(ranks)]
            way = rank[1]
            charge("expand", 1)
            rest = state & self._watched
            entries: list[_Entry] = list(always)
            while rest:
                low = rest & -rest
                rest ^= low
                entries += watching[low]
            for pre, keep, add, weight, step in entries:
                if pre & state != pre:
                    continue
                new = (state & keep) | add
                if new in parents:
                    continue
                parents[new] = (state, step)
                unmet = wanted - (target & new).bit_count()
                if not unmet:
                    found.append(len(parents) - 1)
                    course.ended, course.steps = True, _path(parents, new)
                    return
                rank = (unmet, way + weight)
                if rank in waiting:
                    waiting[rank].append(new)
                else:
                    waiting[rank] = deque([new])
                    heapq.heappush(ranks, rank)
            found.append(len(parents) - 1)
        course.ended = not ranks


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

    A fact is joined once, after it was first reached, with what was joined before it.
    """
    facts = Index(problem.static)
    found: dict[Step, None] = {}
    reached = set(problem.init)
    waiting = deque(sorted(problem.init))
    triggers: dict[str, list[tuple[Schema, Atom]]] = {}

    def take(schema: Schema, bindings: Iterator[dict[str, str]]) -> None:
        for binding in list(bindings):
            step = (schema.name, *(binding[p] for p in schema.params))
            if step not in found:
                charge("ground", 1)
                found[step] = None
                for effect in schema.add:
                    atom = substitute(effect, binding)
                    if atom not in reached:
                        reached.add(atom)
                        waiting.append(atom)

    for schema in problem.domain.schemas.values():
        fluents = [a for a in schema.pre if a[0] in problem.domain.fluents]
        for condition in fluents:
            triggers.setdefault(condition[0], []).append((schema, condition))
        if not fluents:
            take(schema, _bindings(schema, schema.pre, {}, facts, problem))
    while waiting:
        fact = waiting.popleft()
        facts.add(fact)
        for schema, condition in triggers.get(fact[0], ()):
            start = unify(condition, fact, {})
            if start is not None:
                rest = [a for a in schema.pre if a is not condition]
                take(schema, _bindings(schema, rest, start, facts, problem))
    return sorted(found)


def _bindings(
    schema: Schema, left: Sequence[Atom], binding: dict[str, str], facts: Index, problem: Problem
) -> Iterator[dict[str, str]]:
    """Ways to complete `binding` so that all of `left` are among `facts`."""
    undecided: list[Atom] = []
    for pattern in left:
        lifted = substitute(pattern, binding)
        if any(x.startswith("?") for x in lifted[1:]):
            undecided.append(lifted)
        elif lifted not in facts.atoms:
            return
    if not undecided:
        loose = [p for p in schema.params if p not in binding]
        for objects in itertools.product(sorted(problem.objects), repeat=len(loose)):
            yield {**binding, **dict(zip(loose, objects, strict=True))}
        return
    choices = [facts.candidates(a) for a in undecided]
    best = min(range(len(undecided)), key=lambda i: len(choices[i]))
    rest = undecided[:best] + undecided[best + 1 :]
    for fact in choices[best]:
        more = unify(undecided[best], fact, binding)
        if more is not None:
            yield from _bindings(schema, rest, more, facts, problem)
