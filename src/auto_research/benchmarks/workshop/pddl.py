"""The workshop as PDDL: what anybody may read, and (for tests) the truth.

An action's last parameter says where one is, as STRIPS needs it. The predicate `ASSUMED` says which
station does which operation; where the stations are hidden, the public text lists all candidates.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache

from auto_research.benchmarks.workshop.generate import candidates
from auto_research.benchmarks.workshop.jobs import Job
from auto_research.benchmarks.workshop.rules import (
    ENTRANCE,
    GIVES,
    OPERATIONS,
    ROOM_NAMES,
    SEALING,
    STATIONS,
    TAKES,
)
from auto_research.benchmarks.workshop.sizes import Variant

ASSUMED = "does"


def public(job: Job, variant: Variant) -> dict[str, str]:
    """The part of a task's observation that is PDDL."""
    told = {"domain": domain_text(), "problem": problem_text(job, candidates(variant))}
    return {**told, "assumed": ASSUMED} if variant == "hid" else told


def problem_text(job: Job, stations: Mapping[str, Sequence[str]]) -> str:
    """The problem of a task; `stations` are those that do each operation."""
    things = " ".join(sorted(piece.thing for piece in job.pieces))
    lies = "\n    ".join(sorted(f"(lies {piece.thing} {piece.start})" for piece in job.pieces))
    goal: list[str] = []
    for piece in job.pieces:
        if piece.destination:
            goal.append(f"(lies {piece.thing} {piece.destination})")
            goal += [f"({attribute} {piece.thing})" for attribute in piece.attributes]
    return (
        "(define (problem task) (:domain workshop)\n"
        f"  (:objects {things} - thing)\n"
        f"  (:init (here {ENTRANCE}) (hands-free)\n"
        f"    {_does(tuple((name, tuple(stations[name])) for name in OPERATIONS))}\n"
        f"    {lies})\n"
        f"  (:goal (and (hands-free)\n    {chr(10).join(sorted(goal))})))\n"
    )


@lru_cache(maxsize=1)
def domain_text() -> str:
    """The domain, which all tasks share."""
    constants = (
        f"{ENTRANCE} - spot {' '.join(ROOM_NAMES)} - room {' '.join(STATIONS)} - station "
        f"{' '.join(map(_kind, OPERATIONS))} - operation"
    )
    attributes = " ".join(f"({attribute} ?x - thing)" for attribute in GIVES.values())
    return (
        "(define (domain workshop)\n"
        "  (:requirements :strips :typing :negative-preconditions)\n"
        "  (:types place - spot room station - place spot thing operation - object)\n"
        f"  (:constants {constants})\n"
        f"  (:predicates (here ?p - spot) (lies ?x - thing ?p - place) (held ?x - thing)\n"
        f"    (hands-free) ({ASSUMED} ?p - station ?o - operation) {attributes})\n"
        "  (:action goto :parameters (?to - place ?p - spot)\n"
        "    :precondition (here ?p)\n"
        "    :effect (and (not (here ?p)) (here ?to)))\n"
        "  (:action pick :parameters (?x - thing ?p - place)\n"
        "    :precondition (and (here ?p) (lies ?x ?p) (hands-free))\n"
        "    :effect (and (held ?x) (not (lies ?x ?p)) (not (hands-free))))\n"
        "  (:action drop :parameters (?x - thing ?p - place)\n"
        "    :precondition (and (here ?p) (held ?x))\n"
        "    :effect (and (lies ?x ?p) (hands-free) (not (held ?x))))\n"
        + "".join(map(_operation, OPERATIONS))
        + ")\n"
    )


def _operation(name: str) -> str:
    lost = "".join(f" (not ({attribute} ?x))" for attribute in sorted(TAKES[name]))
    return (
        f"  (:action {name} :parameters (?x - thing ?p - station)\n"
        f"    :precondition (and (here ?p) (held ?x) ({ASSUMED} ?p {_kind(name)})"
        f" (not ({SEALING} ?x)))\n"
        f"    :effect (and ({GIVES[name]} ?x){lost}))\n"
    )


@lru_cache(maxsize=1024)
def _does(stations: tuple[tuple[str, tuple[str, ...]], ...]) -> str:
    return " ".join(
        f"({ASSUMED} {station} {_kind(name)})" for name, found in stations for station in found
    )


def _kind(name: str) -> str:
    """What an operation is called where it is an object."""
    return f"{name}-work"
