"""Blocksworld with four operators: one hand builds towers on a table."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from random import Random

from auto_research.benchmarks.planbench.worlds.base import (
    Counts,
    Drift,
    Instance,
    World,
    numbered,
)
from auto_research.pddl import Atom

_MAX_HEIGHT = 5

_DOMAIN = """
(define (domain world)
  (:requirements :strips)
  (:predicates (clear ?x) (ontable ?x) (handempty) (holding ?x) (on ?x ?y))
  (:action pick-up
    :parameters (?ob)
    :precondition (and (clear ?ob) (ontable ?ob) (handempty))
    :effect (and (holding ?ob) (not (clear ?ob)) (not (ontable ?ob)) (not (handempty))))
  (:action put-down
    :parameters (?ob)
    :precondition (and (holding ?ob))
    :effect (and (clear ?ob) (handempty) (ontable ?ob) (not (holding ?ob))))
  (:action stack
    :parameters (?ob ?underob)
    :precondition (and (clear ?underob) (holding ?ob))
    :effect (and (handempty) (clear ?ob) (on ?ob ?underob)
                 (not (clear ?underob)) (not (holding ?ob))))
  (:action unstack
    :parameters (?ob ?underob)
    :precondition (and (on ?ob ?underob) (clear ?ob) (handempty))
    :effect (and (holding ?ob) (clear ?underob)
                 (not (on ?ob ?underob)) (not (clear ?ob)) (not (handempty)))))
"""

_DRIFT = Drift(
    predicate="(calibrated)",
    needs={"pick-up": "(calibrated)", "unstack": "(calibrated)"},
    action="""(:action calibrate
      :parameters ()
      :precondition (and (handempty))
      :effect (and (calibrated)))""",
)


def _draw_start(rng: Random, counts: Counts) -> Instance:
    blocks = numbered("b", counts["blocks"])
    init: list[Atom] = [("handempty",)]
    for tower in _towers(rng, blocks):
        init += [("ontable", tower[0]), ("clear", tower[-1]), *_on(tower)]
    return Instance(dict.fromkeys(blocks, "object"), tuple(init))


def _draw_goal(rng: Random, counts: Counts, start: Instance) -> tuple[Atom, ...]:
    """At most `goals` blocks on blocks, towers from the bottom."""
    on = [atom for tower in _towers(rng, list(start.objects)) for atom in _on(tower)]
    return tuple(on[: counts["goals"]])


def _towers(rng: Random, blocks: Sequence[str]) -> list[list[str]]:
    """All blocks dealt into towers of at most `_MAX_HEIGHT`, bottom first."""
    rest = rng.sample(blocks, len(blocks))
    towers: list[list[str]] = []
    while rest:
        height = rng.randint(1, _MAX_HEIGHT)
        towers.append(rest[:height])
        rest = rest[height:]
    return towers


def _on(tower: Sequence[str]) -> list[Atom]:
    return [("on", upper, lower) for lower, upper in itertools.pairwise(tower)]


BLOCKSWORLD = World("blocksworld", _DOMAIN, _DRIFT, _draw_start, _draw_goal)
