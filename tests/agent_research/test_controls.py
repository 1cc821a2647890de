"""The control operators, each on a real library and a real meter."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field

import pytest

from auto_research.agent_research.budget import Budget, Meter, Phase, Spending
from auto_research.agent_research.controls import (
    NoRetrieval,
    OutcomeReward,
    RandomRetrieval,
    RecentRetrieval,
    SchemaRetrieval,
    TopK,
    TraceUpdate,
)
from auto_research.agent_research.library import Create, LibraryView, apply_changes, view_of
from auto_research.agent_research.operators import (
    Arm,
    ChainResult,
    Choice,
    CreditedGroup,
    EditRequest,
    Episode,
    Settings,
    TaskRef,
    Use,
)
from auto_research.agent_research.skill import Skill, text_skill
from auto_research.benchmarks.base import Task, Verdict
from auto_research.errors import BudgetExceeded
from auto_research.rng import derive

TASK = Task("t1", "s1", 0, "pddl", "do it", {})
SKILLS = tuple(text_skill(f"rule {n}", name=f"rule{n}") for n in range(5))
LIBRARY = view_of(SKILLS)


@dataclass
class Desk:
    """A context with a real meter whose skill writer hands out `drafts` and notes each request."""

    meter: Meter = field(default_factory=lambda: Meter(Budget(units=100)))
    rng: random.Random = field(default_factory=lambda: derive(7, "controls"))
    drafts: tuple[Skill, ...] = ()
    asked: list[EditRequest] = field(default_factory=list)
    phase: Phase = "test"
    step: int = 0
    arm: Arm = field(default_factory=Arm)
    pool: Sequence[TaskRef] = ()

    def spend(self, kind: str, amount: int = 1) -> None:
        self.meter.spend(kind, amount)

    def fit(self, task: Task, skill: Skill) -> float:
        return 1.0

    def probe(self, tasks: Sequence[TaskRef], library: LibraryView) -> Sequence[Episode]:
        return ()

    def write(self, request: EditRequest) -> Sequence[Skill]:
        self.asked.append(request)
        return self.drafts


def episode(*, own_check: bool = True, verdict: bool | None = None, used: str = "") -> Episode:
    return Episode(
        id="e1",
        task=TASK,
        position=0,
        choice=Choice(),
        uses=(Use(used, called=True, helped=True),) if used else (),
        own_check=own_check,
        verdict=None if verdict is None else Verdict(verdict, {}),
        has_submission=True,
        spending=Spending(),
    )


def chain(*episodes: Episode, changes: tuple[Create, ...] = ()) -> ChainResult:
    return ChainResult(episodes, LIBRARY, changes)


def test_no_retrieval_chooses_nothing_and_costs_nothing() -> None:
    desk = Desk()
    assert NoRetrieval(Settings()).choose(TASK, LIBRARY, desk) == Choice()
    assert desk.meter.spending().units == 0


def test_random_retrieval_draws_each_skill_equally_often_and_says_how_likely_it_was() -> None:
    desk = Desk(Meter(Budget()))
    policy = RandomRetrieval(TopK(top_k=2))
    choices = [policy.choose(TASK, LIBRARY, desk) for _ in range(2000)]
    for skill in SKILLS:
        share = sum(skill.id in choice.ranked for choice in choices) / len(choices)
        assert share == pytest.approx(2 / 5, abs=0.05)
    assert all(choice.propensities == (0.4, 0.4) for choice in choices)
    assert all(len(set(choice.ranked)) == 2 for choice in choices)


def test_random_retrieval_depends_on_the_stream_only_and_not_on_the_order_of_creation() -> None:
    policy = RandomRetrieval(TopK(top_k=3))
    forwards = policy.choose(TASK, LIBRARY, Desk())
    backwards = policy.choose(TASK, view_of(reversed(SKILLS)), Desk())
    assert forwards == backwards


def test_recent_retrieval_gives_the_newest_first() -> None:
    choice = RecentRetrieval(TopK(top_k=2)).choose(TASK, LIBRARY, Desk())
    assert choice.ranked == (SKILLS[4].id, SKILLS[3].id)
    assert choice.propensities == (1.0, 1.0)


@pytest.mark.parametrize("policy", [RandomRetrieval, RecentRetrieval])
def test_retrieval_pays_for_every_skill_it_considers(
    policy: type[RandomRetrieval | RecentRetrieval],
) -> None:
    desk = Desk()
    policy(TopK(top_k=2)).choose(TASK, LIBRARY, desk)
    assert desk.meter.spending().units_by_kind == {"retrieve": 5}
    with pytest.raises(BudgetExceeded):
        policy(TopK()).choose(TASK, LIBRARY, Desk(Meter(Budget(units=4))))


@pytest.mark.parametrize("policy", [RandomRetrieval, RecentRetrieval])
def test_retrieval_gives_what_there_is_when_that_is_less_than_top_k(
    policy: type[RandomRetrieval | RecentRetrieval],
) -> None:
    desk = Desk()
    assert policy(TopK()).choose(TASK, view_of(()), desk) == Choice()
    assert policy(TopK()).choose(TASK, view_of(SKILLS[:1]), desk).ranked == (SKILLS[0].id,)


def test_schema_retrieval_gives_what_the_writer_made_of_the_task() -> None:
    desk = Desk(drafts=SKILLS[:2])
    choice = SchemaRetrieval(Settings()).choose(TASK, view_of(()), desk)
    assert choice.ranked == (SKILLS[0].id, SKILLS[1].id)
    assert desk.asked == [EditRequest(kind="schemas", task=TASK)]


def test_trace_update_keeps_the_plan_of_an_unaided_success_and_names_its_cause() -> None:
    desk = Desk(drafts=SKILLS[:1])
    done = episode()
    changes = TraceUpdate(Settings()).after_episode(done, view_of(()), desk)
    assert changes == [Create(SKILLS[0], cause=("e1",))]
    assert desk.asked == [EditRequest(kind="trace", episode=done)]
    assert apply_changes(view_of(()), changes).get(SKILLS[0].id) is not None


@pytest.mark.parametrize("done", [episode(own_check=False), episode(used="a")])
def test_trace_update_keeps_nothing_of_a_failure_or_of_a_replay(done: Episode) -> None:
    desk = Desk(drafts=SKILLS)
    assert TraceUpdate(Settings()).after_episode(done, LIBRARY, desk) == ()
    assert desk.asked == []


def test_trace_update_commits_the_traces_of_every_sibling_after_a_group() -> None:
    first, second = Create(SKILLS[0], ("e1",)), Create(SKILLS[1], ("e2",))
    chains = (chain(episode(), changes=(first,)), chain(episode(), changes=(second,)))
    group = CreditedGroup(chains, ((1.0,), (1.0,)), ((0.0,), (0.0,)), (False,))
    assert TraceUpdate(Settings()).after_group(group, LIBRARY, Desk()) == [first, second]


def test_outcome_reward_is_the_sealed_verdict_and_none_where_there_is_none() -> None:
    group = [
        chain(episode(own_check=False, verdict=True), episode(verdict=False)),
        chain(episode(own_check=True), episode(verdict=True)),
    ]
    assert OutcomeReward(Settings()).credit(group) == [[1.0, 0.0], [None, 1.0]]
