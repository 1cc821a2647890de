"""Satellite: turn, switch on and calibrate instruments to take images of directions."""

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
  (:types satellite direction instrument mode - object)
  (:predicates (on_board ?i - instrument ?s - satellite) (supports ?i - instrument ?m - mode)
               (pointing ?s - satellite ?d - direction) (power_avail ?s - satellite)
               (power_on ?i - instrument) (calibrated ?i - instrument)
               (have_image ?d - direction ?m - mode)
               (calibration_target ?i - instrument ?d - direction))
  (:action turn_to
    :parameters (?s - satellite ?d_new - direction ?d_prev - direction)
    :precondition (and (pointing ?s ?d_prev))
    :effect (and (pointing ?s ?d_new) (not (pointing ?s ?d_prev))))
  (:action switch_on
    :parameters (?i - instrument ?s - satellite)
    :precondition (and (on_board ?i ?s) (power_avail ?s))
    :effect (and (power_on ?i) (not (calibrated ?i)) (not (power_avail ?s))))
  (:action switch_off
    :parameters (?i - instrument ?s - satellite)
    :precondition (and (on_board ?i ?s) (power_on ?i))
    :effect (and (not (power_on ?i)) (power_avail ?s)))
  (:action calibrate
    :parameters (?s - satellite ?i - instrument ?d - direction)
    :precondition (and (on_board ?i ?s) (calibration_target ?i ?d) (pointing ?s ?d) (power_on ?i))
    :effect (and (calibrated ?i)))
  (:action take_image
    :parameters (?s - satellite ?d - direction ?i - instrument ?m - mode)
    :precondition (and (calibrated ?i) (on_board ?i ?s) (supports ?i ?m) (power_on ?i)
                       (pointing ?s ?d))
    :effect (and (have_image ?d ?m))))
"""

_DRIFT = Drift(
    predicate="(shutter_open ?i - instrument)",
    needs={"take_image": "(shutter_open ?i)"},
    action="""(:action open_shutter
      :parameters (?i - instrument)
      :precondition (and (power_on ?i))
      :effect (and (shutter_open ?i)))""",
)


def _draw_start(rng: Random, counts: Counts) -> Instance:
    satellites, modes = numbered("sat", counts["satellites"]), numbered("mode", counts["modes"])
    directions = numbered("dir", counts["directions"])
    instruments = numbered("inst", counts["instruments"])
    init: list[Atom] = []
    for satellite in satellites:
        init += [("power_avail", satellite), ("pointing", satellite, rng.choice(directions))]
    for number, instrument in enumerate(instruments):
        # Every satellite gets an instrument before any gets a second; every mode is supported.
        home = satellites[number] if number < len(satellites) else rng.choice(satellites)
        own = {modes[number % len(modes)], rng.choice(modes)}
        if number == len(instruments) - 1:
            own |= set(modes[len(instruments) :])
        init += [("on_board", instrument, home)]
        init += [("supports", instrument, mode) for mode in sorted(own)]
        init += [("calibration_target", instrument, rng.choice(directions))]
    things = {
        "satellite": satellites,
        "direction": directions,
        "instrument": instruments,
        "mode": modes,
    }
    return Instance({name: kind for kind, names in things.items() for name in names}, tuple(init))


def _draw_goal(rng: Random, counts: Counts, start: Instance) -> tuple[Atom, ...]:
    by_kind: dict[str, list[str]] = {}
    for name, kind in start.objects.items():
        by_kind.setdefault(kind, []).append(name)
    pairs = [(d, m) for d in by_kind["direction"] for m in by_kind["mode"]]
    images = [("have_image", d, m) for d, m in rng.sample(pairs, counts["images"])]
    turned = rng.sample(by_kind["satellite"], counts["pointing"])
    return (*images, *(("pointing", s, rng.choice(by_kind["direction"])) for s in turned))


SATELLITE = World("satellite", _DOMAIN, _DRIFT, _draw_start, _draw_goal)
