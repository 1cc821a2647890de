"""The scenarios of the workshop, drawn from (split, seed, number) and nothing else.

Both variants have the same tasks. The stations of `hid` are drawn from a stream of their own, so
that nothing public depends on them.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from functools import lru_cache
from random import Random

from auto_research.benchmarks.base import SPLITS, Split
from auto_research.benchmarks.workshop.jobs import Job, Piece
from auto_research.benchmarks.workshop.rules import (
    GIVES,
    OPERATIONS,
    ROOM_NAMES,
    STATIONS,
    THING_NAMES,
)
from auto_research.benchmarks.workshop.sizes import (
    CANDIDATES,
    PAIRS,
    TARGETS,
    TASKS,
    TRIPLES,
    Variant,
)
from auto_research.rng import derive

_STREAM = "workshop"


def scenario(
    variant: Variant, split: Split, seed: int, number: int, permutation: int | None = None
) -> tuple[Job, ...]:
    """Scenario `number` (from 0). Its tasks ask for the same operations, at the same stations.

    `permutation` is for the leak tests: another drawing of the hidden stations alone.
    """
    rng = derive(seed, _STREAM, split, "scenario", number)
    operations = rng.choice(subsets()[split])
    stations = dict(zip(OPERATIONS, STATIONS, strict=True))
    if variant == "hid":
        moved = () if permutation is None else ("permutation", permutation)
        stations = _hidden(derive(seed, _STREAM, split, "stations", number, *moved))
    return tuple(Job(_pieces(rng, operations), operations, stations) for _ in range(TASKS))


@lru_cache(maxsize=2)
def candidates(variant: Variant) -> Mapping[str, tuple[str, ...]]:
    """The stations that may do each operation, as far as anybody may know: one in `base`."""
    count = CANDIDATES if variant == "hid" else 1
    return {
        name: tuple(STATIONS[(i + j) % len(STATIONS)] for j in range(count))
        for i, name in enumerate(OPERATIONS)
    }


@lru_cache(maxsize=1)
def subsets() -> Mapping[Split, tuple[tuple[str, ...], ...]]:
    """The operations that the scenarios of each split may ask for; no two splits share any.

    Every operation that can follow another one does so in some subset of training: what is held
    out is new as a whole, not in each of its steps.
    """
    for attempt in itertools.count():
        found = _dealt(attempt)
        steps = {step for subset in found["train"] for step in itertools.pairwise(subset)}
        if steps.issuperset(itertools.combinations(OPERATIONS, 2)):
            return found
    raise AssertionError


def _dealt(attempt: int) -> dict[Split, tuple[tuple[str, ...], ...]]:
    found: dict[Split, tuple[tuple[str, ...], ...]] = dict.fromkeys(SPLITS, ())
    for size, counts in ((2, PAIRS), (3, TRIPLES)):
        drawn = list(itertools.combinations(OPERATIONS, size))
        derive(0, _STREAM, "subsets", attempt, size).shuffle(drawn)
        for split in SPLITS:
            found[split] += tuple(drawn[: counts[split]])
            del drawn[: counts[split]]
    return found


def _hidden(rng: Random) -> dict[str, str]:
    return {name: rng.choice(choices) for name, choices in candidates("hid").items()}


def _pieces(rng: Random, operations: tuple[str, ...]) -> tuple[Piece, ...]:
    """Two or three things to be worked on and one of no use, in any order."""
    count = rng.randint(*TARGETS)
    things = rng.sample(THING_NAMES, count + 1)
    pieces: list[Piece] = []
    for thing in things[:count]:
        start = rng.choice(ROOM_NAMES)
        destination = rng.choice([room for room in ROOM_NAMES if room != start])
        attributes = [GIVES[name] for name in operations]
        rng.shuffle(attributes)
        pieces.append(Piece(thing, start, tuple(attributes), destination))
    pieces.append(Piece(things[count], rng.choice(ROOM_NAMES)))
    rng.shuffle(pieces)
    return tuple(pieces)
