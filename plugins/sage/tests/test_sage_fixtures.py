"""The CI mechanism tests: every hand-worked case of fixtures/sage, through the public operators."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from auto_research_sage.learned import FEATURES, policy_gradient
from sage_cases import (
    Kept,
    LearningCase,
    RetrievalCase,
    RewardCase,
    UpdateCase,
    cases,
    operator,
    play,
    read,
    versions,
)
from sage_desk import Desk, chain, episode, group, skill, task

from auto_research.agent_research.agents.search.agent import SearchAgent
from auto_research.agent_research.library import LibraryView, view_of
from auto_research.agent_research.operators import Choice, Use
from auto_research.agent_research.skill import Skill, Usage
from auto_research.rng import derive


def each(folder: str) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("path", cases(folder), ids=lambda path: path.stem)


@each("reward")
def test_a_group_earns_and_is_credited_as_worked_by_hand(path: Path) -> None:
    case = read(RewardCase, path)
    reward = operator(case.operator, case.settings)
    chains = []
    for tasks in case.chains:
        origins = {name: k for k, t in enumerate(tasks) for name in t.writes}
        episodes = [
            episode(
                t.success,
                position=k,
                submitted=t.submitted,
                uses=[Use(s, called=True, helped=True) for s in t.uses]
                + [Use(s, called=True, helped=False) for s in t.ran],
            )
            for k, t in enumerate(tasks)
        ]
        chains.append(chain(*episodes, origins=origins))
    rewards = reward.credit(chains)
    assert [list(row) for row in rewards] == case.rewards
    found = reward.advantages(rewards)
    for row, expected in zip(found.values, case.advantages, strict=True):
        assert row == pytest.approx(expected, abs=1e-12)
    assert list(found.informative) == case.informative


def kept(specs: list[Kept]) -> tuple[LibraryView, dict[str, Skill]]:
    made = {
        spec.name: skill(
            spec.name,
            scenario=spec.scenario,
            query=spec.query,
            body=spec.body,
            usage=Usage(**spec.usage),
        )
        for spec in specs
    }
    return view_of(made.values()), made


@each("retrieval")
def test_each_policy_picks_what_the_case_says_and_pays_for_all_it_considered(path: Path) -> None:
    case = read(RetrievalCase, path)
    library, made = kept(case.library)
    names = {s.id: name for name, s in made.items()}
    for pick in case.picks:
        fits = {spec.name: spec.fit for spec in case.library}
        desk = Desk(phase="test", fits=fits)
        policy = operator(pick.policy, pick.settings)
        choice = policy.choose(task(case.task.query, case.task.scenario), library, desk)
        assert [names[i] for i in choice.ranked] == pick.chosen, pick.policy
        assert choice.propensities == (1.0,) * len(pick.chosen)
        assert desk.meter.spending().units_by_kind["retrieve"] == case.units


@each("learning")
def test_q_phi_sees_and_steps_as_worked_by_hand(path: Path) -> None:
    case = read(LearningCase, path)
    library, made = kept(case.library)
    policy = operator("sage.learned", case.settings)
    policy.restore({"phi": case.phi})
    at = task(case.task.query, case.task.scenario)
    fits = {spec.name: spec.fit for spec in case.library}

    def drawn(name: str | None) -> Choice:
        """A real draw of that skill, found by going through streams."""
        wanted = () if name is None else (made[name].id,)
        for stream in range(1000):
            choice: Choice = policy.choose(at, library, Desk(rng=derive(0, stream), fits=fits))
            if choice.ranked == wanted:
                return choice
        raise AssertionError(f"{name} is never drawn")

    choices = [drawn(name) for name in case.chosen]
    trace: Any = choices[0].trace
    seen = dict(zip(sorted(s.id for s in library), trace["rows"], strict=True))
    for name, expected in case.features.items():
        assert seen[made[name].id] == pytest.approx(expected, abs=1e-6), (name, FEATURES)
    chains = [chain(episode(True, at=at, choice=choice)) for choice in choices]
    credited = group(chains, [[0.0]] * len(chains), [[a] for a in case.advantages])
    assert policy_gradient(case.phi, credited) == pytest.approx(case.gradient, abs=1e-6)
    policy.learn(credited, Desk())
    assert policy.state()["phi"] == pytest.approx(case.phi_after, abs=1e-6)


@each("update")
def test_the_library_changes_as_the_case_says(path: Path, agent: SearchAgent) -> None:
    case = read(UpdateCase, path)
    assert versions(play(case, agent)) == case.after


@pytest.mark.parametrize("folder", ["reward", "retrieval", "learning", "update"])
def test_there_are_cases(folder: str) -> None:
    assert cases(folder)
