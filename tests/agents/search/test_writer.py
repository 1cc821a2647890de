"""The skill writer: what attempts showed becomes functions, revised in the words they have."""

from __future__ import annotations

import pytest
from search_examples import Bill, episode_of, found_plan, problem_of, solves, task_of, task_problem

from auto_research.agent_research.agents.search.analogy import interface_of
from auto_research.agent_research.agents.search.render import read
from auto_research.agent_research.agents.search.rules import merge
from auto_research.agent_research.agents.search.writer import write
from auto_research.agent_research.operators import EditRequest, Episode
from auto_research.agent_research.skill import Provenance, Skill, function_skill, text_skill
from auto_research.benchmarks.base import Task
from auto_research.benchmarks.planbench.render import instance_of, problem_text
from auto_research.benchmarks.planbench.variants import (
    Variant,
    drift,
    rename_domain,
    rename_instance,
    variant_names,
)
from auto_research.benchmarks.planbench.worlds import WORLDS
from auto_research.errors import BudgetExceeded
from auto_research.pddl import parse, show_definition
from auto_research.rng import derive

BLOCKS = task_of("blocks")


def variant_task(variant: Variant) -> Task:
    """The blocks task, its domain and facts under the names of a variant."""
    plain = parse(BLOCKS.observation["domain"])
    if variant == "drifted":
        plain = drift(plain, WORLDS["blocksworld"].drift)
    names = variant_names(derive(1, "writer", variant), plain, variant)
    instance = rename_instance(instance_of(problem_of("blocks")), names)
    observation = {
        "domain": show_definition(rename_domain(plain, names)),
        "problem": problem_text(instance, "blocks"),
        "question": "",
    }
    return Task(f"{variant}_1", variant, 0, "pddl", "solve it", observation)


def shown(task: Task) -> Episode:
    return episode_of(task, found_plan(task_problem(task)))


def one(request: EditRequest, bill: Bill | None = None) -> Skill:
    (skill,) = write(request, (Bill() if bill is None else bill).charge)
    return skill


def created(task: Task) -> Skill:
    return one(EditRequest("create", episode=shown(task)))


def test_a_created_skill_holds_the_rules_of_the_plan_and_where_it_came_from() -> None:
    bill = Bill()
    skill = one(EditRequest("create", episode=shown(BLOCKS)), bill)
    program = read(skill.source)
    assert {rule.action[0] for rule in program.rules} == {"unstack", "put-down", "pick-up", "stack"}
    assert skill.interface == interface_of(problem_of("blocks").domain)
    assert (skill.kind, skill.name, skill.signature) == (
        "function",
        "achieve_on",
        "achieve_on(goals)",
    )
    assert skill.provenance.task == BLOCKS.id
    assert BLOCKS.observation["problem"] in skill.provenance.query
    assert bill["write"] == len(program.rules) and bill["act"] > 0


def test_the_same_content_has_the_same_id() -> None:
    assert created(BLOCKS).id == created(BLOCKS).id
    again = one(EditRequest("revise", episode=shown(BLOCKS), bases=(created(BLOCKS),)))
    assert (
        one(EditRequest("revise", episode=shown(BLOCKS), bases=(created(BLOCKS),))).id == again.id
    )
    assert created(task_of("parcels")).id != created(BLOCKS).id


def test_only_the_stretches_that_the_evidence_names_are_learned_from() -> None:
    plan = found_plan(problem_of("blocks"))
    part = episode_of(BLOCKS, plan, [{"from": 0, "to": 1, "goal": [["clear", "a"]]}])
    program = read(one(EditRequest("create", episode=part)).source)
    assert [(r.head[0], r.action[0]) for r in program.rules] == [("clear", "unstack")]
    assert write(EditRequest("create", episode=episode_of(BLOCKS, plan, [])), Bill().charge) == []


def test_a_detour_in_the_plan_is_not_learned() -> None:
    plan = [("pick-up", "b"), ("put-down", "b"), *found_plan(problem_of("blocks"))]
    assert one(EditRequest("create", episode=episode_of(BLOCKS, plan))).id == created(BLOCKS).id


@pytest.mark.parametrize("variant", ["mystery", "deceptive"])
def test_a_revision_under_other_names_keeps_the_words_of_its_base(variant: Variant) -> None:
    base, other = created(BLOCKS), variant_task(variant)
    revised = one(EditRequest("revise", episode=shown(other), bases=(base,)))
    assert revised.interface == base.interface
    assert created(other).interface != base.interface
    # The same plan under other names shows the same rules again: each witness counted twice.
    old = read(base.source)
    assert read(revised.source).rules == merge([old, old]).rules
    assert revised.provenance.task == other.id


def test_a_domain_that_asks_for_more_gets_a_skill_of_its_own() -> None:
    base, drifted = created(BLOCKS), variant_task("drifted")
    forked = one(EditRequest("revise", episode=shown(drifted), bases=(base,)))
    domain = task_problem(drifted).domain
    assert forked.interface == interface_of(domain) != base.interface
    rules = read(forked.source).rules
    for rule in rules:  # what the old domain did not ask for is known to every rule kept
        schema = domain.schemas[rule.action[0]]
        assert len({*rule.needs, *rule.static}) == len(schema.pre)
    assert "calibrate" in {rule.action[0] for rule in rules}


def test_a_base_for_another_world_is_left_alone() -> None:
    base = created(task_of("parcels"))
    revised = one(EditRequest("revise", episode=shown(BLOCKS), bases=(base,)))
    assert revised.id == created(BLOCKS).id
    assert revised.interface == interface_of(problem_of("blocks").domain)


def test_a_base_that_no_program_can_be_read_from_is_replaced_by_what_was_learned() -> None:
    interface = interface_of(problem_of("blocks").domain)
    alien = function_skill("def f(goals):\n    return True", interface=interface)
    for base in (alien, text_skill("Build from below.", name="rule")):
        revised = one(EditRequest("revise", episode=shown(BLOCKS), bases=(base,)))
        assert revised.id == created(BLOCKS).id


def test_each_base_is_revised_in_turn() -> None:
    bases = (created(BLOCKS), created(variant_task("mystery")))
    found = write(EditRequest("revise", episode=shown(BLOCKS), bases=bases), Bill().charge)
    assert [skill.interface for skill in found] == [base.interface for base in bases]


def test_skills_of_one_structure_merge_into_the_words_of_the_first() -> None:
    bases = (created(BLOCKS), created(variant_task("mystery")), created(variant_task("deceptive")))
    merged = one(EditRequest("merge", bases=bases))
    assert merged.interface == bases[0].interface
    old = read(bases[0].source)
    assert read(merged.source).rules == merge([old, old, old]).rules


@pytest.mark.parametrize("other", ["parcels", "drifted"])
def test_skills_of_different_structure_do_not_merge(other: str) -> None:
    second = created(variant_task("drifted") if other == "drifted" else task_of(other))
    assert write(EditRequest("merge", bases=(created(BLOCKS), second)), Bill().charge) == []


def test_the_schemas_of_a_task_become_one_skill_with_no_origin() -> None:
    bill = Bill()
    skill = one(EditRequest("schemas", task=BLOCKS), bill)
    assert {r.action[0] for r in read(skill.source).rules} == set(
        task_problem(BLOCKS).domain.schemas
    )
    assert skill.provenance == Provenance()
    assert bill == {"write": len(read(skill.source).rules)}


def test_a_trace_holds_every_step_of_the_plan_and_none_of_its_objects() -> None:
    plan, bill = found_plan(problem_of("parcels")), Bill()
    skill = one(EditRequest("trace", episode=episode_of(task_of("parcels"), plan)), bill)
    assert skill.name == "replay"
    positions = [skill.source.index(f"act('{step[0]}'") for step in plan[:2]]
    assert positions == sorted(positions)
    assert skill.source.count("act(") == len(plan) == bill["write"]
    assert not any(repr(thing) in skill.source for thing in problem_of("parcels").objects)


def test_an_attempt_that_shows_nothing_gives_no_skill() -> None:
    nothing = episode_of(BLOCKS, [])
    for kind in ("create", "trace"):
        assert not any(
            read(s.source).rules for s in write(EditRequest(kind, episode=nothing), Bill().charge)
        )
    assert write(EditRequest("create"), Bill().charge) == []
    assert write(EditRequest("schemas"), Bill().charge) == []
    other = Task("t", "s", 0, "code", "do it", {})
    assert write(EditRequest("create", episode=shown_nothing(other)), Bill().charge) == []


def shown_nothing(task: Task) -> Episode:
    found = episode_of(BLOCKS, [])
    return Episode(**{**{f: getattr(found, f) for f in Episode.__slots__}, "task": task})


@pytest.mark.parametrize("kind", ["create", "revise", "merge", "schemas", "trace"])
def test_writing_stops_at_the_cap_with_nothing_spent_past_it(kind: str) -> None:
    base = created(BLOCKS)
    requests = {
        "create": EditRequest("create", episode=shown(BLOCKS)),
        "revise": EditRequest("revise", episode=shown(BLOCKS), bases=(base,)),
        "merge": EditRequest("merge", bases=(base, base)),
        "schemas": EditRequest("schemas", task=BLOCKS),
        "trace": EditRequest("trace", episode=shown(BLOCKS)),
    }
    whole = Bill()
    write(requests[kind], whole.charge)
    assert whole.total() > 0
    short = Bill(cap=whole.total() - 1)
    with pytest.raises(BudgetExceeded):
        write(requests[kind], short.charge)
    assert short.total() <= whole.total() - 1


def test_the_plans_of_the_variants_are_the_same_plan() -> None:
    for variant in ("mystery", "deceptive", "drifted"):
        problem = task_problem(variant_task(variant))
        assert solves(problem, found_plan(problem))
