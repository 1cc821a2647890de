"""Logistics: trucks carry packages inside a city, an airplane between the cities' airports."""

from __future__ import annotations

from random import Random

from auto_research.benchmarks.planbench.worlds.base import (
    Counts,
    Drift,
    Instance,
    World,
    numbered,
)
from auto_research.pddl import Atom

_DOMAIN = """
(define (domain world)
  (:requirements :strips)
  (:predicates (obj ?obj) (truck ?truck) (location ?loc) (airplane ?airplane) (city ?city)
               (airport ?airport) (at ?obj ?loc) (in ?obj1 ?obj2) (in-city ?obj ?city))
  (:action load-truck
    :parameters (?obj ?truck ?loc)
    :precondition (and (obj ?obj) (truck ?truck) (location ?loc) (at ?truck ?loc) (at ?obj ?loc))
    :effect (and (not (at ?obj ?loc)) (in ?obj ?truck)))
  (:action load-airplane
    :parameters (?obj ?airplane ?loc)
    :precondition (and (obj ?obj) (airplane ?airplane) (location ?loc)
                       (at ?obj ?loc) (at ?airplane ?loc))
    :effect (and (not (at ?obj ?loc)) (in ?obj ?airplane)))
  (:action unload-truck
    :parameters (?obj ?truck ?loc)
    :precondition (and (obj ?obj) (truck ?truck) (location ?loc) (at ?truck ?loc) (in ?obj ?truck))
    :effect (and (not (in ?obj ?truck)) (at ?obj ?loc)))
  (:action unload-airplane
    :parameters (?obj ?airplane ?loc)
    :precondition (and (obj ?obj) (airplane ?airplane) (location ?loc)
                       (in ?obj ?airplane) (at ?airplane ?loc))
    :effect (and (not (in ?obj ?airplane)) (at ?obj ?loc)))
  (:action drive-truck
    :parameters (?truck ?loc-from ?loc-to ?city)
    :precondition (and (truck ?truck) (location ?loc-from) (location ?loc-to) (city ?city)
                       (at ?truck ?loc-from) (in-city ?loc-from ?city) (in-city ?loc-to ?city))
    :effect (and (not (at ?truck ?loc-from)) (at ?truck ?loc-to)))
  (:action fly-airplane
    :parameters (?airplane ?loc-from ?loc-to)
    :precondition (and (airplane ?airplane) (airport ?loc-from) (airport ?loc-to)
                       (at ?airplane ?loc-from))
    :effect (and (not (at ?airplane ?loc-from)) (at ?airplane ?loc-to))))
"""

_DRIFT = Drift(
    predicate="(fueled ?truck)",
    needs={"drive-truck": "(fueled ?truck)"},
    action="""(:action refuel
      :parameters (?truck)
      :precondition (and (truck ?truck))
      :effect (and (fueled ?truck)))""",
)


def _draw_start(rng: Random, counts: Counts) -> Instance:
    cities, packages = numbered("c", counts["cities"]), numbered("p", counts["packages"])
    init: list[Atom] = [("airplane", "a0")]
    places: list[str] = []
    for number, city in enumerate(cities):
        here, truck = numbered(f"l{number}-", counts["locations"]), f"t{number}"
        places += here
        init += [("city", city), ("truck", truck), ("airport", here[0])]
        init += [atom for x in here for atom in (("location", x), ("in-city", x, city))]
        init.append(("at", truck, rng.choice(here)))
    airports = [atom[1] for atom in init if atom[0] == "airport"]
    init.append(("at", "a0", rng.choice(airports)))
    init += [atom for p in packages for atom in (("obj", p), ("at", p, rng.choice(places)))]
    names = dict.fromkeys(x for atom in init for x in atom[1:])
    return Instance(dict.fromkeys(names, "object"), tuple(init))


def _draw_goal(rng: Random, counts: Counts, start: Instance) -> tuple[Atom, ...]:
    """A destination for every package; `inter_city` of them lie in another city."""
    city_of = {atom[1]: atom[2] for atom in start.init if atom[0] == "in-city"}
    where = {atom[1]: atom[2] for atom in start.init if atom[0] == "at"}
    packages = [atom[1] for atom in start.init if atom[0] == "obj"]
    far = set(rng.sample(packages, counts["inter_city"]))
    goal: list[Atom] = []
    for package in packages:
        here = where[package]
        choices = [
            place
            for place, city in sorted(city_of.items())
            if place != here and (city != city_of[here]) == (package in far)
        ]
        goal.append(("at", package, rng.choice(choices)))
    return tuple(goal)


LOGISTICS = World("logistics", _DOMAIN, _DRIFT, _draw_start, _draw_goal)
