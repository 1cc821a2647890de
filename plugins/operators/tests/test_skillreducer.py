"""SkillReducer: a skill gets shorter as long as it does what it did."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from desk import Desk, case, group, operator, pool, ran, skill, task
from gated_desk import GatedDesk, attempt, edited, reborn

from auto_research.agent_research.library import Create, LibraryView, Revise, view_of
from auto_research.agent_research.operators import EditRequest, Episode
from auto_research.agent_research.skill import Skill

WORKED = case("skillreducer")["cases"]
WHOLE, SHORTER = skill("ab"), {"a": skill("a"), "b": skill("b")}
HELPED = [attempt(t, True, uses=[ran(WHOLE.id)]) for t in ("t0", "t1", "t2", "t3")]


def shrinking(keeps: dict[str, list[str]]) -> GatedDesk:
    def drafts(request: EditRequest) -> Sequence[Skill]:
        return [SHORTER["b"], SHORTER["a"]] if request.bases[0].id == WHOLE.id else []

    def attempted(name: str, library: LibraryView) -> Episode:
        (at,) = library.active()
        kept = name in keeps[at.name]
        return attempt(name, kept, uses=[ran(at.id, helped=kept)])

    return GatedDesk(pool=pool(5), drafts=drafts, attempted=attempted)


def compress(**settings: Any) -> Any:
    return operator("update", "skillreducer.compress", **settings)


@pytest.mark.parametrize("which", WORKED)
def test_pieces_go_iff_quality_is_kept(which: str) -> None:
    worked = WORKED[which]
    update = compress(retention=worked["retention"], corrections=1)
    changes = edited(update, HELPED, shrinking(worked["keeps"]), view_of([WHOLE]))
    made = [(c.base, c.skill, c.cause) for c in changes if isinstance(c, Revise)]
    cause = tuple(e.id for e in HELPED)
    assert made == ([(WHOLE.id, SHORTER[worked["made"]], cause)] if worked["made"] else [])


def test_a_success_without_the_skill_is_not_its_quality() -> None:
    desk = shrinking({"a": [], "b": []})
    desk.attempted = lambda name, library: attempt(name, True)
    assert edited(compress(), HELPED, desk, view_of([WHOLE])) == []


def test_a_skill_is_compressed_once_and_only_when_it_has_helped_twice() -> None:
    desk = shrinking(WORKED["drops-nothing"]["keeps"])
    update = compress()
    edited(update, HELPED[:1], desk, view_of([WHOLE]))
    assert desk.requests == []
    update = reborn(update)
    edited(update, HELPED[1:], desk, view_of([WHOLE]))
    asked = len(desk.requests)
    assert asked > 0
    edited(reborn(update), HELPED, desk, view_of([WHOLE]))
    assert len(desk.requests) == asked


def test_an_unaided_success_becomes_a_skill() -> None:
    fresh = skill("fresh")
    desk = GatedDesk(pool=pool(5), drafts=lambda request: [fresh])
    assert edited(compress(), [attempt("t0", True)], desk) == [Create(fresh, ("e-t0",))]


FIRST = skill("boil", query="the kettle is to be filled\nthe kettle is to be boiled\nin a kitchen")
SECOND = skill("dig", query="the garden is to be dug\nthe spade is in the shed\nin a kitchen")


def learnt(desk: Desk) -> Any:
    policy = operator("retrieval", "skillreducer.routed", top_k=1)
    policy.learn(group([attempt("t0", True)], library=view_of([FIRST, SECOND])), desk)
    return reborn(policy)


def test_a_description_keeps_only_what_still_routes_its_own_query() -> None:
    policy = learnt(Desk())
    for one in (FIRST, SECOND):
        assert len(policy.shown(one).splitlines()) < len(one.provenance.query.splitlines()) + 1
        asked = replace(task(), instruction=one.provenance.query)
        choice = policy.choose(asked, view_of([FIRST, SECOND]), Desk())
        assert choice.ranked == (one.id,)


def test_every_description_compared_is_charged() -> None:
    desk = Desk()
    learnt(desk)
    clauses = 4  # a skill's name and the three lines of its query
    assert desk.meter.units_by_kind["retrieve"] == 2 * (2 + clauses)
