"""Seeds and methods are read before anything is paid for, and what cannot be meant is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from auto_research.comparison.plan import read_methods, read_seeds
from auto_research.errors import UserError
from auto_research.plugins import Registry, load_plugins


@pytest.fixture(scope="module")
def registry() -> Registry:
    return load_plugins()


@pytest.mark.parametrize(
    ("text", "seeds"),
    [
        ("7", [7]),
        ("1..5", [1, 2, 3, 4, 5]),
        ("1,2,3", [1, 2, 3]),
        ("9, 1..3 ,7", [1, 2, 3, 7, 9]),
        ("4..4", [4]),
        ("0", [0]),
    ],
)
def test_seeds_are_ranges_and_lists(text: str, seeds: list[int]) -> None:
    assert read_seeds(text) == seeds


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "'' is no seed"),
        ("1,,2", "'' is no seed"),
        ("-1", "'-1' is no seed"),
        ("1...5", "'1...5' is no seed"),
        ("1.5", "'1.5' is no seed"),
        ("one", "'one' is no seed"),
        ("１", "'１' is no seed"),
        ("5..1", "'5..1' runs backwards"),
        ("1..3,2", "seed 2 is named twice"),
        ("0..999999999", "more than 1000 seeds"),
    ],
)
def test_anything_else_is_refused(text: str, told: str) -> None:
    with pytest.raises(UserError, match=told.replace(".", r"\.")):
        read_seeds(text)


def test_methods_are_names_and_files(registry: Registry, tmp_path: Path) -> None:
    file = tmp_path / "mine.yaml"
    slots = "retrieval: random\nupdate: sage.evolve\nreward: outcome\nrollout: none\n"
    file.write_text(f"name: mine\n{slots}")
    assert [m.name for m in read_methods(f"sage, {file},react", registry)] == [
        "sage",
        "mine",
        "react",
    ]


def test_a_duplicate_is_found_before_it_is_paid_for(registry: Registry, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="two methods are named 'sage'"):
        read_methods("sage,react,sage", registry)
    method = read_methods("sage,react", registry)[1]
    slots = {slot: filled.to_dict() for slot, filled in method.slots().items()}
    file = tmp_path / "again.yaml"
    file.write_text("name: again\n" + "".join(f"{k}: {v}\n" for k, v in slots.items()))
    with pytest.raises(UserError, match="'again' and 'react' have the same operators"):
        read_methods(f"react,{file}", registry)


@pytest.mark.parametrize("names", ["", "sage", "sage,", " , "])
def test_one_method_is_no_comparison(registry: Registry, names: str) -> None:
    with pytest.raises(UserError, match="needs two methods"):
        read_methods(names, registry)


def test_a_misspelt_method_is_told_what_is_near(registry: Registry) -> None:
    with pytest.raises(UserError, match="did you mean 'react'"):
        read_methods("sage,raect", registry)
