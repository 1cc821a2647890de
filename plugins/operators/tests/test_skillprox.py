"""SkillProx: a patch must not hurt its own batch; a section loses what it can do without."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from desk import case, operator, pool, skill
from desk import ran as used
from gated_desk import GatedDesk, attempt, edited, reborn

from auto_research.agent_research.library import Create, LibraryView, Revise, view_of
from auto_research.agent_research.operators import EditRequest, Episode
from auto_research.agent_research.skill import Skill, function_skill

WORKED = case("skillprox")


def prox(**settings: Any) -> Any:
    return operator("update", "skillprox.proximal", **settings)


def judged(name: str, outcome: Sequence[Any]) -> Episode:
    """Success, and the share of two checks that passed."""
    success, share = outcome
    return attempt(name, success, parts=[share >= 0.5, share >= 1.0])


@pytest.mark.parametrize("which", WORKED["forward"])
def test_a_patch_is_kept_iff_its_batch_is_not_worse_off(which: str) -> None:
    worked = WORKED["forward"][which]
    helper = skill("helper")
    desk = GatedDesk(
        pool=pool(3),
        drafts=lambda request: [helper],
        attempted=lambda name, library: judged(name, worked["after"][name]),
    )
    batch = [judged(name, outcome) for name, outcome in worked["before"].items()]
    changes = edited(prox(tries=1), batch, desk)
    assert changes == ([Create(helper, ("e-t0",))] if worked["accepted"] else [])
    assert desk.probed == [("t0", "t1")]  # the same batch


def test_a_rejection_is_fed_in_the_next_try_goes_without_the_edits_to_blame() -> None:
    bad, good = skill("bad"), skill("good")

    def drafts(request: EditRequest) -> Sequence[Skill]:
        task = request.episode.task.id if request.episode else ""
        return {"t0": [bad], "t1": [good]}.get(task, [])

    def attempted(name: str, library: LibraryView) -> Episode:
        ruined = name == "t2" and library.get(bad.id) is not None
        return attempt(name, not ruined, uses=[ran(bad)] if ruined else [])

    desk = GatedDesk(pool=pool(3), drafts=drafts, attempted=attempted)
    batch = [attempt(t, True) for t in ("t0", "t1", "t2")]
    assert edited(prox(tries=2), batch, desk) == [Create(good, ("e-t1",))]
    assert edited(prox(tries=1), batch, desk) == []


SECTION, REST = "s", "r"


def sized(name: str, length: int, letter: str) -> Skill:
    """A skill of that many characters; another letter makes it another skill."""
    shell = f"def {name}():\n    return ''\n"
    source = shell.replace("''", f"'{letter * (length - len(shell))}'")
    assert len(source) == length
    return function_skill(source)


def backward_case(worked: Mapping[str, Any]) -> tuple[GatedDesk, LibraryView, dict[str, Skill]]:
    section, rest = sized(SECTION, 100, "s"), sized(REST, 100, "r")
    versions = {unit: sized(SECTION, worked["length"][unit], unit) for unit in "abc"}
    versions["a+b"] = sized(SECTION, 100 - 8 - 12, "d")
    passing = {versions[unit].id: tasks for unit, tasks in worked["without"].items()}
    passing |= {section.id: WORKED["backward"]["whole"], versions["a+b"].id: worked["together"]}

    def drafts(request: EditRequest) -> Sequence[Skill]:
        (base,) = request.bases
        assert request.kind == "shrink"
        if base.id == section.id:
            return [versions[unit] for unit in "abc"]
        # Out of the section without b (its second unit), a is the first to go.
        return [versions["a+b"]] if base.id == versions["b"].id else []

    def attempted(name: str, library: LibraryView) -> Episode:
        (at,) = [s for s in library.active() if s.name == SECTION]
        return attempt(name, name in passing[at.id], uses=[ran(at)])

    desk = GatedDesk(pool=pool(16), drafts=drafts, attempted=attempted)
    return desk, view_of([section, rest]), versions | {SECTION: section}


def ran(skill: Skill) -> Any:
    return used(skill.id)


@pytest.mark.parametrize("which", WORKED["backward"]["cases"])
def test_units_are_left_out_within_the_bounds(which: str) -> None:
    worked = WORKED["backward"]["cases"][which]
    desk, library, versions = backward_case(worked)
    batch = [attempt("t0", True, uses=[ran(versions[SECTION])])]  # suggests no patch
    changes = edited(prox(candidates=worked["candidates"]), batch, desk, library)
    made = [c.skill for c in changes if isinstance(c, Revise)]
    assert made == ([versions[worked["made"]]] if worked["made"] else [])
    assert set(desk.probed) == {("t3", "t7", "t11", "t15")}  # the held-out tasks


def test_what_was_removed_before_counts_towards_the_bound() -> None:
    worked = WORKED["backward"]["cases"]["removes-the-negative-unit"]
    desk, library, versions = backward_case(worked)
    batch = [attempt("t0", True, uses=[ran(versions[SECTION])])]
    update = prox()
    update.restore({"batches": 0, "removed": 12, "trained": [], "shrunk": []})
    # (12 + 12) / (200 + 12) = 11.3 %
    assert edited(update, batch, desk, library) == []


def test_validation_never_holds_a_task_that_was_trained_on() -> None:
    worked = WORKED["backward"]["cases"]["removes-the-negative-unit"]
    desk, library, versions = backward_case(worked)
    batch = [attempt(f"t{i}", True, uses=[ran(versions[SECTION])]) for i in (0, 3, 7)]
    edited(prox(), batch, desk, library)
    assert set(desk.probed) == {("t11", "t15")}


def test_a_section_is_shrunk_once_also_by_a_resumed_run() -> None:
    worked = WORKED["backward"]["cases"]["refuses-where-every-unit-is-of-use"]
    desk, library, versions = backward_case(worked)
    batch = [attempt("t0", True, uses=[ran(versions[SECTION])])]
    update = prox()
    edited(update, batch, desk, library)
    asked = len(desk.requests)
    edited(reborn(update), batch, desk, library)
    assert len(desk.requests) == asked
