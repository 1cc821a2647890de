"""The scenarios of planbench-mini, drawn from (split, seed, number) and nothing else."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from random import Random

from auto_research.benchmarks.base import Split
from auto_research.benchmarks.planbench.questions import draw_question
from auto_research.benchmarks.planbench.render import instance_of, problem_text
from auto_research.benchmarks.planbench.sizes import REPLANNING_WALK, SIZES, Size
from auto_research.benchmarks.planbench.tasks import Draft, Entry, SealedTask, canary, scenario_of
from auto_research.benchmarks.planbench.variants import (
    VARIANTS,
    Variant,
    invented_words,
    rename_domain,
    rename_instance,
    variant_domain,
    variant_names,
)
from auto_research.benchmarks.planbench.walk import random_walk
from auto_research.benchmarks.planbench.worlds import WORLDS, Counts, Instance, World
from auto_research.pddl import Atom, Domain, read_domain, read_problem, show_definition
from auto_research.pddl.strips import State
from auto_research.rng import derive

_STREAM = "planbench-mini"
_MIDDLE = ("reuse", "replanning", "reformulation")
_TRIES = 1000


def scenarios(
    split: Split, seed: int, count: int, exclude: Collection[str] = ()
) -> Iterator[tuple[Entry, ...]]:
    """The first `count` scenarios of a split; `exclude` names base worlds to leave out."""
    for number in range(count):
        yield scenario(split, seed, number, exclude)


def scenario(
    split: Split, seed: int, number: int, exclude: Collection[str] = ()
) -> tuple[Entry, ...]:
    """Scenario `number` (from 0); it does not depend on how many are asked for."""
    world, variant = _combination(split, seed, number, exclude)
    rng = derive(seed, _STREAM, split, "scenario", number)
    plain = variant_domain(world, variant)
    domain = read_domain(show_definition(plain))
    names = variant_names(rng, plain, variant)
    text = show_definition(rename_domain(plain, names))
    staged = _staged_instances(rng, world, domain)
    prefixes = invented_words(rng, 1 + len(staged), syllables=1)
    shared = dict.fromkeys(name for _, instance in staged for name in instance.objects)
    own = names.with_objects(_object_names(rng, shared, prefixes[0]))
    drafts: list[Draft] = []
    for position, (size, instance) in enumerate(staged):
        origin = f"{split} {seed} {number} {position}"
        start = world.draw_start(rng, _counts(rng, SIZES[world.name]["question"]))
        fresh = _object_names(rng, start.objects, prefixes[1 + position])
        question = draw_question(rng, domain, start).renamed(names.with_objects(fresh))
        drafts.append(
            Draft(
                domain_text=text,
                problem_text=problem_text(rename_instance(instance, own), domain.name),
                question_text=question.text(domain.name),
                sealed=SealedTask(
                    world.name, variant, size, origin, canary(origin), text, question
                ),
            )
        )
    return scenario_of(drafts)


def _combination(
    split: Split, seed: int, number: int, exclude: Collection[str]
) -> tuple[World, Variant]:
    """Every world in every variant once a round, each round in its own order."""
    pairs = [(w, v) for name, w in WORLDS.items() if name not in exclude for v in VARIANTS]
    round_number, place = divmod(number, len(pairs))
    derive(seed, _STREAM, split, "order", round_number).shuffle(pairs)
    return pairs[place]


def _staged_instances(rng: Random, world: World, domain: Domain) -> list[tuple[str, Instance]]:
    """A small task, one that is related to it, and a large one, each with its size label."""
    sizes = SIZES[world.name]
    counts = _counts(rng, sizes["small"])
    first = _with_goal(rng, world, counts, world.draw_start(rng, counts))
    kind = rng.choice(_MIDDLE)
    if kind == "reuse":
        second = _fresh(rng, world, sizes["reuse"])
    elif kind == "replanning":
        second = _elsewhere(rng, domain, first)
    else:
        second = _with_goal(rng, world, counts, first, unlike=first.goal)
    return [("small", first), (kind, second), ("large", _fresh(rng, world, sizes["large"]))]


def _fresh(rng: Random, world: World, size: Size) -> Instance:
    counts = _counts(rng, size)
    return _with_goal(rng, world, counts, world.draw_start(rng, counts))


def _with_goal(
    rng: Random, world: World, counts: Counts, start: Instance, unlike: tuple[Atom, ...] = ()
) -> Instance:
    """`start` with a goal of the size asked for, of which at most half is true already."""
    facts = set(start.init)
    wanted = counts.get("goals", 1)
    for _ in range(_TRIES):
        goal = world.draw_goal(rng, counts, start)
        far = 2 * len(facts.intersection(goal)) <= len(goal)
        if len(goal) >= wanted and far and set(goal) != set(unlike):
            return start.with_goal(goal)
    raise RuntimeError(f"no goal of {world.name} {dict(counts)} is far from the start")


def _elsewhere(rng: Random, domain: Domain, first: Instance) -> Instance:
    """The first task after something happened: the same goal from a state walked to."""
    problem = read_problem(problem_text(first, domain.name), domain)
    for _ in range(_TRIES):
        state: State = random_walk(rng, problem, rng.randint(*REPLANNING_WALK)).states[-1]
        if not state.issuperset(problem.goal):
            here = instance_of(problem)
            static = tuple(a for a in here.init if a[0] not in domain.fluents)
            moved = tuple(a for a in sorted(state) if not a[0].startswith("not "))
            return Instance(first.objects, (*static, *moved), first.goal)
    raise RuntimeError("every walk reached the goal")


def _counts(rng: Random, size: Size) -> Counts:
    return {name: rng.randint(*span) for name, span in size.items()}


def _object_names(rng: Random, plain: Collection[str], prefix: str) -> dict[str, str]:
    """One prefix for all sorts, so that a name tells neither the sort nor the variant."""
    numbers = rng.sample(range(1, 1000), len(plain))
    return {name: f"{prefix}{n}" for name, n in zip(plain, numbers, strict=True)}
