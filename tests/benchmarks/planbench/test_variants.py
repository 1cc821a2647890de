"""Renaming changes names only; drift adds one action that something needs."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from auto_research.benchmarks.planbench.render import instance_of, problem_text
from auto_research.benchmarks.planbench.sizes import SIZES
from auto_research.benchmarks.planbench.variants import (
    Names,
    Variant,
    rename_domain,
    rename_instance,
    rename_plan,
    variant_domain,
    variant_names,
)
from auto_research.benchmarks.planbench.walk import follow, random_walk
from auto_research.benchmarks.planbench.worlds import WORLDS
from auto_research.pddl import read_domain, read_problem, show_definition

_worlds = st.sampled_from(sorted(WORLDS))
_renaming: st.SearchStrategy[Variant] = st.sampled_from(["mystery", "deceptive"])


@given(_worlds, _renaming, st.integers(0, 2**32))
def test_a_walk_under_new_names_is_the_renamed_walk(
    world_name: str, variant: Variant, seed: int
) -> None:
    world, rng = WORLDS[world_name], random.Random(seed)
    plain = variant_domain(world, variant)
    domain = read_domain(show_definition(plain))
    counts = {name: span[0] for name, span in SIZES[world_name]["small"].items()}
    start = world.draw_start(rng, counts)
    problem = read_problem(problem_text(start, domain.name), domain)
    walk = random_walk(rng, problem, 6)
    objects = {name: f"new{i}" for i, name in enumerate(sorted(start.objects))}
    names = variant_names(rng, plain, variant).with_objects(objects)
    renamed = read_problem(
        problem_text(rename_instance(start, names), domain.name),
        read_domain(show_definition(rename_domain(plain, names))),
    )
    state = follow(renamed, rename_plan(walk.steps, names))
    assert state == frozenset(
        (names.predicates[a[0]], *(objects[x] for x in a[1:])) for a in walk.states[-1]
    )


@given(_worlds, st.integers(0, 2**32))
def test_deceptive_names_are_the_plain_ones_and_none_means_what_it_did(
    world_name: str, seed: int
) -> None:
    plain = variant_domain(WORLDS[world_name], "deceptive")
    names = variant_names(random.Random(seed), plain, "deceptive")
    assert set(names.actions) == set(names.actions.values())
    assert all(old != new for old, new in names.actions.items())
    arity = read_domain(show_definition(plain)).predicates
    assert set(names.predicates) == set(names.predicates.values())
    for old, new in names.predicates.items():
        alone = sum(n == arity[old] for n in arity.values()) == 1
        assert arity[old] == arity[new]
        assert alone or old != new


@given(_worlds, st.integers(0, 2**32))
def test_mystery_names_are_new_and_all_different(world_name: str, seed: int) -> None:
    plain = variant_domain(WORLDS[world_name], "mystery")
    names = variant_names(random.Random(seed), plain, "mystery")
    words = [*names.actions.values(), *names.predicates.values(), *names.types.values()]
    assert len(set(words)) == len(words)
    shown = show_definition(rename_domain(plain, names))
    known = {*names.actions, *names.predicates, *names.types}
    assert known.isdisjoint(shown.replace("(", " ").replace(")", " ").split())


@pytest.mark.parametrize("world_name", sorted(WORLDS))
def test_a_drifted_domain_has_one_action_more_and_the_need_is_used_up(world_name: str) -> None:
    world = WORLDS[world_name]
    plain = read_domain(show_definition(variant_domain(world, "plain")))
    drifted = read_domain(show_definition(variant_domain(world, "drifted")))
    (extra,) = set(drifted.schemas) - set(plain.schemas)
    (new,) = set(drifted.predicates) - set(plain.predicates)
    assert new in {a[0] for a in drifted.schemas[extra].add}
    assert world.drift.needs
    for action in world.drift.needs:
        schema = drifted.schemas[action]
        assert new in {a[0] for a in schema.pre}
        assert new in {a[0] for a in schema.delete}


def test_no_names_change_nothing() -> None:
    for world in WORLDS.values():
        plain = variant_domain(world, "plain")
        assert rename_domain(plain, Names()) == plain


@given(_worlds, st.integers(0, 2**32))
def test_a_problem_text_reads_back_as_the_instance(world_name: str, seed: int) -> None:
    world, rng = WORLDS[world_name], random.Random(seed)
    counts = {name: span[1] for name, span in SIZES[world_name]["large"].items()}
    start = world.draw_start(rng, counts)
    instance = start.with_goal(world.draw_goal(rng, counts, start))
    domain = read_domain(world.domain)
    again = instance_of(read_problem(problem_text(instance, domain.name), domain))
    assert again.objects == instance.objects
    assert again.init == tuple(sorted(instance.init))
    assert again.goal == tuple(sorted(instance.goal))
