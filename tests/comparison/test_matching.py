"""Runs that were not asked for alike are refused by name: what differs, and in which."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from compared_runs import B, Did, change_row, lines, write

from auto_research.comparison.matching import mismatches
from auto_research.comparison.table import checked_lines, chosen_baseline
from auto_research.errors import UserError

BUDGET = {"units": B, "units_per_episode": B, "run_units": None}


def told(*paths: Path) -> list[str]:
    return list(mismatches(lines(paths)))


def test_runs_asked_for_alike_match(tmp_path: Path) -> None:
    assert told(write(tmp_path, "sage", [Did()]), write(tmp_path, "react", [Did(False)])) == []


@pytest.mark.parametrize(
    ("more", "reason"),
    [
        ({"benchmark_hash": "other"}, 'benchmark_hash differs: "toy" in {0}, "other" in {1}'),
        ({"split": "validation"}, 'split differs: "test" in {0}, "validation" in {1}'),
        ({"agent": "llm"}, 'agent differs: "search" in {0}, "llm" in {1}'),
        ({"budget": {**BUDGET, "units": 9}}, "budget.units differs: 100 in {0}, 9 in {1}"),
        ({"budget": {**BUDGET, "run_units": 9}}, "budget.run_units differs: null in {0}, 9 in {1}"),
        ({"test_feedback": "verdict"}, 'test_feedback differs: "own" in {0}, "verdict" in {1}'),
        ({"frozen": True}, "frozen differs: false in {0}, true in {1}"),
        ({"exclude": ["depots"]}, 'exclude differs: [] in {0}, ["depots"] in {1}'),
        ({"tariff": {"act": 2}}, 'tariff differs: {{"act": 1}} in {0}, {{"act": 2}} in {1}'),
        ({"version": "2"}, 'version differs: "1" in {0}, "2" in {1}'),
    ],
)
def test_what_differs_is_named_with_the_runs(
    tmp_path: Path, more: dict[str, Any], reason: str
) -> None:
    paths = write(tmp_path, "sage", [Did()]), write(tmp_path, "react", [Did()], **more)
    assert told(*paths) == [reason.format(*paths)]


def test_seeds_that_one_method_lacks_are_named(tmp_path: Path) -> None:
    paths = [write(tmp_path, "sage", [Did()], seed=seed) for seed in (1, 2)]
    paths += [write(tmp_path, "react", [Did()], seed=1)]
    seeds = "1 (train seed 0), 2 (train seed 0) in sage, 1 (train seed 0) in react"
    assert told(*paths) == [f"seeds differs: {seeds}"]


def test_train_seeds_and_sizes_must_agree_where_there_is_a_training(tmp_path: Path) -> None:
    paths = [
        write(tmp_path, "sage", [Did()], train_scenarios=64),
        write(tmp_path, "expel", [Did()], train_scenarios=32),
        write(tmp_path, "react", [Did()]),
    ]
    reason = f"train_scenarios differs: 64 in {paths[0]}, 32 in {paths[1]}"
    assert told(*paths) == [reason]
    later = [write(tmp_path / "b", "sage", [Did()], train_seed=s) for s in (0,)]
    later += [write(tmp_path / "b", "expel", [Did()], train_seed=1)]
    assert told(*later) == ["seeds differs: 1 (train seed 0) in sage, 1 (train seed 1) in expel"]


def test_streams_of_another_length_do_not_match(tmp_path: Path) -> None:
    paths = write(tmp_path, "sage", [Did()] * 3), write(tmp_path, "react", [Did()] * 2)
    assert told(*paths) == [f"episodes differs: 3 in {paths[0]}, 2 in {paths[1]}"]


def test_runs_of_one_seed_must_have_tested_the_same_tasks(tmp_path: Path) -> None:
    paths = [write(tmp_path, name, [Did()] * 4) for name in ("sage", "react", "expel")]
    change_row(paths[1], lambda row: row.update(task="renamed\x1b"))
    reason = (
        f"tasks of seed 1 differ between {paths[0]} and {paths[2]} and {paths[1]}: "
        f"only {paths[1]} has 'renamed\\x1b' in scenario 's1', and 1 more such"
    )
    assert told(*paths) == [reason]
    with pytest.raises(UserError, match="tasks of seed 1 differ"):
        checked_lines([r for line in lines(paths) for r in line.runs], unmatched=False)
    _, warnings = checked_lines([r for line in lines(paths) for r in line.runs], unmatched=True)
    assert warnings == [f"not matched, so no fair comparison: {reason}"]


def test_a_task_must_belong_to_the_same_scenario_in_runs_of_one_seed(tmp_path: Path) -> None:
    paths = [write(tmp_path, name, [Did()] * 4) for name in ("sage", "react")]
    paths += [write(tmp_path, name, [Did()] * 4, seed=2) for name in ("sage", "react")]
    change_row(paths[3], lambda row: row.update(scenario="s0"))
    (reason,) = told(*paths)
    assert f"tasks of seed 2 differ between {paths[2]} and {paths[3]}" in reason


def test_one_method_in_two_versions_of_its_code_does_not_match(tmp_path: Path) -> None:
    paths = [write(tmp_path, "sage", [Did()], seed=s, code_hash=str(s)) for s in (1, 2)]
    assert told(*paths) == [f"code_hash of sage differs: 1 in {paths[0]}, 2 in {paths[1]}"]


def test_an_agent_that_reads_answers_is_refused_even_among_its_kind(tmp_path: Path) -> None:
    paths = [write(tmp_path, name, [Did()], flags=["expert"]) for name in ("sage", "react")]
    assert told(*paths) == [
        f"the agent of {name} reads the answers: {path}"
        for name, path in zip(("sage", "react"), paths, strict=True)
    ]


def test_all_reasons_stand_on_one_line(tmp_path: Path) -> None:
    runs = [
        run
        for line in lines(
            [
                write(tmp_path, "sage", [Did()]),
                write(tmp_path, "react", [Did()], split="validation", agent="llm"),
            ]
        )
        for run in line.runs
    ]
    with pytest.raises(UserError) as error:
        checked_lines(runs, unmatched=False)
    assert "\n" not in str(error.value)
    assert "split differs" in str(error.value) and "agent differs" in str(error.value)
    _, warnings = checked_lines(runs, unmatched=True)
    assert [w.partition(": ")[2].split()[0] for w in warnings] == ["split", "agent"]


def test_flags_of_runs_are_warned_of(tmp_path: Path) -> None:
    paths = [write(tmp_path, "sage", [Did()], flags=["safety-net"]), write(tmp_path, "re", [Did()])]
    _, warnings = checked_lines(
        [run for line in lines(paths) for run in line.runs], unmatched=False
    )
    assert warnings == ["sage has runs with the flag safety-net"]


def test_two_runs_of_one_line_with_one_seed_are_refused(tmp_path: Path) -> None:
    paths = [write(tmp_path / folder, "sage", [Did()]) for folder in "ab"]
    with pytest.raises(UserError, match="two runs of sage with seed 1 and train seed 0"):
        lines(paths)


def test_a_method_at_two_settings_makes_two_lines(tmp_path: Path) -> None:
    plain = write(tmp_path / "a", "sage", [Did()])
    changed = write(tmp_path / "b", "sage", [Did()], method_hash="changed")
    assert [line.label for line in lines([plain, changed])] == ["sage", "sage#2"]


def test_one_line_alone_is_no_comparison(tmp_path: Path) -> None:
    (line,) = lines([write(tmp_path, "sage", [Did()])])
    with pytest.raises(UserError, match="nothing to compare sage with"):
        checked_lines(line.runs, unmatched=True)


def test_the_baseline_is_react_unless_another_is_asked_for() -> None:
    assert chosen_baseline(["sage", "react", "expel"], "") == "react"
    assert chosen_baseline(["sage", "expel"], "") == "sage"
    assert chosen_baseline(["sage", "expel"], "expel") == "expel"
    with pytest.raises(UserError, match="did you mean 'expel'"):
        chosen_baseline(["sage", "expel"], "expell")
