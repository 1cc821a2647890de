"""Skills on request: from an attempt's code where it has them, else from the model, charged."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from llm_cases import Tried, attempt, function
from model_server import DONE, MENDED, ModelServer, Say, code, shopkeeper
from toy_world import task_of

from auto_research.agent_research.agents.llm.agent import LlmAgent
from auto_research.agent_research.budget import Budget, Meter
from auto_research.agent_research.skill import Provenance, text_skill
from auto_research.benchmarks.base import Verdict

OLD = function('def total_price(kind: str) -> int:\n    """The sum."""\n    return 4\n')
OTHER = function("def all_prices() -> list:\n    return [4]\n")
NOTE = text_skill("Goods come in pages.", name="pages", interface={"world": "toy"})


def wrote(reply: str, kind: Any, failing: bool = False, **request: Any) -> tuple[Any, Tried, str]:
    """What the model's `reply` makes of a request, the attempt before it, and what it was asked."""

    def script(asked: Any) -> Any:
        if "You keep a collection" in asked["messages"][0]["content"]:
            return Say(reply)
        return Say("I give up.") if failing else shopkeeper(asked)

    with ModelServer(script) as server:
        first = ["print(apis.nothing)"] if failing else []
        tried = attempt(server) if not failing else _failed(server, first)
        before = server.calls
        skills = tried.write(kind, **request)
        asked = server.requests[-1]["messages"][-1]["content"] if server.calls > before else ""
        assert tried.meter.totals["model_calls"] == server.calls
        assert tried.meter.totals["tokens"] == server.tokens
        assert tried.meter.units_by_kind.get("write", 0) == len(skills)
        return skills, tried, asked


def _failed(server: ModelServer, codes: list[str]) -> Tried:
    """An attempt that ran code which raised, and then gave up."""
    tried = attempt(server)
    evidence = {
        "given": "",
        "finished": False,
        "blocks": [{"code": c, "failed": True, "output": "AttributeError: nothing"} for c in codes],
    }
    tried.attempt = replace(tried.attempt, evidence=evidence)
    return tried


def test_after_a_failure_the_model_proposes_the_next_version() -> None:
    (skill,), _, asked = wrote(code(MENDED), "revise", failing=True, bases=(OLD,), limit=2)
    assert skill.name == "total_price" and skill.interface == OLD.interface
    assert OLD.source.strip() in asked and "AttributeError: nothing" in asked
    assert "at most 2 things" in asked and "it did not succeed" in asked


def test_a_success_without_the_base_gives_what_it_wrote_as_lines_of_their_own() -> None:
    skills, _, asked = wrote("never asked", "revise", bases=(OTHER,))
    assert [s.name for s in skills] == ["total_price", "all_goods"] and not asked
    assert all(s.interface != OTHER.interface for s in skills)


def test_a_version_under_another_name_is_a_line_of_its_own() -> None:
    reply = code("def better(kind):\n    return 1")
    (skill,), _, _ = wrote(reply, "revise", failing=True, bases=(OLD,))
    assert skill.name == "better" and skill.interface != OLD.interface


@pytest.mark.parametrize("reply", ["No.", code("x = 1"), code("def f(:"), code(OLD.source)])
def test_what_is_no_new_function_is_no_skill_but_is_charged(reply: str) -> None:
    skills, tried, asked = wrote(reply, "revise", failing=True, bases=(OLD,))
    assert list(skills) == [] and asked and tried.meter.totals["model_calls"] == 2


def test_a_text_is_revised_as_a_text() -> None:
    reply = "```\nGoods come in pages; ask until one is empty.\n```"
    (skill,), _, asked = wrote(reply, "revise", failing=True, bases=(NOTE,))
    assert skill.kind == "text" and skill.source.startswith("Goods come in pages; ask")
    assert skill.name == NOTE.name and skill.interface == NOTE.interface and NOTE.source in asked


def test_several_become_one_under_the_name_of_the_first() -> None:
    (skill,), _, asked = wrote(code(MENDED), "merge", bases=(OLD, OTHER))
    assert skill.name == "total_price" and skill.interface == OLD.interface
    assert "def all_prices" in asked and "def total_price" in asked


def test_one_is_made_for_a_task_out_of_what_fits() -> None:
    task = task_of("elsewhere", 2)
    reply = code("def plums():\n    return 0")
    (skill,), _, asked = wrote(reply, "adapt", bases=(OLD, NOTE), task=task)
    assert skill.name == "plums" and skill.interface["world"] == "toy"
    assert NOTE.source in asked and "def total_price" in asked
    nothing, _, _ = wrote("nothing", "adapt", bases=(OLD,), task=task)
    assert list(nothing) == []


def test_each_way_to_leave_a_part_out_is_a_version() -> None:
    reply = code(OLD.source) + "\n" + code("def total_price(kind):\n    return 1") * 1
    reply += "\n" + code("def total_price():\n    return 2")
    skills, _, _ = wrote(reply, "shrink", bases=(OLD,))
    assert [s.source.split()[-1] for s in skills] == ["1", "2"]  # the base itself is no version
    assert all(s.interface == OLD.interface for s in skills)


def test_a_rule_is_a_text_on_what_sets_two_attempts_apart() -> None:
    reply = "Ask for every page."
    (skill,), tried, asked = wrote(reply, "rule")
    assert skill.kind == "text" and skill.source == reply
    assert skill.interface == {"world": "toy"} and "def all_goods" in asked
    (kept,), _, asked = wrote(reply, "rule", bases=(NOTE,), against=tried.episode)
    assert kept.name == NOTE.name and NOTE.source in asked and "that did not" in asked


def test_a_trace_is_the_whole_attempt_as_one_function() -> None:
    (skill,), _, asked = wrote("never asked", "trace")
    assert skill.name == "earlier_work" and not asked
    assert "apis.supervisor.complete_task" in skill.source and "prize" not in skill.source
    compile(skill.source, "skill", "exec")


def test_no_schemas_are_known() -> None:
    skills, _, asked = wrote("never asked", "schemas")
    assert list(skills) == [] and not asked


def test_of_a_span_only_the_functions_that_make_one_of_its_calls_are_written() -> None:
    skills, _, _ = wrote("never asked", "create", span=("apis.shop.show_goods<page>",))
    assert [s.name for s in skills] == ["total_price", "all_goods"]
    none, _, _ = wrote("never asked", "create", span=("apis.phone.call<number>",))
    assert list(none) == []


def test_a_function_comes_with_the_given_ones_that_it_calls() -> None:
    new = 'def twice(kind: str) -> int:\n    return 2 * total_price(kind)\n\n\nprint(twice("plum"))'
    with ModelServer([code(new), code(DONE)]) as server:
        (skill,) = attempt(server, [OLD]).write("create")
    assert skill.name == "twice" and "def total_price" in skill.source


def test_imports_that_a_function_needs_come_with_it_and_no_others() -> None:
    source = "import math, json\nfrom os import path as p\ndef f():\n    return math.pi\nf()"
    with ModelServer([code(source), "Done."]) as server:
        (skill,) = attempt(server).write("create")
    assert "math" in skill.source and "path" not in skill.source


def test_the_model_hears_of_a_verdict_only_where_operators_do() -> None:
    def script(asked: Any) -> Any:
        writing = "You keep a collection" in asked["messages"][0]["content"]
        return Say("No.") if writing else shopkeeper(asked)

    with ModelServer(script) as server:
        tried = attempt(server)
        judged = replace(tried.episode, verdict=Verdict(False, {}))
        evidence: Any = tried.attempt.evidence
        for episode, heard in ((tried.episode, True), (judged, False)):
            unfinished = replace(episode, evidence={**evidence, "finished": False})
            tried.write("revise", episode=unfinished, bases=(OTHER,))
            said = server.requests[-1]["messages"][-1]["content"]
            assert ("it succeeded" in said) == heard


def test_fit_is_the_scenario_else_likeness_else_nothing() -> None:
    with ModelServer(["Hello."]) as server:
        agent = LlmAgent(server.options())
        session = agent.session(task_of("shop", 0), Meter(Budget()))
        mine = replace(OLD, provenance=Provenance(scenario="shop"))
        near = replace(OLD, provenance=Provenance(query=task_of("x", 1).instruction))
        far = replace(OLD, provenance=Provenance(query="Ring the bell."))
        foreign = function("def f():\n    return 1\n", world="pddl")
        fits = [session.fit(skill) for skill in (mine, near, far, foreign)]
        agent.close()
    assert fits[0] == 1.0 > fits[1] > fits[2] >= 0.0 == fits[3]
    assert server.calls == 0
