"""UCOB: what helped beside bare rollouts is chosen again, and the untried is tried."""

from __future__ import annotations

import math
from collections.abc import Sequence

import pytest
from desk import EMPTY, Desk, case, episode, group, operator, skill, task
from resuming import resumed

from auto_research.agent_research.library import Create, view_of
from auto_research.agent_research.operators import Arm, CreditedGroup, EditRequest
from auto_research.agent_research.skill import Provenance, Skill, text_skill

WORKED = case("ucob")
A, B = skill("a", query="do t0"), skill("b", query="do t0")
TEXT = text_skill("Prefer go.", name="rule", provenance=Provenance(query="do t0"))


def tried(skill_id: str, success: bool, without: bool) -> CreditedGroup:
    given = episode(success, name="with", ranked=[skill_id])
    return group([given], [episode(without, name="bare", arm=Arm(bare=True))])


def test_utility_and_score_are_the_worked_numbers() -> None:
    retrieval = operator("retrieval", "ucob.upper-bound")
    untried = WORKED["untried"]
    assert untried["training"] == "infinite"
    assert retrieval.score(A.id, 0.5, "training") == math.inf
    assert retrieval.score(A.id, 0.5, "test") == pytest.approx(untried["test"])
    worked, seen = WORKED["utility"], []
    for success, without in worked["pairs"]:
        retrieval.learn(tried(A.id, success, without), Desk())
        retrieval = resumed(retrieval)
        seen.append(retrieval.utility[A.id])
    assert seen == pytest.approx(worked["after"])
    score = retrieval.score(A.id, WORKED["score"]["relevance"], "test")
    assert score == pytest.approx(WORKED["score"]["value"], abs=1e-6)


def test_the_skill_that_helped_is_chosen_before_the_one_that_harmed() -> None:
    for helped, harmed in ((A, B), (B, A)):
        retrieval = operator("retrieval", "ucob.upper-bound", top_k=1, min_relevance=-1)
        for _ in range(WORKED["accepts"]["helped"]):
            retrieval.learn(tried(helped.id, True, False), Desk())
        for _ in range(WORKED["accepts"]["harmed"]):
            retrieval.learn(tried(harmed.id, False, True), Desk())
        library = view_of([A, B, TEXT])
        assert retrieval.choose(task(), library, Desk()).ranked == (helped.id, TEXT.id)
        assert retrieval.choose(task(), library, Desk(phase="test")).ranked[0] == helped.id


def test_what_is_not_relevant_is_not_chosen() -> None:
    assert WORKED["refuses"]["min_relevance"] == 0.4
    far = skill("far", query="bake a chocolate cake with cherries")
    near = skill("near", query="move the truck to the depot")
    at = task("move the truck to the depot")
    choice = operator("retrieval", "ucob.upper-bound").choose(at, view_of([far, near]), Desk())
    assert choice.ranked == (near.id,)


def test_a_rollout_without_a_bare_sibling_teaches_nothing() -> None:
    retrieval = operator("retrieval", "ucob.upper-bound")
    retrieval.learn(group([episode(True, ranked=[A.id])]), Desk())
    assert retrieval.state() == operator("retrieval", "ucob.upper-bound").state()


@pytest.mark.parametrize("phase", ["training", "test"])
def test_reflection_writes_both_kinds_in_training_alone(phase: str) -> None:
    def drafts(request: EditRequest) -> Sequence[Skill]:
        return [TEXT] if request.kind == "rule" else [A]

    desk = Desk(phase=phase, drafts=drafts)  # type: ignore[arg-type]
    shown = group([episode(True, name="e1")], [episode(False, name="e2")])
    changes = operator("update", "ucob.reflect").after_group(shown, EMPTY, desk)
    expected = [Create(TEXT, ("e1",)), Create(A, ("e1",))]
    assert list(changes) == (expected if phase == "training" else [])
    against = [r.against.id for r in desk.requests if r.kind == "rule" and r.against]
    assert against == (["e2"] if phase == "training" else [])
