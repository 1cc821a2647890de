"""The source of a skill is the whole truth about it: what is written can be read back."""

from __future__ import annotations

import ast
import keyword
from collections.abc import Sequence
from dataclasses import replace

import pytest
from search_examples import found_plan, problem_of, task_problem

from auto_research.agent_research.agents.search.causes import learn
from auto_research.agent_research.agents.search.render import NotAProgram, read, render
from auto_research.agent_research.agents.search.rules import Program, Rule, merge, schema_program
from auto_research.agent_research.skill import function_skill
from auto_research.benchmarks.base import Scenario
from auto_research.pddl import Atom, Problem


def learned(problem: Problem) -> Program:
    return learn(problem.domain, problem.init, problem.goal, found_plan(problem))


def numbered(rule: Rule) -> Rule:
    """The rule with its variables named by first use; nothing else about it changes."""
    names: dict[str, str] = {}

    def atom(a: Atom) -> Atom:
        words = (names.setdefault(x, f"?{len(names)}") if x[:1] == "?" else x for x in a[1:])
        return (a[0], *words)

    head, action = atom(rule.head), atom(rule.action)
    needs, static, via, given = (
        tuple(map(atom, part)) for part in (rule.needs, rule.static, rule.via, rule.given)
    )
    return replace(rule, head=head, action=action, needs=needs, static=static, via=via, given=given)


def by_head(program: Program) -> dict[str, list[Rule]]:
    """The rules for each predicate, in order: all that the executor sees of their order."""
    table: dict[str, list[Rule]] = {}
    for rule in program.rules:
        table.setdefault(rule.head[0], []).append(numbered(rule))
    return table


def assert_round_trip(program: Program) -> None:
    source = render(program)
    back = read(source)
    assert by_head(back) == by_head(program)
    assert back.goals == program.goals
    again = render(back)
    assert render(read(again)) == again
    assert function_skill(source).name.startswith("achieve_")


@pytest.mark.parametrize("name", ["blocks", "parcels", "odd", "paint"])
def test_what_a_small_plan_shows_can_be_read_back(name: str) -> None:
    assert_round_trip(learned(problem_of(name)))


def test_what_plans_of_every_world_and_variant_show_can_be_read_back(
    validation: Sequence[Scenario],
) -> None:
    for scenario in validation:
        problem = task_problem(scenario.tasks[0])
        program = learned(problem)
        assert_round_trip(program)
        assert_round_trip(merge([program, schema_program(problem.domain, problem.goal)]))


@pytest.mark.parametrize("name", ["blocks", "parcels", "odd", "paint"])
def test_the_schemas_as_rules_can_be_read_back(name: str) -> None:
    problem = problem_of(name)
    assert_round_trip(schema_program(problem.domain, problem.goal))


def test_names_that_python_cannot_use_are_replaced_and_never_fall_together() -> None:
    tree = ast.parse(render(learned(problem_of("odd"))))
    functions = [n for n in tree.body if isinstance(n, ast.FunctionDef)]
    assert len({f.name for f in functions}) == len(functions)
    executor = {"match", "need", "act", "undo", "achieve", "reach", "rules", "missing"}
    for function in functions:
        params = [a.arg for a in function.args.args]
        assert len(set(params)) == len(params)
        bound = {*params, *(n.id for n in ast.walk(function) if isinstance(n, ast.Name))}
        assert not any(map(keyword.iskeyword, bound))
        assert not executor & {*params, function.name}


def test_variables_that_differ_only_in_a_dash_stay_two() -> None:
    rule = Rule(("p", "?a-b", "?a_b"), ("do", "?a_b", "?a-b", "?a.b"), (("q", "?a.b"),))
    assert_round_trip(Program((rule,), {}, frozenset({"p"})))


def test_a_variable_called_underscore_is_not_lost_in_a_loop_that_binds_nothing() -> None:
    rule = Rule(("p", "?_"), ("do", "?_"), (("q", "?_"),))
    source = render(Program((rule,), {}, frozenset({"p"})))
    assert_round_trip(read(source))
    function = ast.parse(source).body[1]
    assert isinstance(function, ast.FunctionDef)
    assert function.args.args[0].arg != "_"


def test_a_constant_in_the_head_is_asked_for() -> None:
    rule = Rule(("p", "?x", "hall", "?y"), ("do", "?x", "?y"), ())
    program = Program((rule,), {}, frozenset({"p"}))
    assert_round_trip(program)
    tried: list[tuple[object, ...]] = []
    names: dict[str, object] = {
        "match": lambda *_, **__: [()],
        "need": lambda *facts: True,
        "act": lambda *step: tried.append(step) or True,
        "undo": lambda: None,
    }
    exec(compile(render(program), "skill", "exec"), names)
    table = names["rules"]
    assert isinstance(table, dict)
    assert table["p"][0]("a", "hall", "b") is True
    assert table["p"][0]("a", "attic", "b") is False
    assert tried == [("do", "a", "b")]


def test_very_long_names_leave_the_source_readable_back() -> None:
    p, act, x = "p" * 90, "a" * 90, "?" + "x" * 90
    rule = Rule((p, x), (act, x, x + "2"), ((p, x), (p, x + "2")), via=((p, x, x + "2"),))
    assert_round_trip(Program((rule,), {(p, 0, p, 0): 1}, frozenset({p})))


def test_only_hints_with_more_witnesses_for_than_against_are_written() -> None:
    hints = {("p", 0, "q", 1): 2, ("q", 1, "p", 0): 1, ("p", 1, "q", 1): 1, ("q", 1, "p", 1): 1}
    rule = Rule(("p", "?x"), ("do", "?x"), ())
    assert read(render(Program((rule,), hints))).hints == {("p", 0, "q", 1): 1}


@pytest.mark.parametrize(
    "source",
    [
        "",
        "def (",
        "x = 1",
        "def f():\n    return 1",
        "rules = {}",
        "def f(goals):\n    return True\n\n\nrules = {'p': [g]}",
        "def f(goals):\n    '''of: p. x'''\n    for g in goals:\n        pass\n\n\nrules = {}",
        "def f(goals):\n    'x'\n    for g in ordered(goals, (1,)):\n        pass\n\n\nrules = {}",
        "rules = " + "[" * 5000,
        "\0",
    ],
)
def test_other_source_is_said_not_to_be_a_program(source: str) -> None:
    with pytest.raises(NotAProgram):
        read(source)
