"""Text rules: written from what an attempt tried in vain, read by analogy, heard by the search."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from search_examples import Bill, episode_of, found_plan, problem_of, solves, task_of, task_problem

from auto_research.agent_research.agents.base import Attempt
from auto_research.agent_research.agents.search.advice import leaning_of
from auto_research.agent_research.agents.search.agent import SearchAgent
from auto_research.agent_research.agents.search.analogy import interface_of
from auto_research.agent_research.agents.search.forward import Searcher
from auto_research.agent_research.agents.search.writer import write
from auto_research.agent_research.budget import Budget, Meter
from auto_research.agent_research.operators import EditRequest, Episode, Use
from auto_research.agent_research.skill import Skill, text_skill
from auto_research.benchmarks.base import Json, Task
from auto_research.benchmarks.planbench.render import instance_of, problem_text
from auto_research.benchmarks.planbench.variants import (
    rename_domain,
    rename_instance,
    variant_names,
)
from auto_research.errors import BudgetExceeded
from auto_research.pddl import parse, show_definition
from auto_research.rng import derive

BLOCKS = task_of("blocks")
WORLD = interface_of(problem_of("blocks").domain)


@pytest.fixture(scope="module")
def agent() -> Iterator[SearchAgent]:
    agent = SearchAgent()
    yield agent
    agent.close()


def attempt(agent: SearchAgent, task: Task, skills: Sequence[Skill], units: int = 4000) -> Attempt:
    return agent.session(task, Meter(Budget(units=units))).attempt(skills)


def renamed(seed: int = 1) -> tuple[Task, Mapping[str, str]]:
    """The blocks task under random names, and the new name of each action."""
    plain = parse(BLOCKS.observation["domain"])
    names = variant_names(derive(seed, "advice"), plain, "mystery")
    instance = rename_instance(instance_of(problem_of("blocks")), names)
    observation = {
        "domain": show_definition(rename_domain(plain, names)),
        "problem": problem_text(instance, "blocks"),
        "question": "",
    }
    return Task("renamed_1", "renamed", 0, "pddl", "solve it", observation), names.actions


def tried(counts: Mapping[str, int], plan: Sequence[tuple[str, ...]], name: str = "e1") -> Episode:
    """An attempt at the blocks whose searches made so many states by each action."""
    found = episode_of(BLOCKS, plan)
    evidence = {"plan": [list(s) for s in plan], "segments": [], "tried": dict(counts)}
    return replace(found, id=name, evidence=evidence, own_check=bool(plan))


def rule(text: str, interface: Mapping[str, Json] | None = WORLD) -> Skill:
    return text_skill(text, name="rule", interface=interface)


def told(request: EditRequest) -> list[str]:
    return [skill.source for skill in write(request, Bill().charge)]


@pytest.mark.parametrize(
    ("text", "leaning"),
    [
        ("Prefer go<a,b>; avoid stop<a>.", {"go": 1, "stop": -1}),
        ("prefer go, run<a> and hop.  Avoid stop", {"go": 1, "run": 1, "hop": 1, "stop": -1}),
        ("Build from below.\nAVOID a.b<x>.", {"a.b": -1}),
        ("Build from below.", {}),
        ("", {}),
    ],
)
def test_a_text_is_read_clause_by_clause(text: str, leaning: Mapping[str, int]) -> None:
    assert leaning_of(text) == leaning


PLAN = [("unstack", "c", "a"), ("put-down", "c"), ("pick-up", "a"), ("stack", "a", "b")]


def test_a_success_alone_prefers_what_was_seldom_tried_in_vain() -> None:
    # Each action is 1/4 of the plan. Of 40 states put-down made 4, a lift of 0.25 / 0.1 = 2.5;
    # stack made 20, a lift of 0.25 / 0.5 = 0.5; pick-up and unstack 8, a lift of 1.25.
    success = tried({"pick-up": 8, "put-down": 4, "stack": 20, "unstack": 8}, PLAN)
    assert told(EditRequest("rule", episode=success)) == [
        "Prefer put-down<object>; avoid stack<object,object>."
    ]


def test_a_failure_adds_what_it_tried() -> None:
    # With the failure's 60 unstacks: 100 states, put-down 4 (lift 6.25), unstack 68 (lift 0.37).
    success = tried({"pick-up": 8, "put-down": 4, "stack": 20, "unstack": 8}, PLAN)
    failure = tried({"unstack": 60}, [], name="e2")
    assert told(EditRequest("rule", episode=success, against=failure)) == [
        "Prefer put-down<object>; avoid unstack<object,object>."
    ]
    elsewhere = replace(failure, task=task_of("parcels"))
    assert told(EditRequest("rule", episode=success, against=elsewhere)) == told(
        EditRequest("rule", episode=success)
    )


@pytest.mark.parametrize("counts", [{}, {"stack": 10}, {"nosuch": 4}])
def test_without_a_difference_nothing_is_written(counts: Mapping[str, int]) -> None:
    plan = [("stack", "a", "b")]
    assert told(EditRequest("rule", episode=tried(counts, plan))) == []
    assert told(EditRequest("rule", episode=tried({"stack": 5, "pick-up": 5}, []))) == []
    assert told(EditRequest("rule")) == []


def test_the_next_version_of_a_rule_keeps_what_both_agree_on_in_its_own_words() -> None:
    success = tried({"pick-up": 8, "put-down": 4, "stack": 20, "unstack": 8}, PLAN)
    _, names = renamed()
    other_world = next(iter(write(EditRequest("rule", episode=renamed_success()), Bill().charge)))

    def next_of(text: str, interface: Mapping[str, Json] = WORLD) -> list[Skill]:
        bases = (rule(text, interface),)
        return list(write(EditRequest("rule", episode=success, bases=bases), Bill().charge))

    (same,) = next_of("Prefer put-down<object>; avoid stack<object,object>.")
    assert same.id == rule("Prefer put-down<object>; avoid stack<object,object>.").id
    (wider,) = next_of("Prefer pick-up.")
    assert leaning_of(wider.source) == {"pick-up": 1, "put-down": 1, "stack": -1}
    (narrower,) = next_of("Avoid put-down.")
    assert leaning_of(narrower.source) == {"stack": -1}
    (translated,) = next_of("Build from below.", other_world.interface)
    assert leaning_of(translated.source) == {names["put-down"]: 1, names["stack"]: -1}
    assert translated.interface == other_world.interface
    (stranger,) = next_of("Prefer x.", interface_of(problem_of("parcels").domain))
    assert stranger.interface == WORLD


def renamed_success() -> Episode:
    task, names = renamed()
    counts = {"pick-up": 8, "put-down": 4, "stack": 20, "unstack": 8}
    plan = found_plan(task_problem(task))
    evidence = {
        "plan": [list(step) for step in plan],
        "segments": [],
        "tried": {names[a]: n for a, n in counts.items()},
    }
    return replace(episode_of(task, plan), evidence=evidence)


def test_a_search_tells_what_it_tried_and_a_rule_is_written_from_it(agent: SearchAgent) -> None:
    done = attempt(agent, BLOCKS, [])
    episode = replace(episode_of(BLOCKS, []), evidence=done.evidence)
    bill = Bill()
    (written,) = write(EditRequest("rule", episode=episode), bill.charge)
    assert leaning_of(written.source)
    assert (written.kind, written.interface) == ("text", WORLD)
    assert written.provenance.task == BLOCKS.id
    assert bill["write"] == len(leaning_of(written.source)) and bill["rule"] > 0
    short = Bill(cap=bill.total() - 1)
    with pytest.raises(BudgetExceeded):
        write(EditRequest("rule", episode=episode), short.charge)


def test_a_rule_is_heard_by_the_search_under_other_names_too(agent: SearchAgent) -> None:
    text = rule("Prefer put-down<object>; avoid stack<object,object>.")
    task, names = renamed()
    for each in (BLOCKS, task):
        plain, advised = attempt(agent, each, []), attempt(agent, each, [text])
        assert advised.uses == (Use(text.id, called=True, helped=True),)
        assert solves(task_problem(each), advised.submission.plan)
        assert plain.evidence != advised.evidence
    line = advised.transcript[0]
    assert (line.at, line.text) == (
        "advice",
        f"rule: Prefer {names['put-down']}<object>; avoid {names['stack']}<object,object>.",
    )


def test_a_rule_without_an_interface_speaks_the_words_of_the_task(agent: SearchAgent) -> None:
    hand_written = rule("Avoid stack.", None)
    assert attempt(agent, BLOCKS, [hand_written]).uses[0].called
    task, _ = renamed()
    assert not attempt(agent, task, [hand_written]).uses[0].called


@pytest.mark.parametrize(
    "text",
    [
        rule("Build from below."),
        rule("Prefer nosuch."),
        rule("Avoid stack.", interface_of(problem_of("parcels").domain)),
    ],
)
def test_what_cannot_be_read_changes_nothing_but_a_line(agent: SearchAgent, text: Skill) -> None:
    plain, given = attempt(agent, BLOCKS, []), attempt(agent, BLOCKS, [text])
    assert given.submission == plain.submission and given.evidence == plain.evidence
    assert [(use.called, use.helped) for use in given.uses] == [(False, False)]
    assert [line.text for line in given.transcript if line.at == "advice"] == [
        "rule: cannot be read for the task"
    ]


def test_rules_vote_and_a_tie_is_no_advice(agent: SearchAgent) -> None:
    both = [rule("Avoid stack."), rule("Prefer stack.")]
    plain, given = attempt(agent, BLOCKS, []), attempt(agent, BLOCKS, both)
    assert given.evidence == plain.evidence


def test_a_rule_in_a_failed_attempt_had_a_say_and_did_not_help(agent: SearchAgent) -> None:
    text = rule("Avoid stack.")
    spent = attempt(agent, BLOCKS, [text], units=35)
    assert not spent.own_check
    assert spent.uses == (Use(text.id, called=True, helped=False),)


def test_each_rule_read_is_charged(agent: SearchAgent) -> None:
    meter = Meter(Budget())
    agent.session(BLOCKS, meter).attempt([rule("Avoid stack."), rule("Build from below.")])
    assert meter.units_by_kind["rule"] == 2
    assert meter.units_by_kind["bind"] > 0


@settings(max_examples=40, deadline=None)
@given(
    name=st.sampled_from(("blocks", "parcels", "odd")),
    draws=st.lists(st.integers(0, 2), min_size=6, max_size=6),
)
def test_whatever_the_advice_a_plan_found_solves_the_problem(name: str, draws: list[int]) -> None:
    problem = problem_of(name)
    weights = dict(zip(sorted(problem.domain.schemas), draws, strict=False))
    plan = Searcher(problem, Bill().charge, weights).plan(problem.init, problem.goal, 20_000)
    assert solves(problem, plan)


def test_advice_orders_states_with_as_many_unmet_goals() -> None:
    problem = problem_of("blocks")
    expanded = {}
    for name, weights in {"none": {}, "good": {"put-down": 0}, "bad": {"put-down": 9}}.items():
        bill = Bill()
        Searcher(problem, bill.charge, weights).plan(problem.init, problem.goal)
        expanded[name] = bill["expand"]
    assert expanded["good"] < expanded["bad"]
