"""Random walks in a STRIPS world: how starts, goals and given plans come out reachable."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from random import Random

from auto_research.pddl import Atom, Problem, Schema, Step
from auto_research.pddl.strips import Ground, State, group, instantiate, substitute


@dataclass(frozen=True)
class Walk:
    """The actions of a walk and the states it passed, the first one included."""

    steps: tuple[Step, ...]
    states: tuple[State, ...]


def random_walk(rng: Random, problem: Problem, length: int) -> Walk:
    """At most `length` actions from the problem's start that never come back to an earlier state.

    An action name is drawn first, then its objects, so that rare actions are walked too.
    """
    steps: list[Step] = []
    states: list[State] = [problem.init]
    for _ in range(length):
        by_name: dict[str, list[tuple[Step, State]]] = {}
        for ground in applicable(problem, states[-1]):
            after = ground.apply(states[-1])
            if after not in states:
                by_name.setdefault(ground.step[0], []).append((ground.step, after))
        if not by_name:
            break
        step, after = rng.choice(by_name[rng.choice(sorted(by_name))])
        steps.append(step)
        states.append(after)
    return Walk(tuple(steps), tuple(states))


def applicable(problem: Problem, state: State) -> list[Ground]:
    """The ground actions that can be done in `state`, sorted by name and objects."""
    atoms = {**problem.static_by_name, **group(state)}
    found = [
        step
        for schema in problem.domain.schemas.values()
        for step in _bindings(schema, atoms, sorted(problem.objects))
    ]
    return [g for step in sorted(set(found)) if (g := instantiate(problem.domain, step))]


def follow(problem: Problem, plan: tuple[Step, ...]) -> State | None:
    """The state after `plan`, or None if one of its actions cannot be done."""
    state = problem.init
    for step in plan:
        ground = instantiate(problem.domain, step)
        if ground is None or not ground.applicable(state, problem.static):
            return None
        state = ground.apply(state)
    return state


def _bindings(
    schema: Schema, atoms: Mapping[str, tuple[Atom, ...]], objects: list[str]
) -> Iterator[Step]:
    # The scarcest condition first keeps the join small.
    conditions = sorted(schema.pre, key=lambda a: len(atoms.get(a[0], ())))

    def extend(index: int, binding: Mapping[str, str]) -> Iterator[Mapping[str, str]]:
        if index == len(conditions):
            yield from _free(schema.params, binding, objects)
            return
        wanted = substitute(conditions[index], binding)
        for atom in atoms.get(wanted[0], ()):
            bound = _match(wanted, atom, binding)
            if bound is not None:
                yield from extend(index + 1, bound)

    for binding in extend(0, {}):
        yield (schema.name, *(binding[x] for x in schema.params))


def _match(wanted: Atom, atom: Atom, binding: Mapping[str, str]) -> Mapping[str, str] | None:
    bound = dict(binding)
    for want, have in zip(wanted[1:], atom[1:], strict=True):
        if want.startswith("?"):
            if bound.setdefault(want, have) != have:
                return None
        elif want != have:
            return None
    return bound


def _free(
    params: tuple[str, ...], binding: Mapping[str, str], objects: list[str]
) -> Iterator[Mapping[str, str]]:
    """Parameters that no condition mentions may be any object."""
    missing = [x for x in params if x not in binding]
    if not missing:
        yield binding
        return
    for thing in objects:
        yield from _free(params, {**binding, missing[0]: thing}, objects)
