"""The paper's retrieval variants: what they have in common, beside the cases of fixtures/sage."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sage_cases import Workshop, Written, doors, operator
from sage_desk import Desk, skill, task

from auto_research.agent_research.agents.search.agent import SearchAgent
from auto_research.agent_research.budget import Budget, Meter
from auto_research.agent_research.library import Retire, apply_changes, view_of
from auto_research.agent_research.operators import Choice
from auto_research.agent_research.similarity import (
    embedding_similarity,
    ngram_similarity,
    query_text,
)
from auto_research.errors import BudgetExceeded

SIMILAR = ("sage.query-ngram", "sage.query-embedding", "sage.skill-embedding")
EVERY = ("sage.scenario", *SIMILAR)
TWINS = [skill(f"twin{n}", scenario="s1", query="open the door") for n in range(3)]


def policy(name: str, **settings: Any) -> Any:
    return operator(name, settings)


@pytest.mark.parametrize("name", EVERY)
def test_every_active_skill_is_paid_for_and_a_retired_one_is_not_considered(name: str) -> None:
    library = apply_changes(view_of(TWINS), [Retire(TWINS[0].id, "fails")])
    desk = Desk()
    choice = policy(name).choose(task("open the door"), library, desk)
    assert desk.meter.spending().units_by_kind == {"retrieve": 2}
    assert set(choice.ranked) <= {TWINS[1].id, TWINS[2].id}
    with pytest.raises(BudgetExceeded):
        policy(name).choose(task(), library, Desk(Meter(Budget(units=1))))


@pytest.mark.parametrize("name", EVERY)
def test_an_empty_library_gives_nothing_for_nothing(name: str) -> None:
    desk = Desk()
    assert policy(name).choose(task(), view_of([]), desk) == Choice()
    assert desk.meter.spending().units == 0


@pytest.mark.parametrize("name", ["sage.query-ngram", "sage.query-embedding"])
def test_equal_likeness_goes_by_id_whatever_the_order_of_creation(name: str) -> None:
    expected = tuple(sorted(s.id for s in TWINS))
    for library in (view_of(TWINS), view_of(reversed(TWINS))):
        assert policy(name).choose(task("open the door"), library, Desk()).ranked == expected


@pytest.mark.parametrize("name", SIMILAR)
def test_below_the_threshold_a_task_goes_without(name: str) -> None:
    choice = policy(name, threshold=0.99).choose(task("count apples"), view_of(TWINS), Desk())
    assert choice.ranked == ()


def test_skill_embedding_gives_six_skills_at_most() -> None:
    library = view_of([skill(f"s{n}") for n in range(9)])
    policy_ = policy("sage.skill-embedding", threshold=-1.0)
    assert len(policy_.choose(task(), library, Desk()).ranked) == 6


def test_a_skill_is_found_by_the_very_query_it_was_written_for(agent: SearchAgent) -> None:
    # What the agent's writer notes as the query is what retrieval makes of a task.
    shop = Workshop(agent, operator("sage.evolve", {}))
    library = view_of([shop.written(Written(problem=p)) for p in ("in-hand", "renamed-boxed")])
    for problem, written in zip(("in-hand", "renamed-boxed"), library.active(), strict=True):
        assert written.provenance.query == query_text(doors(problem))
        for name in ("sage.query-ngram", "sage.query-embedding"):
            found = policy(name, top_k=1, threshold=0.999).choose(doors(problem), library, Desk())
            assert found.ranked == (written.id,)


@given(st.text(max_size=40), st.text(max_size=40))
def test_ngram_likeness_is_symmetric_and_between_0_and_1(one: str, other: str) -> None:
    assert 0 <= ngram_similarity(one, other) == ngram_similarity(other, one) <= 1


def test_likeness_of_a_text_to_itself_is_1() -> None:
    assert ngram_similarity("open the door", "open the door") == 1.0
    assert embedding_similarity("open the door", "open the door") == pytest.approx(1.0, abs=1e-5)


def test_likeness_is_the_same_in_another_process_without_a_network_or_a_home() -> None:
    code = (
        "from auto_research.agent_research.similarity import *;"
        "print(embedding_similarity('open the door', 'unlock the gate'),"
        "ngram_similarity('open the door', 'unlock the gate'))"
    )
    unreachable = {"HTTPS_PROXY": "http://127.0.0.1:9", "HF_HUB_OFFLINE": "1"}
    env = {"PATH": os.environ["PATH"], "HOME": "/nonexistent", **unreachable}
    done = subprocess.run(
        [sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True
    )
    here = (
        embedding_similarity("open the door", "unlock the gate"),
        ngram_similarity("open the door", "unlock the gate"),
    )
    assert done.stdout.split() == [str(x) for x in here]
