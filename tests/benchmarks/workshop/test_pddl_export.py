"""The PDDL of a task means what the workshop does: two readers of it agree with the fast judge."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from workshop_cases import as_steps, jobs, judged

from auto_research.benchmarks.planbench import judge as unified
from auto_research.benchmarks.workshop import pddl
from auto_research.benchmarks.workshop.generate import candidates
from auto_research.benchmarks.workshop.jobs import Job, truth_of
from auto_research.benchmarks.workshop.rules import ENTRANCE, GIVES, follow
from auto_research.pddl import Problem, Step, read_domain, read_problem
from auto_research.pddl.strips import instantiate

JOBS = [*jobs("base", 6), *jobs("hid", 10)]


def true_problem(job: Job) -> str:
    """The problem with the true stations, which nobody but the judge has."""
    return pddl.problem_text(job, {name: (job.stations[name],) for name in job.operations})


def read(job: Job) -> Problem:
    return read_problem(true_problem(job), read_domain(pddl.domain_text()))


def unified_says(problem: str, plan: list[Step]) -> bool:
    return unified.judged(pddl.domain_text(), problem).valid(plan)


def agree(job: Job, plan: list[Step]) -> bool:
    """What both judges say of a plan, of its being done and of its reaching the goal."""
    problem = true_problem(job)
    without_goal = re.sub(r"\(:goal .*\)\)\n", "(:goal (and)))\n", problem)
    assert without_goal != problem
    assert unified_says(without_goal, plan) == follow(job.state(), plan, strict=True)
    success = judged(job, plan, as_plan=True)
    assert unified_says(problem, plan) == success
    return success


def expert_plan(job: Job) -> list[Step]:
    return list(as_steps(truth_of(job, candidates("hid")).actions()))


@pytest.mark.parametrize("job", JOBS[::3])
def test_both_judges_take_the_experts_plan(job: Job) -> None:
    assert agree(job, expert_plan(job))


@given(st.sampled_from(JOBS), st.data())
@settings(max_examples=25)
def test_both_judges_say_the_same_of_a_broken_plan(job: Job, data: st.DataObject) -> None:
    plan = expert_plan(job)
    places = sorted(name for name, kind in read(job).objects.items() if kind in ("room", "station"))
    for _ in range(data.draw(st.integers(1, 2))):
        i = data.draw(st.integers(0, len(plan) - 1))
        j = data.draw(st.integers(0, len(plan) - 1))
        how = data.draw(st.sampled_from(("leave out", "swap", "repeat", "elsewhere", "detour")))
        if how == "leave out":
            del plan[i]
        elif how == "swap":
            plan[i], plan[j] = plan[j], plan[i]
        elif how == "repeat":
            plan.insert(j, plan[i])
        elif how == "elsewhere":
            plan[i] = (*plan[i][:2], data.draw(st.sampled_from(places)))
        else:  # on the way between two steps, a walk there and back
            here, there = plan[i][2], data.draw(st.sampled_from(places))
            if here != ENTRANCE:
                plan[i:i] = [("goto", there, here), ("goto", here, there)]
    agree(job, plan)


@given(st.sampled_from(JOBS), st.randoms(use_true_random=False))
@settings(max_examples=15)
def test_on_a_random_walk_every_action_means_the_same(job: Job, rng: st.Random) -> None:  # type: ignore[name-defined]
    problem, state = read(job), job.state()
    facts, walked = problem.init, list[Step]()
    spots = sorted(o for o, kind in problem.objects.items() if kind in ("room", "station", "spot"))
    things = sorted(o for o, kind in problem.objects.items() if kind == "thing")
    for _ in range(40):
        here = state.here or ENTRANCE
        verb = rng.choice(sorted(problem.domain.schemas))
        what = rng.choice(spots if verb == "goto" else [state.held or things[0], *things])
        step = (verb, what, rng.choice([here, here, here, *spots]))
        ground = instantiate(problem.domain, step)
        assert ground is not None
        can = ground.applicable(facts, problem.static)
        assert state.do(*step) == can
        if can:
            facts, walked = ground.apply(facts), [*walked, step]
        assert ("here", state.here or ENTRANCE) in facts
        assert (("hands-free",) in facts) == (state.held is None)
        for thing in things:
            lies = state.places[thing]
            assert (("lies", thing, lies) in facts) == (lies is not None)
            held = {a for a in GIVES.values() if (a, thing) in facts}
            assert held == state.attributes[thing]
    agree(job, walked)


def test_the_public_problem_lists_every_candidate_and_no_more() -> None:
    for job in jobs("hid", 8):
        told = pddl.public(job, "hid")
        assert told["assumed"] == pddl.ASSUMED
        listed = re.findall(rf"\({pddl.ASSUMED} (\S+) (\S+)-work\)", told["problem"])
        asked = [(s, name) for name in job.operations for s in candidates("hid")[name]]
        assert sorted(listed) == sorted(asked)


def test_where_nothing_is_hidden_the_public_problem_is_the_true_one() -> None:
    for job in jobs("base", 8):
        told = pddl.public(job, "base")
        assert told["problem"] == true_problem(job)
        assert "assumed" not in told
