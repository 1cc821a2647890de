"""Domains are held against each other by structure: names neither help nor mislead."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from search_examples import Bill, problem_of

from auto_research.agent_research.agents.search.analogy import (
    Analogy,
    find_analogy,
    interface_of,
)
from auto_research.benchmarks.base import Json
from auto_research.benchmarks.planbench.variants import (
    Variant,
    rename_domain,
    variant_domain,
    variant_names,
)
from auto_research.benchmarks.planbench.worlds import WORLDS
from auto_research.errors import BudgetExceeded
from auto_research.pddl import Atom, Domain, read_domain, show_definition
from auto_research.rng import derive


def domain_of(world: str, variant: Variant, draw: int = 0) -> Domain:
    plain = variant_domain(WORLDS[world], variant)
    names = variant_names(derive(draw, "analogy", world, variant), plain, variant)
    return read_domain(show_definition(rename_domain(plain, names)))


def found(here: Domain, there: Domain, bill: Bill | None = None) -> Analogy | None:
    return find_analogy(interface_of(here), there, (Bill() if bill is None else bill).charge)


def assert_keeps_meaning(analogy: Analogy, here: Domain, there: Domain) -> None:
    """Every action maps to one that asks for and does the same, or more if not exact."""
    assert set(analogy.actions) == set(here.schemas)
    assert len(set(analogy.actions.values())) == len(analogy.actions)
    assert len(set(analogy.predicates.values())) == len(analogy.predicates)
    for name, own in here.schemas.items():
        other = there.schemas[analogy.actions[name]]
        place = dict(zip(own.params, other.params, strict=True))
        for mine, theirs in (
            (own.pre, other.pre),
            (own.add, other.add),
            (own.delete, other.delete),
        ):
            moved = {translated(atom, analogy.predicates, place) for atom in mine}
            assert moved <= set(theirs)
            if analogy.exact:
                assert moved == set(theirs)


def translated(atom: Atom, names: Mapping[str, str], place: Mapping[str, str]) -> Atom:
    return (names[atom[0]], *(place[x] for x in atom[1:]))


@pytest.mark.parametrize("draw", range(3))
@pytest.mark.parametrize("variant", ["plain", "mystery", "deceptive"])
@pytest.mark.parametrize("world", WORLDS)
def test_a_renamed_domain_is_exactly_the_same(world: str, variant: Variant, draw: int) -> None:
    here, there = domain_of(world, "plain"), domain_of(world, variant, draw)
    for one, other in ((here, there), (there, here)):
        analogy = found(one, other)
        assert analogy is not None and analogy.exact
        assert_keeps_meaning(analogy, one, other)


@pytest.mark.parametrize("variant", ["plain", "mystery", "deceptive"])
@pytest.mark.parametrize("world", WORLDS)
def test_a_domain_with_one_action_more_is_known_in_part(world: str, variant: Variant) -> None:
    here, there = domain_of(world, variant), domain_of(world, "drifted")
    analogy = found(here, there)
    assert analogy is not None and not analogy.exact
    assert_keeps_meaning(analogy, here, there)
    assert found(there, here) is None


def test_domains_of_different_worlds_have_nothing_in_common() -> None:
    for one in WORLDS:
        for other in WORLDS:
            if one != other:
                assert found(domain_of(one, "plain"), domain_of(other, "mystery")) is None


def test_read_backwards_an_analogy_leads_back() -> None:
    here, there = domain_of("depots", "plain"), domain_of("depots", "deceptive")
    analogy = found(here, there)
    assert analogy is not None
    back = analogy.back()
    assert_keeps_meaning(back, there, here)
    assert back.back() == analogy


def test_actions_that_differ_in_one_effect_are_never_taken_for_each_other() -> None:
    here = problem_of("blocks").domain
    text = show_definition(variant_domain(WORLDS["blocksworld"], "plain"))
    changed = text.replace("(not (clear ?underob))", "(not (clear ?ob))")
    assert changed != text
    assert found(here, read_domain(text)) is not None
    assert found(here, read_domain(changed)) is None


def test_the_same_names_are_preferred_where_several_mappings_would_do() -> None:
    twins = """(define (domain twins) (:predicates (p ?x) (q ?x))
        (:action a :parameters (?x) :precondition (p ?x) :effect (q ?x))
        (:action b :parameters (?x) :precondition (q ?x) :effect (p ?x)))"""
    analogy = found(read_domain(twins), read_domain(twins))
    assert analogy is not None
    assert all(here == there for here, there in analogy.predicates.items())
    assert all(here == there for here, there in analogy.actions.items())


def test_each_pair_of_actions_held_together_is_paid_for_until_the_cap() -> None:
    here, there, bill = domain_of("logistics", "plain"), domain_of("logistics", "mystery"), Bill()
    assert found(here, there, bill) is not None
    assert set(bill) == {"bind"} and bill["bind"] >= len(here.schemas)
    short = Bill(cap=bill["bind"] - 1)
    with pytest.raises(BudgetExceeded):
        found(here, there, short)
    assert short.total() == bill["bind"] - 1


@pytest.mark.parametrize(
    "interface",
    [
        {},
        {"schemas": None},
        {"schemas": "stack"},
        {"schemas": [1, None, "x", []]},
        {"schemas": [{"name": "a"}]},
        {"schemas": [{"name": "a", "params": "?x"}]},
        {"schemas": [{"name": "a", "params": [], "pre": [[], 1, "p"], "add": {}, "delete": 3}]},
    ],
    ids=repr,
)
def test_an_interface_that_makes_no_sense_fits_no_domain_of_ours(
    interface: Mapping[str, Json],
) -> None:
    there = problem_of("blocks").domain
    assert find_analogy(interface, there, Bill().charge) is None


def test_many_predicates_alike_do_not_make_the_search_explode() -> None:
    names = [f"p{i}" for i in range(14)]

    def domain(unwanted: str) -> Domain:
        conditions = " ".join(f"({n} ?x)" for n in names)
        return read_domain(
            f"(define (domain many) (:predicates {conditions} (y ?x) (z ?x))"
            f" (:action a :parameters (?x) :precondition (and {conditions})"
            f" :effect (and (z ?x) (not ({unwanted} ?x)))))"
        )

    bill = Bill()
    exact = found(domain("p0"), domain("p13"), bill)
    assert exact is not None and exact.predicates["p0"] == "p13"
    # As many atoms in each place, but there what is taken away was not asked for.
    assert found(domain("p0"), domain("y"), bill) is None
