"""The update rules beside the cases of fixtures/sage: causes, charges, overwriting, twins."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from auto_research_sage.update import EvolveUpdate, SaveUpdate
from sage_cases import Workshop, Written, doors, knows, operator
from sage_desk import Desk, chain, episode, group, ran, skill

from auto_research.agent_research.agents.search.agent import SearchAgent
from auto_research.agent_research.budget import Budget, Meter
from auto_research.agent_research.library import (
    Change,
    Create,
    Fork,
    LibraryView,
    Merge,
    Retire,
    Revise,
    apply_changes,
    view_of,
)
from auto_research.agent_research.operators import Settings, Use
from auto_research.agent_research.skill import Usage
from auto_research.errors import BudgetExceeded

OLD, NEW, OTHER = (skill("open_it", scenario="s1", body=f"return {n}") for n in range(3))
ELSEWHERE = skill("open_it", scenario="s2", body="return 9")


def save() -> SaveUpdate:
    return SaveUpdate(Settings())


def evolve(**options: Any) -> EvolveUpdate:
    return EvolveUpdate(EvolveUpdate.Options(**options))


def committed(
    update: SaveUpdate | EvolveUpdate, changes: list[Change], library: LibraryView, desk: Desk
) -> LibraryView:
    """The run's library after a group of one sibling that made those changes."""
    done = group([chain(episode(True), changes=changes)], [[1.0]])
    return apply_changes(library, update.after_group(done, library, desk))


def ids(library: LibraryView) -> list[str]:
    return [s.id for s in library.active()]


# sage.save


def test_save_stores_what_the_agent_believes_succeeded_whatever_the_judge_says() -> None:
    for verdict in (True, False, None):
        done = episode(verdict, own_check=True)
        assert save().after_episode(done, view_of([]), Desk(drafts=(NEW,))) == [Create(NEW, ("e",))]
    failed = episode(True, own_check=False)
    assert list(save().after_episode(failed, view_of([]), Desk(drafts=(NEW,)))) == []


def test_save_writes_nothing_when_a_skill_carried_the_task() -> None:
    done = episode(True, uses=ran(OLD.id))
    assert list(save().after_episode(done, view_of([OLD]), Desk(drafts=(NEW,)))) == []


def test_save_overwrites_the_skill_of_the_same_name_and_scenario_only() -> None:
    library = view_of([ELSEWHERE, OLD])
    changes = save().after_episode(episode(True), library, Desk(drafts=(NEW,)))
    assert changes == [Revise(OLD.id, NEW, ("e",))]
    assert ids(apply_changes(library, changes)) == [ELSEWHERE.id, NEW.id]


def test_save_does_not_lose_a_name_when_superseded_content_is_written_again() -> None:
    library = apply_changes(view_of([OLD]), [Revise(OLD.id, NEW)])
    changes = save().after_episode(episode(True), library, Desk(drafts=(OLD,)))
    assert ids(apply_changes(library, changes)) == [NEW.id]


def test_save_leaves_one_skill_a_name_when_a_chain_overwrote_it_several_times() -> None:
    changes: list[Change] = [Create(OLD), Revise(OLD.id, NEW), Revise(NEW.id, OTHER)]
    desk = Desk(phase="test")
    assert ids(committed(save(), changes, view_of([ELSEWHERE]), desk)) == [ELSEWHERE.id, OTHER.id]


def test_save_never_deletes() -> None:
    library = view_of([OLD])
    assert ids(committed(save(), [Retire(OLD.id, "?")], library, Desk(phase="test"))) == [OLD.id]
    failing = [Use(OLD.id, called=True, helped=False)] * 9
    done = episode(False, uses=failing, own_check=False)
    assert list(save().after_episode(done, library, Desk())) == []


# sage.evolve


def test_changes_name_the_episode_that_caused_them(agent: SearchAgent) -> None:
    shop = Workshop(agent, evolve())
    problems = ["in-hand", "on-floor", "no-key", "no-key", "no-key"]
    changes = shop.chain("c", problems, view_of([])).changes
    assert [(type(c), c.cause) for c in changes] == [
        (Create, ("c-0",)),
        (Revise, ("c-1",)),
        (Retire, ("c-4",)),
    ]


def test_a_line_taken_straight_to_its_last_version_names_every_cause(agent: SearchAgent) -> None:
    shop = Workshop(agent, evolve())
    done = shop.chain("c", ["in-hand", "on-floor", "in-shop"], view_of([]))
    (change,) = shop.commit([done], [1.0], view_of([]))
    assert isinstance(change, Create)
    assert change.cause == ("c-0", "c-1", "c-2")
    assert knows(change.skill) == ["have_by_buy_1", "have_by_pick_1", "open_by_unlock_1"]


def test_a_merge_keeps_the_line_and_the_record_of_what_was_there(agent: SearchAgent) -> None:
    shop = Workshop(agent, evolve())
    base = shop.written(
        Written(problem="in-hand", usage={"retrieved": 4, "called": 4, "helped": 4})
    )
    start = view_of([base])
    one, two = (shop.chain(p, [p], start) for p in ("on-floor", "in-shop"))
    library = apply_changes(start, shop.commit([one], [1.0], start))
    library = apply_changes(library, shop.commit([two], [1.0], library))
    (left,) = library.active()
    assert (left.lineage, left.version, left.usage.helped) == (base.id, 3, 4)


def test_what_is_borrowed_from_kin_carries_a_task_that_only_the_kin_could(
    agent: SearchAgent,
) -> None:
    shop = Workshop(agent, evolve())
    kin = shop.written(Written(problem="in-shop"))
    done = shop.chain("c", ["drifted-on-floor", "drifted-in-shop"], view_of([kin]), alone={0})
    (fork,) = done.changes
    assert isinstance(fork, Fork) and fork.base == kin.id
    assert done.episodes[1].used() == {fork.skill.id}
    assert [use.detail for use in done.episodes[1].uses if use.called] == [""]  # and no repair


def test_the_update_sees_no_verdict(agent: SearchAgent) -> None:
    shop = Workshop(agent, evolve())
    ctx = shop.context(doors("on-floor"))
    done = shop.attempt("e", "on-floor", 0, (), ctx)
    told = [
        shop.update.after_episode(
            episode(verdict, at=done.task, evidence=done.evidence), view_of([]), ctx
        )
        for verdict in (None, True, False)
    ]
    assert told[0] == told[1] == told[2] != []


def test_what_is_written_is_charged(agent: SearchAgent) -> None:
    shop = Workshop(agent, evolve())
    ctx = shop.context(doors("on-floor"))
    done = shop.attempt("e", "on-floor", 0, (), ctx)
    (change,) = shop.update.after_episode(done, view_of([]), ctx)
    assert isinstance(change, Create)
    meter: Meter = ctx._meter
    assert meter.spending().units_by_kind["write"] == len(knows(change.skill)) == 2


def test_a_new_version_that_was_retired_before_does_not_take_its_base_with_it() -> None:
    library = apply_changes(view_of([OLD, NEW]), [Retire(NEW.id, "fails")])
    done = episode(True, uses=ran(OLD.id))
    changes = evolve().after_episode(done, library, Desk(drafts=(NEW,)))
    assert ids(apply_changes(library, changes)) == [OLD.id]
    assert ids(committed(evolve(), [Revise(OLD.id, NEW)], library, Desk())) == [OLD.id]
    assert ids(committed(evolve(), [Create(NEW)], library, Desk())) == [OLD.id]


def test_what_is_known_is_not_created_twice() -> None:
    done = episode(True)
    assert list(evolve().after_episode(done, view_of([OLD]), Desk(drafts=(OLD,)))) == []
    assert ids(committed(evolve(), [Create(OLD)], view_of([OLD]), Desk())) == [OLD.id]


def test_a_near_duplicate_that_the_writer_cannot_merge_is_refused() -> None:
    twin = skill("shut_it", body="return 5")
    desk = Desk(fits={"open_it": 1.0, "shut_it": 1.0})  # both for the same kind of world
    assert ids(committed(evolve(), [Create(twin)], view_of([OLD]), desk)) == [OLD.id]
    apart = Desk(fits={"open_it": 1.0, "shut_it": 0.5})
    assert ids(committed(evolve(), [Create(twin)], view_of([OLD]), apart)) == [OLD.id, twin.id]


def test_a_sibling_without_a_reward_is_not_the_best() -> None:
    chains = [
        chain(episode(None), changes=[Create(OLD)]),
        chain(episode(True), changes=[Create(NEW)]),
    ]
    done = group(chains, [[None], [1.0]])
    assert list(evolve().after_group(done, view_of([]), Desk())) == [Create(NEW)]


@pytest.mark.parametrize(("streak", "helped", "gone"), [(2, 0, True), (1, 0, False), (2, 9, False)])
def test_retirement_needs_a_streak_of_three_and_a_low_lifetime_rate(
    streak: int, helped: int, gone: bool
) -> None:
    worn = skill("w", usage=Usage(helped + streak, helped + streak, helped, streak, streak))
    failed = episode(False, own_check=False, uses=[Use(worn.id, called=True, helped=False)])
    changes = evolve().after_episode(failed, view_of([worn]), Desk())
    assert changes == ([Retire(worn.id, "keeps failing", ("e",))] if gone else [])


def test_a_skill_that_was_retrieved_but_did_not_run_is_not_blamed() -> None:
    worn = skill("w", usage=Usage(9, 9, 0, 9, 9))
    idle = episode(False, own_check=False, uses=[Use(worn.id, called=False, helped=False)])
    assert list(evolve().after_episode(idle, view_of([worn]), Desk())) == []


def test_an_update_without_a_unit_left_fails_before_it_changes_anything(
    agent: SearchAgent,
) -> None:
    shop = Workshop(agent, evolve())
    done = shop.attempt("e", "on-floor", 0, (), shop.context(doors("on-floor")))
    empty = Meter(Budget(units=0))
    broke = replace(
        shop.context(doors("on-floor")),
        _meter=empty,
        _open=lambda task: agent.session(task, empty),
    )
    with pytest.raises(BudgetExceeded):
        shop.update.after_episode(done, view_of([]), broke)


def test_merges_of_other_operators_are_left_to_them() -> None:
    assert ids(committed(evolve(), [Merge((OLD.id,), NEW)], view_of([OLD]), Desk())) == [OLD.id]


def test_the_registered_defaults_are_those_of_the_paper_and_of_this_project() -> None:
    assert operator("sage.evolve", {}).settings.model_dump() == {
        "revise": True,
        "retire": True,
        "retire_streak": 3,
        "retire_below": 0.5,
    }
