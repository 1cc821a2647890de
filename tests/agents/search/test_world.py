"""The host side of a running skill: whatever it is asked, its plan leads to its state."""

from __future__ import annotations

import ast
import contextlib
import json
import re
from collections.abc import Callable, Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from search_examples import Bill, end_of, found_plan, problem_of, texts

from auto_research.agent_research.agents.search.agent import EXECUTOR
from auto_research.agent_research.agents.search.analogy import Analogy
from auto_research.agent_research.agents.search.world import World
from auto_research.agent_research.sandbox import Limits, Sandbox
from auto_research.pddl import Problem, read_domain, read_problem

NAMES = sorted(World(problem_of("blocks"), Bill().charge, 1).hosts())
WORDS = (
    "a",
    "b",
    "c",
    "on",
    "clear",
    "ontable",
    "handempty",
    "stack",
    "pick-up",
    "?x",
    "?",
    "x" * 2000,
)
GARBAGE: Sequence[object] = (
    *WORDS,
    None,
    True,
    -1,
    10**400,
    1.5,
    float("nan"),
    b"on",
    {},
    {"on": "a"},
    (),
    [],
    ("on",),
    ("on", "a", "b"),
    ["clear", "?x"],
    (("on", "a", "b"), ("clear", "b")),
    (("on", 0, "on", 1), ("on", 7, "on", -9)),
    ("a",) * 2000,
    [[[]]],
    {"a"},
    object(),
)


def world_of(name: str = "blocks", limit: int = 10**6, bill: Bill | None = None) -> World:
    return World(problem_of(name), (Bill() if bill is None else bill).charge, limit)


def assert_consistent(world: World) -> None:
    assert end_of(world.problem, world.plan) == world.state


arguments = st.lists(st.sampled_from(GARBAGE), max_size=4)
sensible = st.sampled_from(
    [
        ("act", ("unstack", "c", "a")),
        ("act", ("put-down", "c")),
        ("act", ("pick-up", "a")),
        ("act", ("stack", "a", "b")),
        ("act", ("stack", "c", "b")),
        ("enter", (("on", "a", "b"),)),
        ("enter", (("clear", "a"),)),
        ("leave", (("clear", "a"),)),
        ("missing", ((("on", "a", "b"), ("clear", "a")),)),
        ("match", (("x",), ("clear", "?x"))),
        ("allow", (2,)),
        ("undo", ()),
        ("restart", ()),
    ]
)
calls = st.lists(
    st.one_of(sensible, st.tuples(st.sampled_from(NAMES), arguments.map(tuple))), max_size=30
)


@settings(max_examples=150, deadline=None)
@given(calls=calls, limit=st.sampled_from((3, 40, 10**6)))
def test_no_call_breaks_the_world(calls: list[tuple[str, tuple[object, ...]]], limit: int) -> None:
    bill = Bill()
    world = world_of(limit=limit, bill=bill)
    hosts = world.hosts()
    for name, given_ in calls:
        with contextlib.suppress(Exception):  # the skill gets it as an error of its own
            hosts[name](*given_)
        assert_consistent(world)
        assert bill.total() <= limit
    assert (world.goals_met() == 1) == (("on", "a", "b") in world.state)


def test_no_call_from_inside_the_sandbox_brings_the_host_down() -> None:
    inside = [x for x in GARBAGE if isinstance(x, (str, bool, int, tuple, list, dict, type(None)))]
    source = f"""
def solve(goals):
    laughs = ["a"] * 100
    for i in range(6):
        laughs = [laughs] * 100
    itself = []
    itself.append(itself)
    deep = []
    for i in range(5000):
        deep = [deep]
    garbage = {inside!r} + [laughs, itself, deep, ("on", laughs), ["act", deep], ["b" * 10**6] * 9]
    fact, tried = ("on", "a", "b"), 0
    for host in ({", ".join(NAMES)},):
        for arguments in [[]] + [each for x in garbage for each in ([x], [x, fact], [fact, x])]:
            try:
                host(*arguments)
            except Exception:
                pass
            tried += 1
        try:
            host(*(["on"] * 500), nosuch=1)
        except Exception:
            pass
    return tried
"""
    world = world_of()
    with Sandbox(Limits(host_calls=100_000)) as sandbox:
        outcome = sandbox.call([source], "solve([])", world.hosts())
    assert outcome.failure == ""
    assert isinstance(outcome.value, int) and outcome.value > 60 * len(NAMES)
    assert_consistent(world)


@pytest.mark.parametrize(
    "step",
    [
        ("paint", "?x"),
        ("paint", "nosuch"),
        ("paint", ""),
        ("paint",),
        ("paint", "north", "south"),
        ("wall", "north"),
        ("?x", "north"),
    ],
)
def test_an_action_is_done_to_objects_of_the_task_only(step: tuple[str, ...]) -> None:
    world = world_of("paint")
    assert world.act(*step) is False
    assert world.plan == []
    assert world.act("paint", "north") is True
    assert world.plan == [("paint", "north")]


def test_an_action_that_does_not_apply_leaves_everything_as_it_was_and_is_paid_for() -> None:
    bill = Bill()
    world = world_of(bill=bill)
    assert world.act("pick-up", "a") is False
    assert (world.plan, world.state, bill) == ([], world.problem.init, {"act": 1})


def test_undo_takes_back_what_was_done_in_the_open_subgoal_only() -> None:
    world = world_of()
    world.allow(1)
    world.act("unstack", "c", "a")
    assert world.enter(("on", "c", "b")) == "open"
    world.act("stack", "c", "b")
    world.undo()
    assert world.plan == [("unstack", "c", "a")]
    assert_consistent(world)


def test_a_subgoal_is_left_when_its_fact_holds() -> None:
    world = world_of()
    assert world.enter(("clear", "a")) == "open"
    assert world.leave(("clear", "a")) is False
    world.act("unstack", "c", "a")
    assert world.leave(("clear", "a")) is True
    assert world.enter(("clear", "a")) == "holds"


def test_a_subgoal_inside_itself_is_refused() -> None:
    world = world_of()
    assert world.enter(("on", "a", "b")) == "open"
    assert world.enter(("holding", "a")) == "open"
    assert world.enter(("on", "a", "b")) == "refused"


def test_subgoals_cannot_be_nested_without_end() -> None:
    world = world_of()
    answers = [world.enter(("on", "a", f"nosuch{i}")) for i in range(200)]
    assert answers[0] == "open" and answers[-1] == "refused"


def test_missing_tells_what_does_not_hold_in_order() -> None:
    facts = (("on", "a", "b"), ("clear", "c"), ("holding", "a"), ("nosuch", "a"))
    assert world_of().missing(facts) == [facts[0], facts[2], facts[3]]


def test_match_finds_the_values_under_which_all_conditions_hold_and_is_paid_for() -> None:
    bill = Bill()
    world = world_of("parcels", bill=bill)
    found = world.match(("p", "t"), (":place", "?p"), ("of", "?p", "?t"))
    assert sorted(found) == [("depot", "here"), ("home", "here"), ("shop", "here")]
    assert bill["rule"] == 1 and bill["match"] >= len(found)
    assert world.match((), ("at", "red", "depot")) == [()]
    assert world.match((), ("at", "red", "shop")) == []
    assert world.match(("x",), ("nosuch", "?x")) == []


def test_past_its_share_a_skill_is_refused_everything_and_nothing_more_is_spent() -> None:
    bill = Bill()
    world = world_of(limit=2, bill=bill)
    assert [world.act("pick-up", "a"), world.act("pick-up", "a")] == [False, False]
    for name, given_ in (
        ("act", ("pick-up", "a")),
        ("enter", (("on", "a", "b"),)),
        ("match", ((),)),
        ("missing", ((),)),
    ):
        with pytest.raises(Exception, match="share of the budget"):
            world.hosts()[name](*given_)
    assert bill == {"act": 2}


def test_an_episode_out_of_units_stops_the_skill_and_keeps_the_error() -> None:
    bill = Bill(cap=3)
    world = world_of(bill=bill)
    for _ in range(3):
        world.act("pick-up", "a")
    with pytest.raises(Exception, match="budget spent"):
        world.act("pick-up", "a")
    assert bill.total() == 3 and world.error is not None


def test_goals_that_build_on_others_come_after_them() -> None:
    domain, text = texts("blocks")
    goal = "(:goal (and (on c a) (on a b)))"
    problem = read_problem(text.replace("(:goal (and (on a b)))", goal), read_domain(domain))
    assert len(problem.goal) == 2
    world = World(problem, Bill().charge, 100)
    goals = (("on", "c", "a"), ("on", "a", "b"))
    assert world.ordered(goals, (("on", 1, "on", 0),)) == [goals[1], goals[0]]
    assert world.ordered(goals, ()) == list(goals)
    circle = (("on", 1, "on", 0), ("on", 0, "on", 1))
    assert sorted(world.ordered(goals, circle)) == sorted(goals)


def renamed(problem: Problem) -> tuple[Problem, Analogy]:
    """Blocks under names that mislead: two predicates and two actions trade places."""
    pairs = {"holding": "clear", "clear": "holding", "stack": "unstack", "unstack": "stack"}
    domain, text = (
        re.sub(r"[\w-]+", lambda word: pairs.get(word[0], word[0]), each)
        for each in texts("blocks")
    )
    kept = {"on": "on", "ontable": "ontable", "handempty": "handempty"}
    acts = {"put-down": "put-down", "pick-up": "pick-up"}
    predicates = {**kept, "holding": "clear", "clear": "holding"}
    analogy = Analogy(predicates, {**acts, "stack": "unstack", "unstack": "stack"}, True)
    return read_problem(text, read_domain(domain)), analogy


def test_a_skill_speaks_its_own_words_and_the_plan_is_in_the_words_of_the_task() -> None:
    plain = problem_of("blocks")
    problem, analogy = renamed(plain)
    world = World(problem, Bill().charge, 1000, analogy)
    assert world.match(("x",), ("clear", "?x")) == [("b",), ("c",)]
    assert world.missing((("holding", "c"), ("clear", "c"))) == [("holding", "c")]
    for step in found_plan(plain):
        assert world.act(*step) is True
    assert world.plan[0] == ("stack", "c", "a")
    assert world.goals_met() == 1
    assert_consistent(world)
    assert world.in_skill_words(("holding", "a")) == ("clear", "a")


def test_the_executor_calls_no_function_that_the_host_lacks() -> None:
    tree = ast.parse(EXECUTOR)
    own = {n.name for n in ast.walk(tree) if isinstance(n, ast.FunctionDef)}
    calls = [n.func for n in ast.walk(tree) if isinstance(n, ast.Call)]
    called = {f.id for f in calls if isinstance(f, ast.Name)}
    assert called - own - set(NAMES) <= {"range", "rule"}


def test_hosts_take_what_json_brings() -> None:
    world = world_of()
    fact = json.loads('["clear", "a"]')
    hosts: dict[str, Callable[..., object]] = world.hosts()
    assert hosts["enter"](fact) == "open"
    assert hosts["act"]("unstack", "c", "a") is True
    assert hosts["leave"](fact) is True
