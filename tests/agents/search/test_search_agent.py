"""The agent in whole episodes: it uses what helps, and no skill can bring it down or fool it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pytest
from search_examples import episode_of, found_plan, problem_of, solves, task_of, task_problem

from auto_research.agent_research.agents.search.agent import SearchAgent
from auto_research.agent_research.agents.search.analogy import interface_of
from auto_research.agent_research.budget import Budget, Meter
from auto_research.agent_research.controls import (
    NoRollout,
    NoUpdate,
    OutcomeReward,
    RecentRetrieval,
    TopK,
)
from auto_research.agent_research.episode import EpisodeResult, Setting, run_episode
from auto_research.agent_research.library import view_of
from auto_research.agent_research.method import Operators
from auto_research.agent_research.operators import Arm, EditRequest, Settings
from auto_research.agent_research.sandbox import Limits
from auto_research.agent_research.skill import Skill, function_skill, text_skill
from auto_research.benchmarks.base import Evaluator, Scenario, Task
from auto_research.errors import UserError
from auto_research.rng import derive

BLOCKS = task_of("blocks")
UNITS = 4000


@pytest.fixture(scope="module")
def agent() -> Iterator[SearchAgent]:
    agent = SearchAgent(limits=Limits(host_calls=2000))
    yield agent
    agent.close()


@pytest.fixture(scope="module")
def hasty() -> Iterator[SearchAgent]:
    agent = SearchAgent(limits=Limits(seconds=0.3))
    yield agent
    agent.close()


def episode(
    agent: SearchAgent, task: Task, skills: Sequence[Skill], units: int = UNITS
) -> EpisodeResult:
    """A real episode in which the library's newest three skills are handed to the agent."""
    return run_episode(
        "e1",
        task,
        0,
        view_of(skills),
        agent,
        Operators(
            RecentRetrieval(TopK(top_k=3)),
            NoUpdate(Settings()),
            OutcomeReward(Settings()),
            NoRollout(Settings()),
        ),
        Setting("test", 0, Arm(), (), Budget(units=units), UNITS),
        derive(7, "episode"),
        Meter(Budget(units=units)),
    )


def skill_of(body: str, name: str = "solve") -> Skill:
    """A skill that says it knows the blocks domain."""
    source = body if body.startswith("def ") else f"def {name}(goals):\n    {body}"
    return function_skill(source, interface=interface_of(problem_of("blocks").domain))


def learned(task: Task = BLOCKS) -> Skill:
    plan = found_plan(task_problem(task))
    meter = Meter(Budget())
    (skill,) = (
        SearchAgent()
        .session(task, meter)
        .write(EditRequest("create", episode=episode_of(task, plan)))
    )
    return skill


def assert_honest(result: EpisodeResult, task: Task, units: int = UNITS) -> None:
    """The agent's own check is right, and nothing was spent past the cap."""
    plan = result.submission.plan
    assert result.row.own_check == solves(task_problem(task), plan)
    assert result.row.units <= units
    assert result.row.units == sum(result.row.units_by_kind.values())


LOOPS = {
    "an endless loop": "while True:\n        pass",
    "an endless loop that swallows every error": (
        "while True:\n        try:\n            while True:\n                pass\n"
        "        except BaseException:\n            pass"
    ),
    "an endless sum": "return sum(range(10**12))",
}

HOSTILE = {
    "a memory bomb": "x = [0]\n    while True:\n        x = x + x",
    "recursion": "return solve(goals)",
    "import os": "import os\n    os.system('true')",
    "open": "return open('/etc/passwd').read()",
    "the subclasses walk": "return ().__class__.__base__.__subclasses__()",
    "a million host calls": "for i in range(10**6):\n        missing(goals)",
    "a million refused actions": (
        "for i in range(10**6):\n        try:\n            act('stack', 'a', 'a')\n"
        "        except BaseException:\n            pass"
    ),
    "a wrong name": "return nosuch(goals)",
    "wrong arguments": "return match()",
    "garbage to every host": "act(None)\n    missing({})\n    match(3, 4)\n    enter([])",
    "a yield": "yield goals",
    "an exit": "raise SystemExit(0)",
    "a huge value": "return ['a' * 9000] * 9000",
    "only half of its parameters": "def solve():\n    return True",
}


@pytest.mark.parametrize("body", HOSTILE.values(), ids=HOSTILE.keys())
def test_a_hostile_skill_is_a_failure_of_that_skill_and_the_episode_goes_on(
    agent: SearchAgent, body: str
) -> None:
    assert_failed_but_solved(agent, skill_of(body), ())


@pytest.mark.parametrize("body", LOOPS.values(), ids=LOOPS.keys())
def test_an_episode_in_which_a_clock_ended_a_skill_is_flagged(
    hasty: SearchAgent, body: str
) -> None:
    flag = "safety-net"
    assert_failed_but_solved(hasty, skill_of(body), (flag,))


def assert_failed_but_solved(agent: SearchAgent, skill: Skill, flags: tuple[str, ...]) -> None:
    result = episode(agent, BLOCKS, [skill])
    assert_honest(result, BLOCKS)
    (use,) = result.row.uses
    assert (use.skill, use.called, use.helped, use.sound) == (skill.id, True, False, False)
    assert use.detail
    assert result.row.own_check  # found by search instead
    assert result.row.units_by_kind["expand"] > 0
    assert result.episode.used() == frozenset()
    assert result.flags == flags


def test_what_the_sandbox_lacks_is_told_apart_from_a_wrong_skill(agent: SearchAgent) -> None:
    details = [
        episode(agent, BLOCKS, [skill_of(body)]).row.uses[0].detail
        for body in ("yield goals", "return nosuch(goals)")
    ]
    assert details[0].startswith("not supported by the sandbox")
    assert details[1].startswith("skill wrong")


IDLE = {
    "says that it is done": "return True",
    "looks about": "missing(goals)\n    return not missing([])",
    "redefines missing": (
        "def solve(goals):\n    return not missing(goals)\ndef missing(x):\n    return []"
    ),
    "acts in vain": "act('stack', 'a', 'b')\n    return True",
    "acts and takes it back": "act('unstack', 'c', 'a')\n    restart()\n    return True",
}


@pytest.mark.parametrize("body", IDLE.values(), ids=IDLE.keys())
def test_a_skill_that_does_nothing_has_not_helped_whatever_it_returns(
    agent: SearchAgent, body: str
) -> None:
    skill = skill_of(body)
    result = episode(agent, BLOCKS, [skill])
    assert_honest(result, BLOCKS)
    assert result.row.own_check  # by local search
    assert not result.row.uses[0].helped
    assert result.episode.used() == frozenset()


def test_after_a_hostile_skill_the_next_one_is_run_and_helps(agent: SearchAgent) -> None:
    good = learned()
    bad = skill_of("while True:\n        missing(goals)")
    shadow = skill_of("def solve(goals):\n    return reach(*goals[0])\nrules = None")
    result = episode(agent, BLOCKS, [good, bad, shadow])
    assert_honest(result, BLOCKS)
    assert [use.helped for use in result.row.uses] == [False, False, True]
    assert result.episode.used() == {good.id}


def test_nothing_is_left_over_for_the_next_episode(agent: SearchAgent) -> None:
    before = episode(agent, BLOCKS, [learned()])
    for body in HOSTILE.values():
        episode(agent, BLOCKS, [skill_of(body)])
    assert episode(agent, BLOCKS, [learned()]) == before


@pytest.mark.parametrize("units", [0, 1, 5, 20, 60])
def test_nothing_is_spent_past_the_cap_whatever_a_skill_does(
    agent: SearchAgent, units: int
) -> None:
    for body in ("a million host calls", "a million refused actions", "garbage to every host"):
        result = episode(agent, BLOCKS, [skill_of(HOSTILE[body])], units)
        assert_honest(result, BLOCKS, units)


def test_a_good_skill_that_runs_out_of_units_leaves_no_half_plan(agent: SearchAgent) -> None:
    skill = learned()
    whole = episode(agent, BLOCKS, [skill]).row.units
    for units in range(2 * whole):
        result = episode(agent, BLOCKS, [skill], units)
        assert_honest(result, BLOCKS, units)
        assert result.row.own_check == (result.submission.plan is not None)
        if units < whole:
            assert not result.row.uses or not result.row.uses[0].helped


def test_without_a_skill_the_agent_searches(agent: SearchAgent) -> None:
    result = episode(agent, BLOCKS, [])
    assert_honest(result, BLOCKS)
    assert result.row.own_check and result.row.uses == ()


@pytest.mark.parametrize("name", ["blocks", "parcels", "odd", "paint"])
def test_a_skill_solves_again_the_task_that_it_was_learned_from(
    agent: SearchAgent, name: str
) -> None:
    task = task_of(name)
    skill = learned(task)
    result = episode(agent, task, [skill])
    assert_honest(result, task)
    assert result.row.own_check
    assert result.row.uses[0].sound, result.row.uses[0].detail


def test_skills_that_do_not_fit_are_not_run(agent: SearchAgent) -> None:
    others = [learned(task_of("parcels")), text_skill("Build from below.", name="rule")]
    result = episode(agent, BLOCKS, others)
    assert_honest(result, BLOCKS)
    assert [(use.called, use.helped) for use in result.row.uses] == [(False, False)] * 2


def test_fit_tells_same_partly_known_and_unknown_structure_apart(agent: SearchAgent) -> None:
    session = agent.session(BLOCKS, Meter(Budget()))
    assert session.fit(learned()) == 1.0
    assert session.fit(learned(task_of("parcels"))) == 0.0
    assert session.fit(text_skill("Build from below.", name="rule")) == 0.0
    part = interface_of(problem_of("blocks").domain)
    schemas = part["schemas"]
    assert isinstance(schemas, list)
    known = function_skill("def f(goals):\n    return 0", interface={"schemas": schemas[:3]})
    assert session.fit(known) == 0.5


def test_the_same_episode_twice_is_the_same_episode(
    agent: SearchAgent, validation: Sequence[Scenario]
) -> None:
    for scenario in validation[:3]:
        skill = learned(scenario.tasks[0])
        first = episode(agent, scenario.tasks[1], [skill])
        assert episode(agent, scenario.tasks[1], [skill]) == first
        assert_honest(first, scenario.tasks[1])


def test_the_sealed_judge_agrees_with_the_agents_own_check(
    agent: SearchAgent, validation: Sequence[Scenario], judge: Evaluator
) -> None:
    helped = 0
    for scenario in validation[:6]:
        skill = learned(scenario.tasks[0])
        result = episode(agent, scenario.tasks[0], [skill])
        verdict = judge.verdict(judge.submit(scenario.tasks[0].id, result.submission))
        assert verdict.checks["plan_success"] == result.row.own_check, scenario.id
        helped += result.row.uses[0].helped
    assert helped >= 3


def test_a_task_of_another_kind_is_refused_by_name(agent: SearchAgent) -> None:
    with pytest.raises(UserError, match="'code'"):
        agent.session(Task("t1", "s1", 0, "code", "do it", {}), Meter(Budget()))


def test_a_task_that_cannot_be_read_is_one_clear_line(agent: SearchAgent) -> None:
    broken = Task("t1", "s1", 0, "pddl", "do it", {"domain": "(define", "problem": ""})
    with pytest.raises(UserError, match="cannot be read") as found:
        agent.session(broken, Meter(Budget()))
    assert "\n" not in str(found.value)
