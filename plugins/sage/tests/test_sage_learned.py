"""q_phi: its draws are what it says they are, its step is the gradient, and it learns."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Sequence
from typing import Any

import pytest
from auto_research_sage.learned import FEATURES, LearnedRetrieval, policy_gradient
from hypothesis import given, settings
from hypothesis import strategies as st
from sage_desk import Desk, chain, episode, group, skill, task

from auto_research.agent_research.budget import Budget, Meter
from auto_research.agent_research.library import Retire, apply_changes, view_of
from auto_research.agent_research.operators import Choice, CreditedGroup
from auto_research.agent_research.skill import Skill, Usage
from auto_research.benchmarks.base import Task
from auto_research.errors import BudgetExceeded, UserError
from auto_research.rng import derive

SKILLS = tuple(skill(name, query=name * 3) for name in ("ant", "bee", "cat"))
LIBRARY = view_of(SKILLS)
FITS = {"ant": 1.0, "bee": 0.5}
PHI = [0.3, -0.2, 0.5, 1.1, 0.4, -0.7]
UNIT = st.floats(0, 1, allow_nan=False, width=32)


def policy(phi: Sequence[float] | None = None, **options: Any) -> LearnedRetrieval:
    made = LearnedRetrieval(LearnedRetrieval.Options(**options))
    if phi is not None:
        made.restore({"phi": list(phi)})
    return made


def probabilities(phi: Sequence[float], rows: Sequence[Sequence[float]]) -> list[float]:
    """q_phi by its definition, "none" last: a softmax of phi . x, and 0 for none."""
    weights = [math.exp(sum(w * x for w, x in zip(phi, row, strict=True))) for row in rows] + [1.0]
    return [w / sum(weights) for w in weights]


# What it draws


def test_the_propensity_of_a_draw_is_how_often_it_is_drawn() -> None:
    desk, q = Desk(fits=FITS), policy(PHI, top_k=1)
    choices = [q.choose(task(), LIBRARY, desk) for _ in range(4000)]
    counts = Counter(c.ranked for c in choices)
    said = {c.ranked: c.propensities for c in choices}
    assert len(said) == 4  # each skill, and none
    for ranked, propensities in said.items():
        if ranked:
            assert counts[ranked] / 4000 == pytest.approx(propensities[0], abs=0.03)
    none = 1 - sum(p[0] for p in said.values() if p)
    assert counts[()] / 4000 == pytest.approx(none, abs=0.03)


def test_the_propensities_of_several_picks_multiply_to_the_frequency_of_the_ranking() -> None:
    desk, q = Desk(fits=FITS), policy(PHI, top_k=2)
    choices = [q.choose(task(), LIBRARY, desk) for _ in range(4000)]
    counts = Counter(c.ranked for c in choices)
    said = {c.ranked: math.prod(c.propensities) for c in choices if len(c.ranked) == 2}
    assert len(said) == 6
    for ranked, chance in said.items():
        assert counts[ranked] / 4000 == pytest.approx(chance, abs=0.03)


def test_in_training_it_depends_on_the_stream_only() -> None:
    q = policy(PHI)
    one = [q.choose(task(), LIBRARY, Desk(rng=derive(1, "a"), fits=FITS)) for _ in range(2)]
    assert one[0] == one[1]
    backwards = view_of(reversed(SKILLS))
    assert q.choose(task(), backwards, Desk(rng=derive(1, "a"), fits=FITS)) == one[0]


@pytest.mark.parametrize("phase", ["test", "probes"])
def test_outside_training_it_takes_the_best_for_certain(phase: Any) -> None:
    desk = Desk(phase=phase, fits=FITS)
    choice = policy([0, 0, 0, 1, 0, 0], top_k=3).choose(task(), LIBRARY, desk)
    assert choice.ranked == (SKILLS[0].id, SKILLS[1].id, SKILLS[2].id)
    assert choice.propensities == (1.0, 1.0, 1.0)
    assert desk.rng.getstate() == Desk().rng.getstate()


def test_ties_go_by_id() -> None:
    choice = policy(top_k=3).choose(task(), LIBRARY, Desk(phase="test"))
    assert choice.ranked == tuple(sorted(s.id for s in SKILLS))


def test_it_goes_without_a_skill_that_is_worse_than_none() -> None:
    # Logits: "ant", which fits, -1.5 + 2 = 0.5; "bee", which half fits, -0.5; none 0.
    q = policy([-1.5, 0, 0, 2, 0, 0], top_k=3)
    choice = q.choose(task(), LIBRARY, Desk(phase="test", fits=FITS))
    assert choice.ranked == (SKILLS[0].id,)
    assert policy([-9, 0, 0, 0, 0, 0]).choose(task(), LIBRARY, Desk(phase="test")).ranked == ()


def test_every_skill_considered_is_paid_for_and_retired_ones_are_not_considered() -> None:
    desk = Desk(fits=FITS)
    left = apply_changes(LIBRARY, [Retire(SKILLS[0].id, "fails")])
    choice = policy().choose(task(), left, desk)
    assert desk.meter.spending().units_by_kind == {"bind": 2, "retrieve": 2}
    assert SKILLS[0].id not in choice.ranked
    with pytest.raises(BudgetExceeded):
        policy().choose(task(), LIBRARY, Desk(Meter(Budget(units=2))))


def test_an_empty_library_costs_nothing_and_gives_nothing() -> None:
    desk = Desk()
    assert policy().choose(task(), view_of([]), desk) == Choice()
    assert desk.meter.spending().units == 0


# What it learns


def attempts(
    rows_and_firsts: Sequence[tuple[list[list[float]], int]], advantages: Sequence[float]
) -> CreditedGroup:
    """A group of chains of one task each, with those traces."""
    chains = [
        chain(episode(True, choice=Choice(trace={"rows": rows, "first": first})))
        for rows, first in rows_and_firsts
    ]
    return group(chains, [[0.0]] * len(chains), [[a] for a in advantages])


@st.composite
def traced(draw: st.DrawFn) -> tuple[list[list[float]], int]:
    row = st.lists(UNIT, min_size=len(FEATURES), max_size=len(FEATURES))
    rows = draw(st.lists(row, min_size=1, max_size=3))
    return rows, draw(st.integers(-1, len(rows) - 1))


@settings(max_examples=50)
@given(
    st.lists(st.floats(-2, 2), min_size=len(FEATURES), max_size=len(FEATURES)),
    st.lists(st.tuples(traced(), st.floats(-2, 2)), min_size=1, max_size=3),
)
def test_the_gradient_is_that_of_the_sum_of_advantage_times_log_q(
    phi: list[float], siblings: list[tuple[tuple[list[list[float]], int], float]]
) -> None:
    def objective(weights: Sequence[float]) -> float:
        return math.fsum(
            a * math.log(probabilities(weights, rows)[first])  # -1 is "none", which comes last
            for (rows, first), a in siblings
        )

    found = policy_gradient(phi, attempts([t for t, _ in siblings], [a for _, a in siblings]))
    step = 1e-5
    for j in range(len(phi)):
        up, down = list(phi), list(phi)
        up[j], down[j] = phi[j] + step, phi[j] - step
        assert found[j] == pytest.approx((objective(up) - objective(down)) / (2 * step), abs=1e-6)


def test_a_step_is_the_gradient_times_the_rate_over_the_number_of_siblings() -> None:
    # One skill, phi = 0: q = 1/2 each. d log q(skill) = x/2, d log q(none) = -x/2.
    # A = +1 for the skill and -1 for none: (1/2 + 1/2) x = x; rate 0.4 over 2 siblings: 0.2 x.
    x = [1.0, 0.0, 0.5, 1.0, 0.5, 0.0]
    q = policy(learning_rate=0.4)
    q.learn(attempts([([x], 0), ([x], -1)], [1.0, -1.0]), Desk())
    assert q.state() == {"phi": [0.2, 0.0, 0.1, 0.2, 0.1, 0.0]}


def test_an_advantage_of_zero_or_a_choice_from_an_empty_library_teaches_nothing() -> None:
    q = policy(PHI)
    q.learn(attempts([([[1.0] * 6], 0)], [0.0]), Desk())
    q.learn(group([chain(episode(True))], [[1.0]], [[1.0]]), Desk())
    assert q.state() == {"phi": PHI}


def bandit_group(q: LearnedRetrieval, number: int) -> tuple[CreditedGroup, float]:
    """Eight siblings choose between a skill that fits and one that only sounds like the task."""
    at = task(query="stack the crates by the crane", scenario=f"s{number}")
    fits, library = bandit()
    chains, rewards = [], []
    for sibling in range(8):
        desk = Desk(rng=derive(3, number, sibling), fits=fits)
        choice = q.choose(at, library, desk)
        good = [s.id for s in library if s.name == "structural"]
        rewards.append([float(list(choice.ranked) == good)])
        chains.append(chain(episode(True, at=at, choice=choice)))
    mean = sum(r for (r,) in rewards) / 8
    return group(chains, rewards, [[r - mean] for (r,) in rewards]), mean


def bandit() -> tuple[dict[str, float], Any]:
    structural = skill("structural", scenario="other", query="zig zag vex")
    misleading = skill("misleading", scenario="other", query="stack the crates by the crane")
    return {"structural": 1.0}, view_of([structural, misleading])


def expected_reward(q: LearnedRetrieval, at: Task) -> float:
    """E[R]: the chance that the one pick is the skill that fits."""
    fits, library = bandit()
    trace: Any = q.choose(at, library, Desk(fits=fits)).trace
    state: Any = q.state()
    ids = sorted(s.id for s in library)
    good = next(ids.index(s.id) for s in library if s.name == "structural")
    return probabilities(state["phi"], trace["rows"])[good]


def test_thirty_groups_raise_the_expected_reward_past_a_misleading_likeness() -> None:
    q, unseen = policy(top_k=1), task(query="stack the crates by the crane", scenario="new")
    before = expected_reward(q, unseen)
    for number in range(30):
        q.learn(bandit_group(q, number)[0], Desk())
    after = expected_reward(q, unseen)
    assert before == pytest.approx(1 / 3)  # two skills and none, phi = 0
    assert after > 0.9
    fits, library = bandit()
    best = q.choose(unseen, library, Desk(phase="test", fits=fits)).ranked
    assert [s.name for s in library if s.id in best] == ["structural"]


# What it keeps


def test_its_state_survives_a_file_and_brings_back_the_same_policy() -> None:
    q = policy(top_k=1)
    for number in range(3):
        q.learn(bandit_group(q, number)[0], Desk())
    copy = policy(top_k=1)
    copy.restore(json.loads(json.dumps(q.state())))
    assert copy.state() == q.state()
    for number in range(3, 6):
        both = [bandit_group(policy, number)[0] for policy in (q, copy)]
        assert both[0] == both[1]
        q.learn(both[0], Desk())
        copy.learn(both[1], Desk())
        assert copy.state() == q.state()


def test_a_state_of_another_length_is_refused() -> None:
    with pytest.raises(UserError, match="6 weights, the saved one 2"):
        policy().restore({"phi": [0.0, 1.0]})


def test_what_it_sees_of_a_skill_is_between_0_and_1() -> None:
    worn = Usage(retrieved=9, called=9, helped=0, harmed=9, streak=9)
    library = view_of([_named("s1", worn), skill("b"), skill("c", query="open the door")])
    trace: Any = policy().choose(task(), library, Desk(fits={"a": 1.0})).trace
    assert all(0 <= x <= 1 for row in trace["rows"] for x in row)
    assert all(len(row) == len(FEATURES) for row in trace["rows"])


def _named(scenario: str, usage: Usage) -> Skill:
    return skill("a", scenario=scenario, query="open the door", usage=usage)
