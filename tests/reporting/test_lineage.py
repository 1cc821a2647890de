"""The library's size over a run and the versions' tree, on hand-worked changes."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest

from auto_research.agent_research.library import Change, Create, Fork, Merge, Retire, Revise
from auto_research.agent_research.skill import Skill, text_skill
from auto_research.agent_research.store import SkillStore
from auto_research.reporting.lineage import causes, growth, trees

A, B, C, D, E = (text_skill(f"rule {letter}", name=letter) for letter in "abcde")
CHANGES: list[Change] = [
    Create(A, ("e0",)),
    Create(B, ("e1",)),
    Create(A, ("e2",)),  # the same skill again: nothing changes
    Revise(A.id, C, ("e3", "e4")),
    Fork(B.id, D, ("e5",)),
    Merge((C.id, D.id), E, ("e6",)),
    Retire(E.id, "never helped", ("e7",)),
]
PLACES = {f"e{n}": n for n in range(8)}


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SkillStore]:
    with SkillStore(tmp_path / "library.sqlite") as opened:
        yield opened


def all_skills(store: SkillStore) -> list[Skill]:
    return list(store.view().skills.values())


def test_size_follows_every_change_that_had_an_effect(store: SkillStore) -> None:
    store.apply(CHANGES)
    sizes = growth(all_skills(store), store.log(), PLACES)
    told = [(s.place, s.active, s.created, s.revised, s.retired) for s in sizes]
    assert told == [
        (-1, 0, 0, 0, 0),
        (0, 1, 1, 0, 0),
        (1, 2, 2, 0, 0),
        (4, 2, 2, 1, 0),
        (5, 3, 3, 1, 0),
        (6, 2, 4, 1, 0),
        (7, 1, 4, 1, 1),
    ]
    assert sizes[-1].active == len(store.view())


def test_a_change_whose_cause_is_unknown_stands_where_the_one_before_does(
    store: SkillStore,
) -> None:
    store.apply([Create(A, ("e4",)), Create(B, ("elsewhere",))])
    sizes = growth(all_skills(store), store.log(), PLACES)
    assert [size.place for size in sizes] == [-1, 4, 4]


def test_skills_that_were_there_before_the_log_began_count_from_the_start(
    store: SkillStore,
) -> None:
    store.apply(CHANGES[:2])
    before = len(store.log())
    store.apply([Retire(A.id, "old")])
    sizes = growth(all_skills(store), store.log()[before:], PLACES)
    assert [size.active for size in sizes] == [2, 1]


def test_a_tree_tells_what_made_and_what_ended_each_version(store: SkillStore) -> None:
    store.apply(CHANGES)
    told = [
        (depth, v.skill.name, v.op, v.cause, v.superseded_by, v.retired_by, v.retired_why)
        for tree in trees(all_skills(store), store.log())
        for depth, v in tree.walk()
    ]
    assert told == [
        (0, "b", "create", ("e1",), "", (), ""),
        (1, "d", "fork", ("e5",), E.id, (), ""),
        (0, "a", "create", ("e0",), C.id, (), ""),
        (0, "c", "revise", ("e3", "e4"), E.id, (), ""),
        (0, "e", "merge", ("e6",), "", ("e7",), "never helped"),
    ]


def test_a_skill_revised_more_often_than_python_recurses_has_a_tree(store: SkillStore) -> None:
    versions = [text_skill(f"rule {n}", name="r") for n in range(1500)]
    revisions = [Revise(a.id, b) for a, b in pairwise(versions)]
    store.apply([Create(versions[0]), *revisions])
    (tree,) = trees(all_skills(store), store.log())
    assert [depth for depth, _ in tree.walk()] == [0] * 1500
    assert tree.newest().skill.version == 1500


def test_the_causes_are_every_episode_a_change_names(store: SkillStore) -> None:
    store.apply(CHANGES)
    assert causes(store.log()) == set(PLACES)
