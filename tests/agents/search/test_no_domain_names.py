"""Honesty rule 5: the agent's code contains no domain's name, predicate, action or type."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from auto_research.agent_research.agents import search
from auto_research.benchmarks.planbench.worlds import WORLDS
from auto_research.pddl import read_domain

# Words that the code needs for matters of its own: English prepositions; a skill is loaded; state
# is cleared; units are charged; a rule is lifted from objects to variables.
ENGLISH = frozenset({"in", "on", "at", "load", "clear", "charge", "charged", "lift"})

SOURCES = sorted(p for p in Path(str(search.__path__[0])).iterdir() if p.suffix in (".py", ".txt"))


def words_of_the_worlds() -> set[str]:
    words = set(WORLDS)
    for world in WORLDS.values():
        domain = read_domain(world.domain)
        words |= {*domain.predicates, *domain.schemas, *domain.parents, *domain.parents.values()}
        drift = re.findall(r":action ([\w-]+)|\(([\w-]+)", world.drift.action)
        words |= {name for pair in drift for name in pair if name not in ("", "and")}
        words.add(world.drift.predicate.strip("(").split()[0].strip(")"))
    return words - {"object"}


def test_the_words_looked_for_are_those_of_the_worlds() -> None:
    words = words_of_the_worlds()
    assert {"blocksworld", "on", "pick-up", "in-city", "truck", "calibrated", "refuel"} <= words
    assert {"have_image", "fueled", "shutter_open", "hoist", "distributor"} <= words


@pytest.mark.parametrize("source", SOURCES, ids=lambda p: p.name)
def test_no_word_of_a_world_is_in_the_agents_code(source: Path) -> None:
    text = source.read_text().lower()
    spoken = set(re.findall(r"[a-z0-9]+(?:[-_][a-z0-9]+)*", text))
    parts = {part for word in spoken for part in re.split(r"[-_]", word)}
    assert (spoken | parts) & words_of_the_worlds() <= ENGLISH


def test_every_exception_is_still_needed() -> None:
    text = " ".join(p.read_text().lower() for p in SOURCES)
    assert {word for word in ENGLISH if re.search(rf"\b{word}\b", text)} == ENGLISH
