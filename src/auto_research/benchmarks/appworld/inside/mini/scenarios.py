"""Which families there are, and the scenarios of each split: three tasks of one family each."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

from auto_research.benchmarks.appworld.inside.mini import (
    contact,
    music,
    notes,
    payments,
    shop,
    storage,
)
from auto_research.benchmarks.appworld.inside.mini.draft import Draft, Family
from auto_research.benchmarks.appworld.inside.mini.plan import Person, World

SEED = 1  # of the world and of its tasks
TASKS = 3  # of a scenario
FAMILIES = {
    family.name: family
    for module in (music, notes, contact, payments, storage, shop)
    for family in module.FAMILIES
}
# A family may stand in several splits, each time with other people and values. Half of the test
# families are known from training, half are not; the shop is in the challenge alone.
SPLITS = {
    "train": (
        *("superlative", "genre-note", "like-artist", "count-open", "count-tasks", "finish-tasks"),
        *("number-of", "text-all", "invoices", "paid-to", "approve", "budget"),
    ),
    "dev": ("superlative", "finish-tasks", "star", "share"),
    "test_normal": (
        *("genre-note", "like-artist", "count-tasks", "text-all", "invoices", "approve"),
        *("playlist", "tick-off", "note-to-project", "move-alarm", "share", "clear"),
    ),
    "test_challenge": ("wish-total", "cheap-to-cart", "kind-to-wishes", "playlist"),
}


@dataclass(frozen=True)
class Written:
    """A task: its id, whose it is, its family, and what it is."""

    task: str
    person: Person
    family: Family
    draft: Draft


def all_scenarios(world: World) -> dict[str, list[tuple[Written, ...]]]:
    """The scenarios of every split, each of three people's tasks. No task is there twice."""
    asked: set[tuple[int, str]] = set()
    return {
        split: [_scenario(world, split, FAMILIES[name], asked) for name in names]
        for split, names in SPLITS.items()
    }


def _scenario(
    world: World, split: str, family: Family, asked: set[tuple[int, str]]
) -> tuple[Written, ...]:
    rng = Random(f"{SEED}/{split}/{family.name}")
    name = f"{rng.randrange(16**7):07x}"
    people = rng.sample(world.people, len(world.people))
    found: list[Written] = []
    for person in people * 20:
        draft = family.make(world, person, rng)
        if draft is None or any(person is written.person for written in found):
            continue
        if (person.index, draft.instruction) not in asked:
            asked.add((person.index, draft.instruction))
            found.append(Written(f"{name}_{len(found) + 1}", person, family, draft))
        if len(found) == TASKS:
            return tuple(found)
    raise ValueError(f"the world has no three more tasks of {family.name!r}")
