"""What a successful plan shows: who produced what for whom, and the rules that follow from it.

Explanation-based learning (Mitchell et al. 1986) over the plan's causal structure: the chain that
ties a rule's free objects to its head, and what was given, are what the steps that led up to the
action did not have to bring about.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from auto_research.agent_research.agents.search.rules import (
    Charge,
    OrderHint,
    Program,
    Rule,
    merge_rules,
)
from auto_research.pddl import Atom, Domain, Problem, Step
from auto_research.pddl.strips import Ground, State, instantiate

LEVELS = 4  # how many producer levels of the causal tree are searched for a chain


def trim(
    problem: Problem, start: State, goal: Iterable[Atom], plan: Sequence[Step], charge: Charge
) -> list[Step]:
    """`plan` without the steps it can do without; every simulated step is charged as ``act``."""
    goal = frozenset(goal)
    kept = [g for s in plan if (g := instantiate(problem.domain, s)) is not None]
    index = 0
    while index < len(kept):
        shorter = _without(kept, index, start, goal, charge)
        if shorter is None:
            index += 1
        else:
            kept = shorter
    return [g.step for g in kept]


def _without(
    kept: list[Ground], index: int, start: State, goal: frozenset[Atom], charge: Charge
) -> list[Ground] | None:
    """The plan without step `index` and whatever then no longer applies, if it still succeeds."""
    state = start
    left: list[Ground] = []
    for position, ground in enumerate(kept):
        if position == index:
            continue
        charge("act", 1)
        if all(a in state for a in ground.pre):
            state = ground.apply(state)
            left.append(ground)
        elif position < index:
            return None
    return left if goal <= state else None


@dataclass(slots=True)
class _Trace:
    """A plan with, for every step, who produced each of its preconditions."""

    grounds: list[Ground]
    states: list[State]
    producers: list[dict[Atom, int]]
    consumers: list[set[Atom]]  # facts that a step supplied to a later step or a goal
    owner: list[Atom | None]  # the first goal that a step served
    achieved: dict[Atom, int]  # goal -> the step that achieved it for good (-1: true at start)


def _trace(domain: Domain, start: State, goal: Iterable[Atom], plan: Sequence[Step]) -> _Trace:
    grounds = [g for s in plan if (g := instantiate(domain, s)) is not None]
    states = [start]
    last: dict[Atom, int] = {}
    producers: list[dict[Atom, int]] = []
    supplies: list[set[Atom]] = [set() for _ in grounds]
    for index, ground in enumerate(grounds):
        made = {a: last.get(a, -1) for a in ground.pre}
        producers.append(made)
        for atom, by in made.items():
            if by >= 0:
                supplies[by].add(atom)
        for atom in ground.delete:
            last.pop(atom, None)
        for atom in ground.add:
            last[atom] = index
        states.append(ground.apply(states[-1]))
    achieved = {a: last.get(a, -1) for a in sorted(goal)}
    for atom, by in achieved.items():
        if by >= 0:
            supplies[by].add(atom)
    owner: list[Atom | None] = [None] * len(grounds)
    for atom, by in sorted(achieved.items(), key=lambda item: (item[1], item[0])):
        waiting = [by]
        while waiting:
            step = waiting.pop()
            if step >= 0 and owner[step] is None:
                owner[step] = atom
                waiting += producers[step].values()
    return _Trace(grounds, states, producers, supplies, owner, achieved)


def learn(domain: Domain, start: State, goal: Sequence[Atom], plan: Sequence[Step]) -> Program:
    """The rules and order hints that a (trimmed) plan from `start` to `goal` shows."""
    trace = _trace(domain, start, goal, plan)
    rules: list[Rule] = []
    for index in range(len(trace.grounds)):
        for fact in sorted(trace.consumers[index]):
            rule = _rule(domain, trace, index, fact)
            if rule is not None:
                rules.append(rule)
    served = [a for a, by in trace.achieved.items() if by >= 0]
    return Program(merge_rules(rules), _hints(trace, served), frozenset(a[0] for a in served))


def _rule(domain: Domain, trace: _Trace, index: int, fact: Atom) -> Rule | None:
    ground = trace.grounds[index]
    if len(set(fact[1:])) != len(fact[1:]):
        return None
    static = [g.static for g in trace.grounds]
    since = _false_since(trace, index, fact)
    levels = _levels(trace, index, since)
    taken = [_taken_as_given(trace, level, index, since) for level in levels]
    # What the action moves on from has some value in every state: never a subgoal.
    moved = [a for a in ground.pre if a in ground.delete and a[0] == fact[0]]
    taken[0] = own = list(dict.fromkeys([*taken[0], *moved]))
    linked = _linked({*fact[1:], *domain.constants}, (*ground.static, *own))
    chain = list(ground.static)
    for thing in ground.step[1:]:
        if thing not in linked:
            path = _chain(linked | set(domain.constants), thing, [*map(tuple, taken)])
            chain += [a for a in path if a not in chain]
            linked = _linked(linked | {thing}, chain)
    free = [x for x in ground.step[1:] if x not in fact[1:]]
    binders = [a for a in own if a not in chain and set(a[1:]) & set(free)]
    chain += [a for a in binders if _ties(a, fact, ground.step)]
    inside = [a for level in taken[1:] for a in level if a[1:] and set(a[1:]) <= {*ground.step[1:]}]
    known = {x for a in (fact, ground.step, *chain) for x in a[1:]}
    ties = _ties_between(known, [a for level in levels[1:] for s in level for a in static[s]])
    given = [a for a in dict.fromkeys([*own, *inside, *ties]) if a not in chain]
    names = _names(domain, trace, index, levels)
    for number, x in enumerate(dict.fromkeys(x for a in ties for x in a[1:] if x not in known), 1):
        names[x] = f"?tie{number}"
    order = sorted(ground.pre, key=lambda a: (trace.producers[index][a], ground.pre.index(a)))

    def lift(atom: Atom) -> Atom:
        return (atom[0], *(names.get(x, x) for x in atom[1:]))

    return Rule(
        head=lift(fact),
        action=lift(ground.step),
        needs=tuple(map(lift, order)),
        static=tuple(map(lift, ground.static)),
        via=tuple(lift(a) for a in dict.fromkeys(chain) if a not in ground.static),
        given=tuple(map(lift, given)),
    )


def _ties(atom: Atom, fact: Atom, step: Step) -> bool:
    """Whether an own precondition joins a free object of the action to another of its objects."""
    inside = set(atom[1:]) & set(step[1:])
    return len(inside) > 1


def _ties_between(known: set[str], pool: Sequence[Atom]) -> list[Atom]:
    """Static facts that tie known objects together through another one, which they all name."""
    through: dict[str, list[Atom]] = {}
    for atom in dict.fromkeys(pool):
        others = [x for x in atom[1:] if x not in known]
        if len(others) == 1 and len(atom) > 2:
            through.setdefault(others[0], []).append(atom)
    return [
        atom
        for _, atoms in sorted(through.items())
        if len({x for a in atoms for x in a[1:] if x in known}) > 1
        for atom in atoms
    ]


def _false_since(trace: _Trace, index: int, fact: Atom) -> int:
    """The first state of the stretch before step `index` in which `fact` was false throughout."""
    since = index
    while since > 0 and fact not in trace.states[since - 1]:
        since -= 1
    return since


def _levels(trace: _Trace, index: int, since: int) -> list[list[int]]:
    """Step `index`, then its producers level by level: not before `since`, for the same goal."""
    levels, found = [[index]], {index}
    while len(levels) < LEVELS:
        above = [
            by
            for step in levels[-1]
            for atom, by in trace.producers[step].items()
            if by >= since and len(atom) > 1 and trace.owner[by] == trace.owner[index]
        ]
        fresh = [step for step in dict.fromkeys(above) if step not in found]
        if not fresh:
            break
        found |= set(fresh)
        levels.append(fresh)
    return levels


def _taken_as_given(trace: _Trace, level: list[int], index: int, since: int) -> list[Atom]:
    """What the steps of a level did not have to bring about: static facts, and supplied ones."""
    atoms: dict[Atom, None] = {}
    for step in level:
        if step != index:
            atoms |= dict.fromkeys(trace.grounds[step].static)
        for atom, by in trace.producers[step].items():
            if by < since or trace.owner[by] != trace.owner[index]:
                atoms[atom] = None
    return list(atoms)


def _linked(start: set[str], atoms: Iterable[Atom]) -> set[str]:
    """Objects joined to `start` by chains of `atoms`."""
    near, rest = set(start), list(atoms)
    while True:
        more = [a for a in rest if near & set(a[1:]) and not set(a[1:]) <= near]
        if not more:
            return near
        for atom in more:
            near |= set(atom[1:])


def _chain(start: set[str], thing: str, levels: Sequence[Sequence[Atom]]) -> list[Atom]:
    """The shortest chain of atoms from `start` to `thing`, from as few levels as will do."""
    pool: list[Atom] = []
    for level in levels:
        pool += [a for a in level if len(a) > 2]
        paths: dict[str, list[Atom]] = {x: [] for x in sorted(start)}
        frontier = list(paths)
        while frontier and thing not in paths:
            following: list[str] = []
            for near in frontier:
                for atom in pool:
                    if near in atom[1:]:
                        for x in atom[1:]:
                            if x not in paths:
                                paths[x] = [*paths[near], atom]
                                following.append(x)
            frontier = following
        if thing in paths:
            return paths[thing]
    return []


def _names(domain: Domain, trace: _Trace, index: int, levels: list[list[int]]) -> dict[str, str]:
    """A variable for every object of the causal tree, named after the parameter it filled."""
    names: dict[str, str] = {}
    for step in (s for level in levels for s in level):
        action = trace.grounds[step].step
        for param, thing in zip(domain.schemas[action[0]].params, action[1:], strict=True):
            if thing not in names and thing not in domain.constants:
                names[thing] = _fresh(param, names.values())
    return names


def _fresh(param: str, taken: Iterable[str]) -> str:
    name, number, known = param, 2, set(taken)
    while name in known:
        name, number = f"{param}{number}", number + 1
    return name


def _hints(trace: _Trace, goals: Sequence[Atom]) -> dict[OrderHint, int]:
    hints: dict[OrderHint, int] = {}
    ordered = sorted(goals, key=lambda a: (trace.achieved[a], a))
    for early, first in enumerate(ordered):
        for second in ordered[early + 1 :]:
            for i, x in enumerate(second[1:]):
                for j, y in enumerate(first[1:]):
                    if x == y:
                        key = (second[0], i, first[0], j)
                        hints[key] = hints.get(key, 0) + 1
    return hints
