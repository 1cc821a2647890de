"""The regression gate: what a change did, which tasks probe it, how training is cut up."""

from __future__ import annotations

from dataclasses import replace

import pytest
from auto_research_operators.shared.gate import (
    Outcomes,
    effect,
    held_out,
    validation_tasks,
    verdicts,
)
from desk import Desk, operator, pool, task
from gated_desk import attempt
from hypothesis import given
from hypothesis import strategies as st

from auto_research.agent_research.operators import Progress, Use
from auto_research.benchmarks.base import Scenario

BROKEN = Use("s", True, False, sound=False)
OUTCOMES = st.dictionaries(st.sampled_from([f"t{i}" for i in range(9)]), st.booleans())


def test_an_effect_counts_fixes_and_regressions_and_those_by_failing_code() -> None:
    before = {"t0": False, "t1": True, "t2": True, "t3": False, "t9": True}
    after = verdicts(
        [
            attempt("t0", True),
            attempt("t1", False),
            attempt("t2", False, uses=[BROKEN]),
            attempt("t3", False, uses=[BROKEN]),  # it failed before: no regression
            attempt("t8", False, uses=[BROKEN]),  # not known before
        ]
    )
    seen = effect(before, after)
    assert (seen.fixes, seen.regressions, seen.invalid_regressions) == (1, 2, 1)


@given(OUTCOMES, OUTCOMES)
def test_what_one_way_fixes_the_other_way_breaks(
    one: dict[str, bool], other: dict[str, bool]
) -> None:
    there = effect(one, verdicts([attempt(t, ok) for t, ok in other.items()]))
    back = effect(other, verdicts([attempt(t, ok) for t, ok in one.items()]))
    assert (there.fixes, there.regressions) == (back.regressions, back.fixes)


def test_hard_accuracy_counts_tasks_and_unit_accuracy_their_checks() -> None:
    seen = verdicts(
        [
            attempt("t0", True, parts=[True, True]),
            attempt("t1", False, parts=[True, False]),
            attempt("t2", True),  # no named checks: the task itself
            replace(attempt("t3", True, parts=[True, True]), error="broke off"),
        ]
    )
    assert seen.accuracy == 2 / 4
    assert seen.part_accuracy == (1 + 0.5 + 1 + 0) / 4
    assert verdicts([]).accuracy == verdicts([]).part_accuracy == 0.0


def test_a_probe_set_is_half_failing_half_passing_and_leaves_out_what_it_must() -> None:
    outcomes = Outcomes()
    outcomes.note(verdicts([attempt(f"t{i}", i % 2 == 0) for i in range(12)]))
    drawn = outcomes.probe_set(6, {"t0", "t1"}, Desk(pool=pool(20)))
    known = [outcomes.known[ref.task] for ref in drawn]
    assert known.count(True) == known.count(False) == 3
    assert not {"t0", "t1"} & {ref.task for ref in drawn}


@pytest.mark.parametrize(("failing", "size", "expected"), [(1, 4, 1), (0, 4, 0), (9, 4, 4)])
def test_where_one_half_is_short_the_other_fills_up(failing: int, size: int, expected: int) -> None:
    outcomes = Outcomes()
    outcomes.note(verdicts([attempt(f"t{i}", i >= failing) for i in range(9)]))
    drawn = outcomes.probe_set(size, (), Desk(pool=pool(20)))
    assert sum(not outcomes.known[ref.task] for ref in drawn) == expected
    assert len(drawn) == size


def test_every_fourth_scenario_is_held_out_and_what_was_trained_on_is_no_validation() -> None:
    assert held_out(["a", "a", "b", "c", "d", "e", "f", "g", "h"]) == {"d", "h"}
    desk = Desk(pool=pool(8))
    assert [ref.task for ref in validation_tasks(9, (), desk)] == ["t3", "t7"]
    assert [ref.task for ref in validation_tasks(9, {"t3"}, desk)] == ["t7"]
    many = Desk(pool=pool(24))
    assert [ref.task for ref in validation_tasks(3, (), many)] == ["t3", "t11", "t19"]


@pytest.mark.parametrize("hold_out", [False, True])
def test_batches_go_once_through_the_scenarios_with_a_frozen_library(hold_out: bool) -> None:
    scenarios = [
        Scenario(f"s{i}", (task(f"t{i}-0", f"s{i}"), task(f"t{i}-1", f"s{i}"))) for i in range(8)
    ]
    rollout = operator("rollout", "gated.batches", scenarios_per_batch=3, hold_out=hold_out)
    seen, sizes, groups = [], [], 0
    while chains := rollout.next(scenarios, Progress(groups, 8), Desk()):
        (chain,) = chains
        assert (chain.start, chain.siblings) == ("frozen", 1)
        seen += [t.scenario for t in chain.tasks]
        sizes.append(len(chain.tasks))
        groups += 1
    left_out = held_out(s.id for s in scenarios) if hold_out else set()
    assert seen == [s.id for s in scenarios if s.id not in left_out for _ in range(2)]
    assert sizes == ([6, 6] if hold_out else [6, 6, 4])
