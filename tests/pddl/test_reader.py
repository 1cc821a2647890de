"""The reader says what a domain means, and names what it does not read."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from auto_research.pddl import PddlError, read_domain, read_problem
from auto_research.pddl.strips import instantiate

DOMAIN = """
(define (domain lamps)
  (:requirements :strips :typing :negative-preconditions)
  (:types lamp room - thing  hall - room)
  (:constants main - hall)
  (:predicates (lit ?l - lamp) (in ?l - lamp ?r - room) (powered ?r - room))
  (:action light
    :parameters (?l - lamp ?r - room)
    :precondition (and (in ?l ?r) (powered ?r) (not (lit ?l)))
    :effect (lit ?l))
  (:action blackout
    :parameters ()
    :precondition (and (powered main))
    :effect (and (not (powered main)))))
"""
PROBLEM = """
(define (problem two) (:domain lamps)
  (:objects a b - lamp den - room)
  (:init (in a den) (in b main) (powered den) (powered main) (lit b) (not (lit a)))
  (:goal (and (lit a) (not (powered main)))))
"""


def test_types_become_conditions_and_subtypes_count() -> None:
    problem = read_problem(PROBLEM, read_domain(DOMAIN))
    assert {(":hall", "main"), (":room", "main"), (":thing", "main")} <= problem.static
    assert (":hall", "den") not in problem.static


def test_a_negative_precondition_follows_the_effects() -> None:
    problem = read_problem(PROBLEM, read_domain(DOMAIN))
    light = instantiate(problem.domain, ("light", "a", "den"))
    again = instantiate(problem.domain, ("light", "b", "main"))
    assert light and again
    assert light.applicable(problem.init, problem.static)
    assert not again.applicable(problem.init, problem.static)
    after = light.apply(problem.init)
    assert ("lit", "a") in after
    assert not light.applicable(after, problem.static)


def test_a_negative_goal_is_met_by_an_action_that_deletes() -> None:
    goal = "(:goal (and (not (powered main)) (not (in a den)))))"
    problem = read_problem(PROBLEM[: PROBLEM.index("(:goal")] + goal, read_domain(DOMAIN))
    assert ("not powered", "main") in problem.goal
    assert ("not powered", "main") not in problem.init
    blackout = instantiate(problem.domain, ("blackout",))
    assert blackout
    assert ("not powered", "main") in blackout.apply(problem.init)
    assert ("not in", "a", "den") not in problem.init | problem.static


def test_an_atom_both_added_and_deleted_is_true_and_its_complement_is_not() -> None:
    domain = read_domain(
        """(define (domain d) (:predicates (at ?x))
        (:action go :parameters (?a ?b) :precondition (at ?a)
            :effect (and (at ?b) (not (at ?a))))
        (:action rest :parameters (?a) :precondition (not (at ?a)) :effect (and)))"""
    )
    problem = read_problem(
        "(define (problem p) (:objects x y) (:init (at x)) (:goal (at y)))", domain
    )
    stay = instantiate(domain, ("go", "x", "x"))
    assert stay
    after = stay.apply(problem.init)
    assert ("at", "x") in after
    assert ("not at", "x") not in after


def test_an_unknown_action_or_arity_means_nothing() -> None:
    domain = read_domain(DOMAIN)
    assert instantiate(domain, ("dim", "a")) is None
    assert instantiate(domain, ("light", "a")) is None


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("(not (lit ?l))", "(or (lit ?l) (in ?l ?r))", "disjunctive conditions"),
        ("(not (lit ?l))", "(forall (?x) (lit ?x))", "universal quantifiers"),
        ("(not (lit ?l))", "(not (= ?l ?r))", "equality"),
        (":effect (lit ?l)", ":effect (when (lit ?l) (lit ?l))", "conditional effects"),
        ("(:constants main - hall)", "(:functions (cost))", ":functions is not supported"),
        ("main - hall", "main - (either hall lamp)", "'either' types"),
        ("(in ?l ?r)", "(in ?l)", "not declared so"),
        ("(in ?l ?r)", "(in ?l ?z)", "'?z', which is no parameter"),
        ("?l - lamp ?r - room)\n", "?l - lamp ?r - roof)\n", "'roof' is not a declared type"),
        ("(:action blackout", "(:action light", "share one name"),
    ],
)
def test_what_is_not_read_in_a_domain_is_named(old: str, new: str, said: str) -> None:
    assert old in DOMAIN
    with pytest.raises(PddlError) as caught:
        read_domain(DOMAIN.replace(old, new))
    assert said in str(caught.value)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("(in a den)", "(inn a den)", "'inn' is not a predicate"),
        ("(in a den)", "(in a nowhere)", "'nowhere' is not among the objects"),
        ("(in a den)", "(in den a)", "'den' in 'in' is no lamp"),
        ("a b - lamp", "a b - lamb", "'lamb' is not a declared type"),
        ("(:goal", "(:gaol", "no :goal"),
        ("(problem two)", "(trouble two)", "not a problem"),
    ],
)
def test_what_is_wrong_in_a_problem_is_named(old: str, new: str, said: str) -> None:
    with pytest.raises(PddlError) as caught:
        read_problem(PROBLEM.replace(old, new), read_domain(DOMAIN))
    assert said in str(caught.value)


_tokens = DOMAIN.replace("(", " ( ").replace(")", " ) ").split()
_problem_tokens = PROBLEM.replace("(", " ( ").replace(")", " ) ").split()


@given(st.data())
def test_damaged_text_is_read_or_refused_but_never_breaks_the_reader(data: st.DataObject) -> None:
    tokens, problem_tokens = list(_tokens), list(_problem_tokens)
    for damaged in (tokens, problem_tokens):
        for _ in range(data.draw(st.integers(0, 3))):
            place = data.draw(st.integers(0, len(damaged) - 1))
            other = damaged[data.draw(st.integers(0, len(damaged) - 1))]
            damaged[place] = data.draw(st.sampled_from(["", "(", ")", "()", "- object", other]))
    try:
        read_problem(" ".join(problem_tokens), read_domain(" ".join(tokens)))
    except PddlError as error:
        assert str(error)


@given(st.text(alphabet="()abc :define-?", max_size=40))
@example("(define (domain d) (:action))")
@example("(define (domain d) (:predicates ()))")
@example("(define (domain d) ())")
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        read_domain(text)
    except PddlError as error:
        assert str(error)
