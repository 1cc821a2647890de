"""Which settings vary, and that every genome of a space is a method."""

from __future__ import annotations

import random
from typing import Any, Literal

import pytest
from evolve_cases import installed, methods, space
from hypothesis import given
from hypothesis import strategies as st
from pydantic import Field

from auto_research.agent_research.operators import SLOTS, Settings
from auto_research.evolution.genome import genome_of
from auto_research.evolution.space import neighbours


class Options(Settings):
    flag: bool = True
    word: Literal["a", "b", "c"] = "b"
    share: float = Field(default=0.5, ge=0, le=1)
    least: int = Field(default=3, ge=1)
    positive: float = Field(default=2.0, gt=0)
    free: float = -1.0
    name: str = "x"
    hinted: int = Field(default=5, json_schema_extra={"search": [1, 5, 9]})
    still: int = Field(default=5, ge=1, json_schema_extra={"search": []})


@pytest.mark.parametrize(
    ("field", "others"),
    [
        ("flag", [False]),
        ("word", ["a", "c"]),
        ("share", [0.25, 0.75]),
        ("least", [1, 6]),
        ("positive", [1.0, 4.0]),
        ("free", []),
        ("name", []),
        ("hinted", [1, 9]),
        ("still", []),
    ],
)
def test_a_setting_varies_as_its_type_and_bounds_say(field: str, others: list[Any]) -> None:
    found = neighbours(Options.model_fields[field], getattr(Options(), field))
    assert found == others
    assert [type(other) for other in found] == [type(other) for other in others]


def test_an_operator_has_its_methods_settings_its_defaults_and_single_steps() -> None:
    found = [a.settings for a in space("keep sage, try sage.evolve").alleles["update"]]
    plain = '{"retire": true, "retire_below": 0.5, "retire_streak": 3, "revise": true}'
    assert found[0] == plain
    assert set(found) == {
        plain,
        plain.replace('"retire": true', '"retire": false'),
        plain.replace('"revise": true', '"revise": false'),
        plain.replace("0.5", "0.25"),
        plain.replace("0.5", "0.75"),
        plain.replace("3", "1"),
        plain.replace("3", "6"),
    }


def test_steps_past_a_bound_are_none() -> None:
    siblings = {a.to_dict()["siblings"] for a in space().alleles["rollout"] if a.use != "none"}
    assert siblings == {2, 4, 8, 16}  # two is the least; its half is no group


def test_an_installed_method_is_its_own_projection() -> None:
    whole = space()
    for method in methods():
        genome = whole.project(method)
        assert genome == genome_of(method)
        assert genome.hash == method.content_hash()


def test_a_method_outside_the_space_is_brought_into_it() -> None:
    narrow = space("keep sage, try sage.save, try sage.chain")
    genome = narrow.project(methods()[0])
    assert genome.slots()["update"].use == "sage.save"
    assert genome.slots()["retrieval"].use == "sage.learned"


@given(st.integers(0, 10_000))
def test_every_genome_is_a_method_with_the_same_content(seed: int) -> None:
    genome = space().draw(random.Random(seed))
    method = genome.method(installed())
    assert method.content_hash() == genome.hash
    assert genome_of(method) == genome


def test_a_small_space_is_gone_through_whole_and_once() -> None:
    narrow = space("keep sage, try other updates and rewards")
    found = [genome.hash for genome in narrow.everything()]
    assert len(found) == len(set(found)) == narrow.size


def test_every_slot_has_the_known_settings_first() -> None:
    sage = methods()[0].slots()
    for slot in SLOTS:
        first = space("sage").alleles[slot][0]
        assert first.to_dict() == sage[slot].to_dict()
