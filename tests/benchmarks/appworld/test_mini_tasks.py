"""appworld-mini on paper: what tasks there are, and that they hold together. Needs no AppWorld."""

from __future__ import annotations

import ast
import json
from random import Random

import pytest

from auto_research.benchmarks.appworld.inside.mini.draft import PRELUDE
from auto_research.benchmarks.appworld.inside.mini.plan import APPS, World, make_world
from auto_research.benchmarks.appworld.inside.mini.scenarios import (
    FAMILIES,
    SEED,
    SPLITS,
    Written,
    all_scenarios,
)


@pytest.fixture(scope="module")
def world() -> World:
    return make_world(SEED)


@pytest.fixture(scope="module")
def scenarios(world: World) -> dict[str, list[tuple[Written, ...]]]:
    return all_scenarios(world)


def tasks(scenarios: dict[str, list[tuple[Written, ...]]]) -> list[Written]:
    return [task for split in scenarios.values() for scenario in split for task in scenario]


def test_the_world_and_its_tasks_are_made_the_same_each_time(world: World) -> None:
    assert make_world(SEED) == world
    assert all_scenarios(make_world(SEED)) == all_scenarios(world)
    assert make_world(SEED + 1) != world


def test_twelve_people_have_an_account_in_every_app(world: World) -> None:
    assert len(world.people) == 12
    assert all(set(person.passwords) == set(APPS) for person in world.people)
    assert len({person.phone_number for person in world.people}) == 12


def test_every_split_has_scenarios_of_three_people(
    scenarios: dict[str, list[tuple[Written, ...]]],
) -> None:
    assert list(scenarios) == ["train", "dev", "test_normal", "test_challenge"]
    assert {name: len(split) for name, split in scenarios.items()} == {
        "train": 12,
        "dev": 4,
        "test_normal": 12,
        "test_challenge": 4,
    }
    for split in scenarios.values():
        for scenario in split:
            assert len({task.person.index for task in scenario}) == 3
            assert [task.task.rpartition("_")[2] for task in scenario] == ["1", "2", "3"]


def test_families_are_many_over_most_apps_and_of_three_difficulties() -> None:
    used = {name for split in SPLITS.values() for name in split}
    assert used == set(FAMILIES) and len(FAMILIES) >= 12
    assert len({app for family in FAMILIES.values() for app in family.apps}) >= 6
    assert {family.difficulty for family in FAMILIES.values()} == {1, 2, 3}


def test_the_shop_is_in_the_challenge_alone(
    scenarios: dict[str, list[tuple[Written, ...]]],
) -> None:
    with_shop = {
        name
        for name, split in scenarios.items()
        if any("amazon" in scenario[0].family.apps for scenario in split)
    }
    assert with_shop == {"test_challenge"}


def test_half_of_the_test_families_are_known_from_training() -> None:
    known = set(SPLITS["train"]) & set(SPLITS["test_normal"])
    assert len(known) == len(SPLITS["test_normal"]) // 2


def test_no_task_is_there_twice(scenarios: dict[str, list[tuple[Written, ...]]]) -> None:
    found = tasks(scenarios)
    assert len({task.task for task in found}) == len(found)
    assert len({(task.person.index, task.draft.instruction) for task in found}) == len(found)
    assert len({task.task.partition("_")[0] for task in found}) == len(found) // 3


def test_a_task_asks_for_an_answer_or_a_change_and_says_what_else_may_change(
    scenarios: dict[str, list[tuple[Written, ...]]],
) -> None:
    for task in tasks(scenarios):
        draft = task.draft
        assert draft.answer is not None or draft.changes
        assert all(change.rows for change in draft.changes)
        labels = [told["label"] for told in draft.requirements()]
        assert set(labels) == {"no_op_fail", "no_op_pass"}
        texts = [told["requirement"] for told in draft.requirements()]
        assert len(set(texts)) == len(texts)
        json.dumps(draft.private_data())


def test_the_programs_of_a_scenario_differ_in_values_alone(
    scenarios: dict[str, list[tuple[Written, ...]]],
) -> None:
    class Blank(ast.NodeTransformer):
        """Takes every value out of a program."""

        def visit_Constant(self, node: ast.Constant) -> ast.Constant:
            return ast.Constant(None)

        def visit_List(self, node: ast.List) -> ast.AST:
            return ast.Constant(None) if all_values(node) else node

        def visit_Tuple(self, node: ast.Tuple) -> ast.AST:
            return ast.Constant(None) if all_values(node) else node

        def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.AST:
            return ast.Constant(None)

    def all_values(node: ast.List | ast.Tuple) -> bool:
        return bool(node.elts) and all(isinstance(part, ast.Constant) for part in node.elts)

    for split in scenarios.values():
        for scenario in split:
            shapes = {ast.dump(Blank().visit(ast.parse(task.draft.program))) for task in scenario}
            most = 2 if scenario[0].family.name == "budget" else 1  # sum or max
            assert len(shapes) <= most, scenario[0].family.name


def test_programs_share_how_to_sign_in_and_state_no_answer(
    scenarios: dict[str, list[tuple[Written, ...]]],
) -> None:
    for task in tasks(scenarios):
        program = task.draft.program
        assert program.startswith(PRELUDE)
        if isinstance(task.draft.answer, str):
            assert task.draft.answer not in program


@pytest.mark.parametrize("name", sorted(FAMILIES))
def test_every_family_suits_most_people(name: str, world: World) -> None:
    made = [
        any(FAMILIES[name].make(world, person, Random(f"{draw}")) for draw in range(8))
        for person in world.people
    ]
    assert sum(made) >= 6
