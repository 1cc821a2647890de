"""The two arms: same start, same budget, nothing twice, always the same; what a child is."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

import pytest
from evolve_cases import methods, space
from hypothesis import given
from hypothesis import strategies as st

from auto_research.agent_research.operators import SLOTS
from auto_research.evolution.genome import Genome
from auto_research.evolution.search import Fitness, Place, fitness_of, open_arms, rounds
from auto_research.evolution.space import Space

Judge = Callable[[Genome], Fitness | None]


def search(
    judge: Judge, *, where: Space | None = None, population: int = 4, generations: int = 5
) -> list[Place]:
    """Every proposal of a search, in order."""
    seen: list[Place] = []

    def evaluate(places: Sequence[Place]) -> list[Fitness | None]:
        seen.extend(places)
        return [judge(place.proposal.genome) for place in places]

    arms = open_arms(where or space(), methods(), population, generations, seed=7)
    assert list(rounds(arms, generations, evaluate)) == sorted({p.generation for p in seen})
    return seen


def by_lot(genome: Genome) -> Fitness | None:
    """Any fitness, the same for the same genome; one in five fails."""
    rng = random.Random(genome.hash)
    return Fitness(rng.random(), rng.random()) if rng.random() > 0.2 else None


def likeness(genome: Genome) -> Fitness:
    """How near to a certain genome, and nothing to choose in cost."""
    wanted = space().draw(random.Random(3)).alleles
    near = sum(a.use == b.use for a, b in zip(genome.alleles, wanted, strict=True))
    same = sum(a == b for a, b in zip(genome.alleles, wanted, strict=True))
    return Fitness((near + same) / 8, 1.0)


def arm(places: Sequence[Place], name: str) -> list[Place]:
    return [place for place in places if place.arm == name]


def test_both_arms_start_from_sage_and_the_same_methods_at_the_same_budget() -> None:
    seen = search(by_lot)
    first = {
        name: [p.proposal for p in arm(seen, name) if p.generation == 0]
        for name in ("evolution", "random")
    }
    assert first["evolution"] == first["random"]
    assert first["evolution"][0].genome.hash == methods()[0].content_hash()
    assert set(first["evolution"][0].origins.values()) == {"method sage"}
    assert len(arm(seen, "evolution")) == len(arm(seen, "random")) == 20


@pytest.mark.parametrize("judge", [by_lot, likeness, lambda genome: None])
def test_no_arm_ever_proposes_a_genome_twice(judge: Judge) -> None:
    seen = search(judge, generations=12)
    for name in ("evolution", "random"):
        found = [place.proposal.genome.hash for place in arm(seen, name)]
        assert len(set(found)) == len(found) == 48


def test_the_same_search_proposes_the_same() -> None:
    assert search(by_lot) == search(by_lot)


def test_a_child_has_each_slot_from_where_it_says() -> None:
    seen = arm(search(by_lot, generations=8), "evolution")
    known = {place.proposal.genome.hash: place for place in seen}
    children = [place for place in seen if place.generation]
    for place in children:
        child = place.proposal
        for slot in SLOTS:
            origin = child.origins[slot]
            if origin != "drawn":
                assert origin in child.parents
                parent = known[origin].proposal.genome
                assert child.genome.slots()[slot] == parent.slots()[slot]
        assert all(known[parent].generation < place.generation for parent in child.parents)
    assert any(len(place.proposal.parents) == 2 for place in children)
    assert any("drawn" in place.proposal.origins.values() for place in children)


def test_a_failed_genome_has_no_children() -> None:
    seen = arm(search(by_lot, generations=8), "evolution")
    parents = {parent for place in seen for parent in place.proposal.parents}
    failed = {p.proposal.genome.hash for p in seen if by_lot(p.proposal.genome) is None}
    assert failed
    assert not parents & failed


def test_evolution_learns_from_what_it_is_told_and_random_search_does_not() -> None:
    seen = search(likeness, population=10, generations=10)

    def mean(name: str, generation: int) -> float:
        mine = [p.proposal.genome for p in arm(seen, name) if p.generation == generation]
        return sum(likeness(genome).joint for genome in mine) / len(mine)

    assert mean("evolution", 9) > mean("evolution", 0) + 0.2
    assert mean("evolution", 9) > mean("random", 9) + 0.2


def test_a_space_that_the_budget_covers_is_gone_through_whole_by_both_arms() -> None:
    narrow = space("keep sage, try other updates")
    seen = search(by_lot, where=narrow, population=5, generations=4)
    everything = {genome.hash for genome in narrow.everything()}
    for name in ("evolution", "random"):
        found = [place.proposal.genome.hash for place in arm(seen, name)]
        assert set(found) == everything
        assert len(found) == narrow.size


def test_a_space_as_large_as_the_budget_less_one_is_exhausted_without_a_repeat() -> None:
    narrow = space("keep sage, try other updates")
    budget = narrow.size - 1
    seen = search(by_lot, where=narrow, population=budget, generations=1)
    assert len(arm(seen, "evolution")) == budget


@pytest.mark.parametrize("bad", [True, False, float("nan"), float("inf"), None, "0.9", [], 10**400])
def test_what_is_no_number_is_no_fitness(bad: object) -> None:
    assert fitness_of(bad, 0.5) is None
    assert fitness_of(0.5, bad) is None


@given(st.floats(0, 1), st.floats(0, 10), st.floats(0, 1), st.floats(0, 10))
def test_more_success_is_better_then_less_cost(a: float, b: float, c: float, d: float) -> None:
    one, other = Fitness(a, b), Fitness(c, d)
    assert (one.order < other.order) == ((a > c) or (a == c and b < d))
