"""R^2Orch: a skill goes if and only if a controlled evaluation is as good without it."""

from __future__ import annotations

import pytest
from desk import EMPTY, Desk, case, episode, group, operator, pool, ran, skill, task
from resuming import resumed

from auto_research.agent_research.library import Create, LibraryView, Retire, view_of

KNOWN = skill("s")
LIBRARY = view_of([KNOWN])


@pytest.mark.parametrize("which", ["accepts", "refuses"])
def test_withdrawn_iff_it_is_as_good_without(which: str) -> None:
    worked = case("r2orch")[which]

    def outcome(name: str, library: LibraryView) -> bool:
        return name in worked["with" if library.active() else "without"]

    desk = Desk(outcome=outcome, pool=pool(8))
    update = operator("update", "r2orch.withdraw")
    changes: list[object] = []
    for i in range(4):
        update = resumed(update)
        assert desk.probed == []
        shown = group([episode(True, at=task(f"t{i}"), uses=[ran(KNOWN.id)])])
        changes += update.after_group(shown, LIBRARY, desk)
    assert changes == ([Retire(KNOWN.id, "as good without it")] if worked["withdrawn"] else [])
    assert desk.probed == [("t0", "t1", "t2", "t3")] * 2
    assert desk.meter.units_by_kind["expand"] == 8
    assert update.state() == {}


def test_a_skill_is_written_only_where_rollouts_differ() -> None:
    desk = Desk(drafts=lambda request: [KNOWN])
    update = operator("update", "r2orch.withdraw")
    won, lost = episode(True, name="e1"), episode(False, name="e2")
    assert update.after_group(group([won], [won]), EMPTY, desk) == []
    assert update.after_group(group([lost], [lost]), EMPTY, desk) == []
    assert update.after_group(group([won], [lost]), EMPTY, desk) == [Create(KNOWN, ("e1",))]


def test_at_test_nothing_is_probed_or_changed() -> None:
    desk = Desk(phase="test", pool=pool(8))
    update = operator("update", "r2orch.withdraw", tasks=1)
    shown = group([episode(True, uses=[ran(KNOWN.id)])])
    assert update.after_group(shown, LIBRARY, desk) == ()
    assert desk.probed == []
