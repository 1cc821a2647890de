"""ExpeL: rules live by their counters, and a task gets all of them with the nearest shots."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from desk import EMPTY, Desk, case, episode, group, operator, ran, skill, task
from resuming import resumed

from auto_research.agent_research.library import (
    Create,
    LibraryView,
    Retire,
    Revise,
    apply_changes,
    view_of,
)
from auto_research.agent_research.operators import EditRequest, Use
from auto_research.agent_research.skill import Skill, text_skill

WORLD = {"schemas": ["go"]}


def rule(text: str) -> Skill:
    return text_skill(text, name="rule", interface=WORLD)


@pytest.mark.parametrize("which", ["accepts", "refuses"])
def test_a_rule_is_kept_until_its_count_is_zero(which: str) -> None:
    worked = case("expel")[which]
    update, library, texts = operator("update", "expel.counters"), EMPTY, ["Prefer go."]
    counts: list[int] = []

    def drafts(request: EditRequest) -> Sequence[Skill]:
        return [rule(texts[-1])] if request.kind == "rule" else []

    for step in worked["groups"]:
        if step == "E":
            texts.append("Prefer go; avoid stop.")
        spoke = [Use(s.id, called=True, helped=step != "F") for s in library.active()]
        update = resumed(update)
        shown = group([episode(step != "F", uses=spoke)], library=library)
        desk = Desk(drafts=drafts, fits={"rule": 1.0})
        library = apply_changes(library, update.after_group(shown, library, desk))
        counts.append(next(iter(update.state().values()), 0))
    assert counts == worked["counts"]
    assert bool(library.active()) == worked["kept"]
    assert all(s.source == texts[-1] for s in library.active())


def asked(library: LibraryView, *chains: Sequence[object], text: str = "Prefer go.") -> Desk:
    desk = Desk(
        drafts=lambda request: [rule(text)] if request.kind == "rule" else [],
        fits={"rule": 1.0},
    )
    operator("update", "expel.counters").after_group(group(*chains), library, desk)  # type: ignore[arg-type]
    return desk


def test_a_success_is_held_against_a_failure_of_the_same_task() -> None:
    t1, t2 = task("t1"), task("t2", position=1)
    first = [episode(True, name="a1", at=t1), episode(False, name="a2", at=t2, position=1)]
    again = [episode(True, name="b1", at=t1), episode(True, name="b2", at=t2, position=1)]
    known = rule("Avoid stop.")
    (request,) = [r for r in asked(view_of([known]), first, again).requests if r.kind == "rule"]
    assert request.episode is not None and request.against is not None
    assert (request.episode.id, request.against.id) == ("b2", "a2")
    assert request.bases == (known,)


def test_without_a_success_nothing_is_asked() -> None:
    assert asked(EMPTY, [episode(False)]).requests == []


def test_each_unaided_success_becomes_a_shot_and_a_text_does_not_count_as_aid() -> None:
    known = rule("Prefer go.")
    desk = Desk(drafts=lambda request: [skill("f")] if request.kind == "create" else [])
    update = operator("update", "expel.counters")
    spoken = group([episode(True, name="e1", uses=[ran(known.id)])])
    assert update.after_group(spoken, view_of([known]), desk) == [Create(skill("f"), ("e1",))]
    carried = group([episode(True, uses=[ran(skill("g").id)])])
    assert update.after_group(carried, view_of([skill("g")]), desk) == []


def test_a_dropped_rule_is_retired_and_not_written_again() -> None:
    known = rule("Prefer go.")
    update = operator("update", "expel.counters", first_count=1)
    desk = Desk(drafts=lambda request: [known] if request.kind == "rule" else [])
    failed = group([episode(False, name="e1", uses=[ran(known.id, helped=False)])])
    changes = update.after_group(failed, view_of([known]), desk)
    assert changes == [Retire(known.id, "its count is zero", ("e1",))]
    gone = apply_changes(view_of([known]), changes)
    assert update.after_group(group([episode(True)]), gone, desk) == []


def test_an_edit_supersedes_the_rule() -> None:
    known, better = rule("Prefer go."), rule("Prefer go; avoid stop.")
    desk = Desk(
        drafts=lambda request: [better] if request.kind == "rule" else [], fits={"rule": 1.0}
    )
    update = operator("update", "expel.counters")
    changes = update.after_group(group([episode(True, name="e1")]), view_of([known]), desk)
    assert changes == [Revise(known.id, better, ("e1",))]


def test_at_test_the_rules_stay_as_they_are() -> None:
    desk = Desk(phase="test", drafts=lambda request: [rule("Prefer go.")])
    update = operator("update", "expel.counters")
    assert update.after_group(group([episode(True)]), EMPTY, desk) == ()
    assert desk.requests == []


def test_a_task_gets_every_rule_and_the_nearest_shots() -> None:
    shots = [skill(name, query=f"do {name}") for name in ("t0", "gardening", "cooking")]
    rules = [rule("Prefer go."), rule("Avoid stop.")]
    desk = Desk()
    retrieval = operator("retrieval", "expel.rules-and-shots", shots=1)
    choice = retrieval.choose(task("t0"), view_of([*shots, *rules]), desk)
    assert choice.ranked == (shots[0].id, rules[0].id, rules[1].id)
    assert desk.meter.units_by_kind["retrieve"] == 5
