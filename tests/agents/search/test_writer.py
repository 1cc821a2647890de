"""The skill writer: what attempts showed becomes functions, revised in the words they have."""

from __future__ import annotations

from collections.abc import Iterable

import pytest
from search_examples import Bill, episode_of, found_plan, problem_of, solves, task_of, task_problem

from auto_research.agent_research.agents.search.analogy import interface_of
from auto_research.agent_research.agents.search.render import read
from auto_research.agent_research.agents.search.rules import Program, Rule, merge
from auto_research.agent_research.agents.search.writer import write
from auto_research.agent_research.operators import EditRequest, Episode
from auto_research.agent_research.skill import Provenance, Skill, function_skill, text_skill
from auto_research.benchmarks.base import Json, Task
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
from auto_research.pddl import Atom, Domain, parse, show_definition
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


def first_step(task: Task, fact: list[Json]) -> Episode:
    """An attempt whose own doing was the plan's first step only, for the sake of `fact`."""
    return episode_of(task, found_plan(task_problem(task)), [{"from": 0, "to": 1, "goal": [fact]}])


def by_head(program: Program) -> dict[str, list[Rule]]:
    """The rules of each head, best first; heads have no order, and variables no names."""
    found: dict[str, list[Rule]] = {}
    for rule in program.rules:
        found.setdefault(rule.head[0], []).append(numbered(rule))
    return found


def numbered(rule: Rule) -> Rule:
    """The rule with its variables numbered by first use."""
    numbers: dict[str, str] = {}

    def name(x: str) -> str:
        return numbers.setdefault(x, f"?{len(numbers)}") if x.startswith("?") else x

    def lift(atom: Atom) -> Atom:
        return (atom[0], *map(name, atom[1:]))

    return Rule(
        head=lift(rule.head),
        action=lift(rule.action),
        needs=tuple(map(lift, rule.needs)),
        static=tuple(map(lift, rule.static)),
        via=tuple(map(lift, rule.via)),
        given=tuple(map(lift, rule.given)),
        seen=rule.seen,
    )


def ways(rules: Iterable[Rule]) -> set[tuple[str, str]]:
    """Which predicates the rules bring about, and by which actions."""
    return {(rule.head[0], rule.action[0]) for rule in rules}


def is_complete(rule: Rule, domain: Domain) -> bool:
    """Whether the rule knows all that its action asks for in `domain`."""
    schema = domain.schemas[rule.action[0]]
    things = dict(zip(schema.params, rule.action[1:], strict=True))
    asked = {(a[0], *(things[x] for x in a[1:])) for a in schema.pre}
    return asked == {*rule.needs, *rule.static}


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
    part = first_step(BLOCKS, ["clear", "a"])
    assert ways(read(one(EditRequest("create", episode=part)).source).rules) == {
        ("clear", "unstack")
    }
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
    assert by_head(read(revised.source)) == by_head(merge([old, old]))
    assert revised.provenance.task == other.id


def test_a_domain_that_asks_for_more_gets_a_skill_of_its_own() -> None:
    base, drifted = created(BLOCKS), variant_task("drifted")
    forked = one(EditRequest("revise", episode=shown(drifted), bases=(base,)))
    domain = task_problem(drifted).domain
    assert forked.interface == interface_of(domain) != base.interface
    rules = read(forked.source).rules
    # What the old domain did not ask for is known to every rule kept.
    assert all(is_complete(rule, domain) for rule in rules)
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


@pytest.mark.parametrize("variant", ["mystery", "deceptive"])
def test_what_kin_of_the_same_structure_know_goes_into_the_first_base(variant: Variant) -> None:
    attempt, kin = first_step(BLOCKS, ["clear", "a"]), created(variant_task(variant))
    base = one(EditRequest("create", episode=attempt))
    revised = one(EditRequest("revise", episode=attempt, bases=(base, kin)))
    assert revised.interface == base.interface != kin.interface
    # The base, what was learned (the same again), and the whole that the kin knows.
    part, whole = read(base.source), read(created(BLOCKS).source)
    assert by_head(read(revised.source)) == by_head(merge([part, part, whole]))


@pytest.mark.parametrize("learned", [True, False])
def test_what_kin_know_of_a_part_of_the_world_is_completed_for_the_whole(learned: bool) -> None:
    drifted = variant_task("drifted")
    domain = task_problem(drifted).domain
    attempt = first_step(drifted, ["calibrated"])
    base, kin = one(EditRequest("create", episode=attempt)), created(BLOCKS)
    shows = attempt if learned else episode_of(drifted, [], [])
    revised = one(EditRequest("revise", episode=shows, bases=(base, kin)))
    assert revised.interface == base.interface == interface_of(domain) != kin.interface
    own, known = read(base.source).rules, read(kin.source).rules
    rules = read(revised.source).rules
    assert ways(rules) == ways(own) | ways(known)
    assert ways(own) == {("calibrated", "calibrate")}
    assert not all(is_complete(rule, domain) for rule in known)
    assert all(is_complete(rule, domain) for rule in rules)


def test_kin_of_another_world_change_nothing() -> None:
    base, stranger = created(BLOCKS), created(task_of("parcels"))
    alone = one(EditRequest("revise", episode=shown(BLOCKS), bases=(base,)))
    revised = one(EditRequest("revise", episode=shown(BLOCKS), bases=(base, stranger)))
    assert revised.id == alone.id


def test_with_nothing_learned_and_no_kin_nothing_is_revised() -> None:
    bill, base = Bill(), created(BLOCKS)
    request = EditRequest("revise", episode=episode_of(BLOCKS, [], []), bases=(base,))
    assert write(request, bill.charge) == []
    assert bill == {}


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
