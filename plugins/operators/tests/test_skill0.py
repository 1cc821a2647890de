"""SKILL0: the harmful go at once, the others under a budget that decays."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from desk import Desk, case, episode, group, operator, pool, ran, skill, task
from resuming import resumed

from auto_research.agent_research.library import Create, LibraryView, apply_changes, view_of
from auto_research.agent_research.operators import Arm, CreditedGroup, Episode

WORKED = case("skill0")
SKILLS = {name: skill(name) for name in WORKED["evidence"]}


def evidence(name: str, row: Sequence[int]) -> CreditedGroup:
    """One sibling with the skill and one bare, over as many tasks as the row has trials."""
    successes, trials, bare_successes, bare_trials = row
    assert trials == bare_trials
    chosen = SKILLS[name].id
    given: list[Episode] = []
    bare: list[Episode] = []
    for i in range(trials):
        at = task(f"{name}{i}")
        won = i < successes
        given.append(episode(won, at=at, ranked=[chosen], uses=[ran(chosen, helped=won)]))
        bare.append(episode(i < bare_successes, at=at, arm=Arm(bare=True)))
    return group(given, bare)


def withdrawn(budgets: Sequence[int]) -> LibraryView:
    """The library after the worked evidence, group by group, and one withdrawal at the end."""
    library = view_of(SKILLS.values())
    update = operator("update", "skill0.budget", budgets=budgets, every=len(SKILLS))
    desk = Desk(pool=pool(100), fits=dict.fromkeys(SKILLS, 1.0))
    for name, row in WORKED["evidence"].items():
        update = resumed(update)
        library = apply_changes(library, update.after_group(evidence(name, row), library, desk))
    return library


@pytest.mark.parametrize("which", ["accepts", "refuses", "nothing"])
def test_the_best_within_the_budget_are_kept_and_none_that_harms(which: str) -> None:
    worked = WORKED[which]
    assert [s.name for s in withdrawn([worked["budget"]]).active()] == worked["kept"]


def test_each_phase_has_its_budget() -> None:
    worked = WORKED["phases"]
    update = operator("update", "skill0.budget", every=1)
    planned = worked["groups"]
    assert [update._phase(g, planned) for g in range(planned + 1)] == worked["of"]
    library, sizes = view_of(SKILLS.values()), []
    for _ in range(planned):
        shown = group([episode(True)])
        desk = Desk(pool=pool(planned), fits=dict.fromkeys(SKILLS, 1.0))
        library = apply_changes(library, update.after_group(shown, library, desk))
        sizes.append(len(library))
    assert sizes == [4, 4, 3, 3, 3, 0, 0, 0, 0]


def test_skills_are_written_in_the_first_phase_and_what_was_withdrawn_is_not_written_again() -> (
    None
):
    new = skill("new")
    desk = Desk(pool=pool(4), drafts=lambda request: [new], fits={"new": 1.0})
    update = operator("update", "skill0.budget", budgets=(1, 0), every=1)
    library = view_of([])
    made = [update.after_group(group([episode(True, name=f"e{i}")]), library, desk) for i in "1"]
    assert made == [[Create(new, ("e1",))]]
    library = apply_changes(library, made[0])
    for _ in range(3):
        library = apply_changes(library, update.after_group(group([episode(True)]), library, desk))
    assert library.active() == () and library.get(new.id) is not None


def test_at_test_nothing_is_withdrawn() -> None:
    update = operator("update", "skill0.budget", budgets=(0,), every=1)
    desk = Desk(phase="test", pool=pool(4))
    assert update.after_group(group([episode(True)]), view_of(SKILLS.values()), desk) == ()
