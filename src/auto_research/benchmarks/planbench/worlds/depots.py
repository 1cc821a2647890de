"""Depots: hoists stack crates on pallets, trucks carry them between places."""

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
  (:requirements :strips :typing)
  (:types place locatable - object
          depot distributor - place
          truck hoist surface - locatable
          pallet crate - surface)
  (:predicates (at ?x - locatable ?y - place) (on ?x - crate ?y - surface)
               (in ?x - crate ?y - truck) (lifting ?x - hoist ?y - crate)
               (available ?x - hoist) (clear ?x - surface))
  (:action drive
    :parameters (?x - truck ?y - place ?z - place)
    :precondition (and (at ?x ?y))
    :effect (and (not (at ?x ?y)) (at ?x ?z)))
  (:action lift
    :parameters (?x - hoist ?y - crate ?z - surface ?p - place)
    :precondition (and (at ?x ?p) (available ?x) (at ?y ?p) (on ?y ?z) (clear ?y))
    :effect (and (not (at ?y ?p)) (lifting ?x ?y) (not (clear ?y)) (not (available ?x))
                 (clear ?z) (not (on ?y ?z))))
  (:action drop
    :parameters (?x - hoist ?y - crate ?z - surface ?p - place)
    :precondition (and (at ?x ?p) (at ?z ?p) (clear ?z) (lifting ?x ?y))
    :effect (and (available ?x) (not (lifting ?x ?y)) (at ?y ?p) (not (clear ?z)) (clear ?y)
                 (on ?y ?z)))
  (:action load
    :parameters (?x - hoist ?y - crate ?z - truck ?p - place)
    :precondition (and (at ?x ?p) (at ?z ?p) (lifting ?x ?y))
    :effect (and (not (lifting ?x ?y)) (in ?y ?z) (available ?x)))
  (:action unload
    :parameters (?x - hoist ?y - crate ?z - truck ?p - place)
    :precondition (and (at ?x ?p) (at ?z ?p) (available ?x) (in ?y ?z))
    :effect (and (not (in ?y ?z)) (not (available ?x)) (lifting ?x ?y))))
"""

_DRIFT = Drift(
    predicate="(charged ?x - hoist)",
    needs={"lift": "(charged ?x)", "unload": "(charged ?x)"},
    action="""(:action charge
      :parameters (?x - hoist)
      :precondition (and (available ?x))
      :effect (and (charged ?x)))""",
)


def _draw_start(rng: Random, counts: Counts) -> Instance:
    places = [*numbered("depot", counts["places"] - 1), "distributor0"]
    hoists, pallets = numbered("hoist", len(places)), numbered("pallet", len(places))
    trucks, crates = numbered("truck", counts["trucks"]), numbered("crate", counts["crates"])
    top = dict(zip(places, pallets, strict=True))
    init: list[Atom] = []
    for place, hoist, pallet in zip(places, hoists, pallets, strict=True):
        init += [("at", pallet, place), ("at", hoist, place), ("available", hoist)]
    init += [("at", truck, rng.choice(places)) for truck in trucks]
    for crate in crates:
        place = rng.choice(places)
        init += [("at", crate, place), ("on", crate, top[place])]
        top[place] = crate
    init += [("clear", surface) for surface in top.values()]
    things = {"hoist": hoists, "pallet": pallets, "truck": trucks, "crate": crates}
    kinds = {place: place.rstrip("0123456789") for place in places}
    kinds |= {name: kind for kind, names in things.items() for name in names}
    return Instance(kinds, tuple(init))


def _draw_goal(rng: Random, counts: Counts, start: Instance) -> tuple[Atom, ...]:
    crates = [name for name, kind in start.objects.items() if kind == "crate"]
    tops = [name for name, kind in start.objects.items() if kind == "pallet"]
    goal: list[Atom] = []
    for crate in rng.sample(crates, counts["goals"]):
        tower = rng.randrange(len(tops))
        goal.append(("on", crate, tops[tower]))
        tops[tower] = crate
    return tuple(goal)


DEPOTS = World("depots", _DOMAIN, _DRIFT, _draw_start, _draw_goal)
