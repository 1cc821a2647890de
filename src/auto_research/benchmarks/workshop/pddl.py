"""The workshop as PDDL: what anybody may read, and (for tests) the truth.

A problem speaks only of what its goal needs: the targets, their rooms, and the stations of the
operations asked for. So not everything that can be done is told, but all that is told can be done,
and a plan means the same here and in the workshop. That hands end up free follows from the goal.
`RESTING` are facts that wrapping a thing takes away until it is put down. They follow from the goal
as well; they are named in it, so that a search which counts open goals does not take wrapping a
thing too early, which nothing can mend, for progress.

An action's last parameter says where one is, as STRIPS needs it. The predicate `ASSUMED` says which
station does which operation; where stations are hidden, the public text lists all candidates.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache

from auto_research.benchmarks.workshop.generate import candidates
from auto_research.benchmarks.workshop.jobs import Job
from auto_research.benchmarks.workshop.rules import ENTRANCE, GIVES, OPERATIONS, SEALING, TAKES
from auto_research.benchmarks.workshop.sizes import Variant

ASSUMED = "does"
RESTING = ("settled", "upright")


def public(job: Job, variant: Variant) -> dict[str, str]:
    """The part of a task's observation that is PDDL."""
    told = {"domain": domain_text(), "problem": problem_text(job, candidates(variant))}
    return {**told, "assumed": ASSUMED} if variant == "hid" else told


def problem_text(job: Job, stations: Mapping[str, Sequence[str]]) -> str:
    """The problem of a task; `stations` are those that do, or may do, each operation."""
    lies: list[str] = []
    goal: list[str] = []
    rooms: set[str] = set()
    for target in job.targets():
        rooms |= {target.start, target.destination}
        lies.append(f"(lies {target.thing} {target.start})")
        resting = [f"({fact} {target.thing})" for fact in RESTING]
        lies += resting
        goal += [f"(lies {target.thing} {target.destination})", *resting]
        goal += [f"({GIVES[name]} {target.thing})" for name in job.operations]
    things = sorted(target.thing for target in job.targets())
    used = {station for name in job.operations for station in stations[name]}
    does = [f"({ASSUMED} {s} {_kind(n)})" for n in job.operations for s in stations[n]]
    return (
        "(define (problem task) (:domain workshop)\n"
        f"  (:objects {' '.join(things)} - thing {ENTRANCE} - spot\n"
        f"    {' '.join(sorted(rooms))} - room {' '.join(sorted(used))} - station)\n"
        f"  (:init (here {ENTRANCE}) (hands-free)\n"
        f"    {' '.join(does)}\n"
        f"    {' '.join(sorted(lies))})\n"
        f"  (:goal (and {' '.join(sorted(goal))})))\n"
    )


@lru_cache(maxsize=1)
def domain_text() -> str:
    """The domain, which all tasks share."""
    attributes = " ".join(f"({attribute} ?x - thing)" for attribute in GIVES.values())
    resting = " ".join(f"({fact} ?x - thing)" for fact in RESTING)
    rest = " ".join(f"({fact} ?x)" for fact in RESTING)
    return (
        "(define (domain workshop)\n"
        "  (:requirements :strips :typing :negative-preconditions)\n"
        "  (:types place - spot room station - place spot thing operation - object)\n"
        f"  (:constants {' '.join(map(_kind, OPERATIONS))} - operation)\n"
        "  (:predicates (here ?p - spot) (lies ?x - thing ?p - place) (held ?x - thing)\n"
        f"    (hands-free) ({ASSUMED} ?p - station ?o - operation)\n"
        f"    {resting} {attributes})\n"
        "  (:action goto :parameters (?to - place ?p - spot)\n"
        "    :precondition (here ?p)\n"
        "    :effect (and (not (here ?p)) (here ?to)))\n"
        "  (:action pick :parameters (?x - thing ?p - place)\n"
        "    :precondition (and (here ?p) (lies ?x ?p) (hands-free))\n"
        "    :effect (and (held ?x) (not (lies ?x ?p)) (not (hands-free))))\n"
        "  (:action drop :parameters (?x - thing ?p - place)\n"
        "    :precondition (and (here ?p) (held ?x))\n"
        f"    :effect (and (lies ?x ?p) {rest} (hands-free) (not (held ?x))))\n"
        + "".join(map(_operation, OPERATIONS))
        + ")\n"
    )


def _operation(name: str) -> str:
    gone = [*sorted(TAKES[name]), *(RESTING if GIVES[name] == SEALING else ())]
    lost = "".join(f" (not ({attribute} ?x))" for attribute in gone)
    return (
        f"  (:action {name} :parameters (?x - thing ?p - station)\n"
        f"    :precondition (and (here ?p) (held ?x) ({ASSUMED} ?p {_kind(name)})"
        f" (not ({SEALING} ?x)))\n"
        f"    :effect (and ({GIVES[name]} ?x){lost}))\n"
    )


def _kind(name: str) -> str:
    """What an operation is called where it is an object."""
    return f"{name}-work"
