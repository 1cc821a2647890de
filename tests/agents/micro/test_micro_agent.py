"""Episodes of the agent micro: what they hand in, use, cost and leave to learn from."""

from __future__ import annotations

import sys
from collections.abc import Sequence

import pytest
from micro_cases import WORDS, expert, speaking, tiny_policy

from auto_research.agent_research.agents.base import Attempt
from auto_research.agent_research.agents.micro.agent import MicroAgent
from auto_research.agent_research.agents.micro.options import Limits, opened, read_options
from auto_research.agent_research.budget import Budget, Meter
from auto_research.agent_research.operators import Choice, EditRequest, Episode
from auto_research.agent_research.skill import Provenance, Skill, function_skill, text_skill
from auto_research.benchmarks.base import Task
from auto_research.benchmarks.workshop import WorkshopBenchmark
from auto_research.errors import UserError

BENCHMARK = WorkshopBenchmark("hid")
FIRST, SECOND, _ = BENCHMARK.scenarios("validation", 7, 1)[0].tasks
TARGET = BENCHMARK.truth(FIRST.id).targets[0]
START, THING = TARGET.start, TARGET.thing
FETCH = "def s1(pa, pb):\n    goto(pa)\n    pick(pb)\n"
LEAVE = "def s2(pa):\n    drop(pa)\n"


def skill(source: str, world: str = "workshop") -> Skill:
    return function_skill(source, interface={"world": world})


def attempted(
    agent: MicroAgent, skills: Sequence[Skill] = (), budget: Budget | None = None
) -> tuple[Attempt, Meter]:
    meter = Meter(budget or Budget(), stream="7/test-0000-0")
    world = BENCHMARK.environment(FIRST)
    return agent.session(FIRST, meter).attempt(skills, world), meter


def says(text: str, *, skills: Sequence[Skill] = (), budget: Budget | None = None) -> Attempt:
    return attempted(speaking(lambda prompt: text.split()), skills, budget)[0]


def episode(attempt: Attempt, task: Task = FIRST) -> Episode:
    return Episode(
        id="e",
        task=task,
        position=0,
        choice=Choice(),
        uses=attempt.uses,
        own_check=attempt.own_check,
        verdict=None,
        has_submission=bool(attempt.submission.payload),
        spending=Meter(Budget()).spending(),
        evidence=attempt.evidence,
    )


def written(attempt: Attempt, kind: str, **request: object) -> list[Skill]:
    session = speaking(lambda prompt: ()).session(FIRST, Meter(Budget()))
    asked = EditRequest(kind, episode=episode(attempt), **request)  # type: ignore[arg-type]
    return list(session.write(asked))


def test_skills_stand_before_the_task_the_best_one_last() -> None:
    seen: list[Sequence[str]] = []
    agent = speaking(lambda prompt: seen.append(prompt) or ["DONE"])  # type: ignore[func-returns-value]
    attempted(agent, [skill(FETCH), skill(LEAVE), skill("def s3(pa):\n    goto(pa)\n")])
    assert " ".join(seen[0]) == (
        "LIB DEF s2 pa : drop pa END DEF s1 pa pb : goto pa pick pb END "
        + FIRST.observation["words"]
    )


def test_a_skill_that_is_not_shown_is_no_use_and_says_why() -> None:
    bad = "def s0(pa):\n    exec(pa)\n"
    skills = [
        text_skill("go and fetch", name="note"),
        skill(bad),
        skill(FETCH, world="pddl"),
        skill(FETCH),
        skill("def s1(pa):\n    goto(pa)\n"),
        skill(LEAVE),
        skill("def s4(pa):\n    pick(pa)\n"),
    ]
    uses = {use.skill: use for use in says("DONE", skills=skills).uses}
    assert len(uses) == 6  # FETCH has one id in any world
    details = [uses[s.id].detail for s in skills]
    assert details[0].endswith("a text") and "'exec' is no verb" in details[1]
    assert details[4] == "a better one has its name" and details[6] == "2 better ones are shown"
    assert not any(use.called for use in uses.values())


def test_a_skill_was_called_by_name_and_helped_if_all_went_well_to_the_end() -> None:
    fetch = skill(FETCH)
    call = f"CALL s1 {START} {THING}"
    (well,) = says(f"{call} DONE", skills=[fetch]).uses
    assert (well.called, well.helped, well.sound) == (True, True, True)
    (open_end,) = says(call, skills=[fetch]).uses
    assert (open_end.called, open_end.helped) == (True, False)
    (failed,) = says(
        f"CALL s1 {START} o99 {call} {call} DONE".replace("o99", "r1"), skills=[fetch]
    ).uses
    assert (failed.called, failed.helped, failed.sound) == (True, False, False)
    (anew,) = says(f"DEF s1 pa : goto pa END CALL s1 {START} DONE", skills=[fetch]).uses
    assert not anew.called
    (by_hand,) = says(f"goto {START} pick {THING} DONE", skills=[fetch]).uses
    assert not by_hand.called


@pytest.mark.parametrize(
    ("text", "handed_in"),
    [
        ("DONE", False),
        ("ok ok ok DONE", False),
        ("goto GOAL DONE", False),
        ("DEF s0 pa : goto pa END DONE", False),
        ("pick o1 DONE", True),
        ("DEF s0 pa : goto pa END CALL s0 sink DONE", True),
    ],
)
def test_without_a_proper_action_nothing_is_handed_in(text: str, handed_in: bool) -> None:
    assert bool(says(text).submission.payload) is handed_in


def test_what_an_episode_costs_is_its_words_and_actions() -> None:
    agent = speaking(lambda prompt: f"CALL s1 {START} {THING} DONE".split())
    attempt, meter = attempted(agent, [skill(FETCH)])
    prompt = len(attempt.evidence["prompt"])  # type: ignore[index, call-overload, arg-type]
    assert meter.spending().units_by_kind == {"act": 2, "generate": 5}
    assert meter.spending().totals == {
        "units": 7,
        "steps": 1,
        "generated": 5,
        "tokens": prompt + 5 + 1,
        "model_calls": 1,
    }
    assert attempt.steps == 1 and attempt.actions == ("goto<>", "pick<>")


@pytest.mark.parametrize(
    "budget",
    [
        Budget(units=0),
        Budget(model_calls=0),
        Budget(steps=0),
        Budget(tokens=20),
    ],
)
def test_an_episode_that_cannot_be_afforded_says_nothing(budget: Budget) -> None:
    attempt, meter = attempted(MicroAgent(tiny_policy(), 1.0), budget=budget)
    assert not attempt.submission.payload and not attempt.error
    assert meter.totals.total() == 0 and "out of budget" in attempt.transcript[0].text


@pytest.mark.parametrize("cap", ["units", "steps", "tokens"])
def test_no_cap_is_ever_passed(cap: str) -> None:
    agent = MicroAgent(tiny_policy(), 1.0, Limits(errors=100))
    for most in (1, 2, 3, 5, 8, 40, 44, 47, 60):
        _, meter = attempted(agent, budget=Budget(**{cap: most}))
        assert meter.totals[cap] <= most
    assert meter.totals["generated"] > 0


def test_evidence_is_all_that_training_needs() -> None:
    attempt, _ = attempted(MicroAgent(tiny_policy(), 1.0))
    evidence = attempt.evidence
    assert isinstance(evidence, dict)
    assert WORDS.decode(evidence["prompt"]) == ["LIB", *FIRST.observation["words"].split()]
    assert len(evidence["tokens"]) == len(evidence["mask"]) == len(evidence["log_probs"])
    assert all(
        (p < 0) == bool(m) for p, m in zip(evidence["log_probs"], evidence["mask"], strict=True)
    )
    assert evidence["end"] in ("DONE", "errors", "words")


def test_create_gives_what_the_episode_defined_and_span_what_has_its_actions() -> None:
    attempt = says(
        "DEF s0 pa : goto pa END DEF s1 pa : pick pa END DEF s2 pa : goto pa END DEF s3 pa : wash"
    )
    both = written(attempt, "create")
    assert [s.source for s in both] == [  # s2 is s0 under another name
        "def s0(pa):\n    goto(pa)\n",
        "def s1(pa):\n    pick(pa)\n",
    ]
    assert {s.interface["world"] for s in both} == {"workshop"}
    assert both[0].provenance.task == FIRST.id and "(:goal" in both[0].provenance.query
    assert [s.name for s in written(attempt, "create", span=("pick<>",))] == ["s1"]
    assert written(says("DONE"), "create") == []


def test_revise_gives_the_base_as_it_was_defined_anew_and_nothing_else_is_written() -> None:
    attempt = says("DEF s1 pa pb : goto pa pick pb goto sink END DEF s2 pa : goto pa END")
    base = skill(FETCH)
    assert [s.name for s in written(attempt, "revise", bases=(base,))] == ["s1"]
    same = says("DEF s1 pb pa : goto pb pick pa END")
    assert written(same, "revise", bases=(base,)) == []
    for kind in ("merge", "adapt", "shrink", "rule", "schemas", "trace"):
        assert written(attempt, kind, bases=(base, base)) == []


def test_fit_is_one_in_the_scenario_and_nothing_for_what_cannot_be_said() -> None:
    session = speaking(lambda prompt: ()).session(SECOND, Meter(Budget()))
    (own,) = written(says("DEF s0 pa : goto pa END"), "create")
    assert own.provenance.scenario == SECOND.scenario and session.fit(own) == 1.0
    other = function_skill(
        FETCH, interface={"world": "workshop"}, provenance=Provenance(query=own.provenance.query)
    )
    assert 0.0 < session.fit(other) < 1.0
    assert session.fit(skill(FETCH, world="pddl")) == 0.0
    assert session.fit(text_skill("note", name="note")) == 0.0


def test_an_expert_that_speaks_the_language_does_the_task() -> None:
    speak = expert(BENCHMARK, ("validation", 7, 1))
    attempt, _ = attempted(speaking(speak))
    assert attempt.own_check and attempt.evidence["end"] == "DONE"  # type: ignore[index, call-overload]


def test_tasks_it_cannot_read_are_refused() -> None:
    agent = speaking(lambda prompt: ())
    told = (
        ({}, "told in words"),
        ({"words": "INIT moon"}, "no word 'moon'"),
        ({"words": "INIT " * 500}, "500 words are too many"),
    )
    for observation, why in told:
        task = Task("t", "s", 0, "pddl", "", observation)
        with pytest.raises(UserError, match=why):
            agent.session(task, Meter(Budget()))
    with pytest.raises(UserError, match="has none"):
        agent.session(FIRST, Meter(Budget())).attempt([])


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({}, "give --checkpoint DIR"),
        ({"checkpoint": "x", "model": "gpt"}, "takes no --model"),
        ({"checkpoint": "x", "temperature": "hot"}, r"\(--temperature\)"),
        ({"checkpoint": "x", "threads": "0"}, r"\(--threads\)"),
    ],
)
def test_wrong_options_are_refused(given: dict[str, str], why: str) -> None:
    with pytest.raises(UserError, match=why):
        read_options(given)


def test_without_torch_it_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(UserError, match=r"pip install 'auto-research\[train\]'"):
        opened(read_options({"checkpoint": "x"}))
