"""GRASP: of K proposals the best is made, if it fixes more than noise does and breaks no more."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from auto_research_operators.papers.grasp import adjusted
from auto_research_operators.shared.gate import effect, verdicts
from desk import EMPTY, Desk, case, operator, pool, skill, task
from gated_desk import GatedDesk, attempt, edited, reborn

from auto_research.agent_research.library import Create, LibraryView, Retire, view_of
from auto_research.agent_research.operators import EditRequest, Episode, Use
from auto_research.agent_research.skill import Skill, Usage

WORKED = case("grasp")
INCUMBENT: dict[str, bool] = WORKED["incumbent"]
HELPER, NARROW = skill("helper"), skill("narrow")
SOURCE = attempt("t0", True, actions=("take<>", "drop<>"))  # what a skill can be written from


def gate(**settings: Any) -> Any:
    """The gate, which knows what the probes t1 to t4 last came to."""
    made = operator("update", "grasp.gate", probe_size=4, **settings)
    made.restore(INCUMBENT)
    return made


def passes(
    name: str, passing: Sequence[str], invalid: Sequence[str] = (), at: Skill = HELPER
) -> Episode:
    uses = [Use(at.id, True, False, sound=False)] if name in invalid else []
    return attempt(name, name in passing, uses=uses)


def desk_for(worked: dict[str, list[str]]) -> GatedDesk:
    def attempted(name: str, library: LibraryView) -> Episode:
        if library.get(HELPER.id) is None:
            return passes(name, worked["rerun"])
        return passes(name, worked["candidate"], worked["invalid"])

    return GatedDesk(pool=pool(5), drafts=lambda request: [HELPER], attempted=attempted)


@pytest.mark.parametrize("which", WORKED["cases"])
def test_a_proposal_is_made_iff_it_passes_the_gate(which: str) -> None:
    worked = WORKED["cases"][which]
    desk = desk_for(worked)
    changes = edited(gate(narrowing=False), [SOURCE], desk)
    assert changes == ([Create(HELPER, ("e-t0",))] if worked["accepted"] else [])
    assert [len(probed) for probed in desk.probed] == [4, 4]  # the floor, the candidate


@pytest.mark.parametrize("which", WORKED["cases"])
def test_the_adjusted_count_is_the_one_worked_by_hand(which: str) -> None:
    worked = WORKED["cases"][which]
    rerun = verdicts([passes(t, worked["rerun"]) for t in INCUMBENT])
    with_it = verdicts([passes(t, worked["candidate"], worked["invalid"]) for t in INCUMBENT])
    assert adjusted(effect(INCUMBENT, with_it), effect(INCUMBENT, rerun), 2.0) == worked["adjusted"]


def test_no_probe_is_a_task_that_led_to_a_proposal() -> None:
    desk = desk_for(WORKED["cases"]["two-fixes"])
    edited(gate(), [SOURCE], desk)
    assert {frozenset(probed) for probed in desk.probed} == {frozenset(INCUMBENT)}


def test_the_best_of_the_first_k_proposals_is_made() -> None:
    skills = {f"t{i}": skill(f"helper_{i}") for i in (0, 5, 6)}
    fixes = {"t0": ["t1"], "t5": ["t1", "t2"], "t6": ["t1", "t2"]}

    def attempted(name: str, library: LibraryView) -> Episode:
        known = [t for t, s in skills.items() if library.get(s.id)]
        return passes(name, ["t3", "t4", *(fixes[known[0]] if known else ())])

    def drafts(request: EditRequest) -> Sequence[Skill]:
        return [skills[request.episode.task.id]] if request.episode else []

    desk = GatedDesk(pool=pool(7), drafts=drafts, attempted=attempted)
    episodes = [attempt(t, True) for t in skills]
    assert edited(gate(proposals=2), episodes, desk) == [Create(skills["t5"], ("e-t5",))]
    assert len(desk.probed) == 3


def test_a_full_library_makes_room_by_removing_the_poorest_record() -> None:
    good = skill("good", usage=Usage(4, 4, 4, 0, 0))
    poor = skill("poor", usage=Usage(4, 4, 0, 4, 4))
    desk = desk_for(WORKED["cases"]["two-fixes"])
    changes = edited(gate(max_skills=2), [SOURCE], desk, view_of([good, poor]))
    assert [type(c) for c in changes] == [Retire, Create]
    assert isinstance(changes[0], Retire) and changes[0].base == poor.id
    assert len(edited(gate(max_skills=3), [SOURCE], desk, view_of([good, poor]))) == 1


def test_a_refused_proposal_is_narrowed_to_what_the_regressed_did_not_do() -> None:
    def drafts(request: EditRequest) -> Sequence[Skill]:
        return [NARROW if request.span == ("take<>",) else HELPER]

    def attempted(name: str, library: LibraryView) -> Episode:
        if library.get(NARROW.id):
            return passes(name, ["t1", "t3", "t4"])
        if library.get(HELPER.id):  # t1 is fixed, and t3 breaks at a drop
            done = ("take<>", "drop<>") if name == "t3" else ("take<>",)
            return attempt(name, name in ("t1", "t4"), actions=done)
        return passes(name, ["t3", "t4"])

    desk = GatedDesk(pool=pool(5), drafts=drafts, attempted=attempted)
    assert edited(gate(), [SOURCE], desk) == [Create(NARROW, ("e-t0",))]
    assert edited(gate(narrowing=False), [SOURCE], desk) == []


def test_where_nothing_regressed_there_is_nothing_to_narrow() -> None:
    desk = desk_for(WORKED["cases"]["a-fix-of-the-floor"])
    edited(gate(), [SOURCE], desk)
    assert len(desk.probed) == 2


def test_its_state_is_what_tasks_came_to() -> None:
    desk = desk_for(WORKED["cases"]["two-fixes"])
    update = gate()
    edited(update, [SOURCE], desk)
    assert update.state() == dict.fromkeys(["t0", *INCUMBENT], True)
    reborn(update)


def test_retrieval_ranks_by_use_first_then_by_words_and_gives_at_most_three() -> None:
    whole = [skill(f"whole_{i}", query=f"do {word}") for i, word in enumerate(["t0", "zzz"])]
    part = [skill(f"part_{i}", query="do t0") for i in range(2)]
    none = skill("none", query="do t0")
    fits = {s.name: 1.0 for s in whole} | {s.name: 0.5 for s in part}
    desk = Desk(fits=fits)
    library = view_of([none, *part, *reversed(whole)])
    choice = operator("retrieval", "grasp.ranked").choose(task(), library, desk)
    assert choice.ranked[:2] == tuple(s.id for s in whole)
    assert choice.ranked[2] in {s.id for s in part}
    assert len(choice.ranked) == 3
    assert desk.meter.units_by_kind["retrieve"] == 5
    assert operator("retrieval", "grasp.ranked").choose(task(), EMPTY, Desk()).ranked == ()
