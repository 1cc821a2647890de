"""A figure that is no number, or at odds with the rest, is one clear error and never wins."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from compared_runs import Did, change_metrics, change_row, write

from auto_research.agent_research.method import content_hash
from auto_research.comparison.runs import read_run, read_runs
from auto_research.errors import UserError

NAN, INFINITY = float("nan"), float("inf")


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return write(tmp_path, "sage", [Did(), Did(False), Did(units=40)], trained=[10, 20])


def put(*keys: Any) -> Callable[[dict[str, Any]], None]:
    """A change that puts the last of `keys` where the others lead."""
    *path, last, value = keys

    def change(data: dict[str, Any]) -> None:
        for key in path:
            data = data[key]
        data[last] = value

    return change


def test_a_run_is_read_as_it_was_written(run: Path) -> None:
    record = read_run(run)
    assert [o.success for o in record.outcomes] == [True, False, True]
    assert [o.cost for o in record.outcomes] == [0.5, 0.5, 0.4]
    assert record.units == {"training": 30, "probes": 0, "test": 140}
    assert (record.method, record.seeds, record.full_cost) == ("sage", (1, 0), 100)


@pytest.mark.parametrize("key", ["cost", "units", "steps", "tokens"])
@pytest.mark.parametrize("value", [True, False, "0.1", "0", NAN, INFINITY, -1, None, [1]])
def test_a_row_with_a_figure_that_is_none_is_refused(run: Path, key: str, value: Any) -> None:
    change_row(run, put(key, value))
    with pytest.raises(UserError, match=r"row 5\)?.*|no number") as told:
        read_run(run)
    assert "\n" not in str(told.value)
    assert "episodes.jsonl" in str(told.value)


@pytest.mark.parametrize("value", ["true", 1, 1.0, "yes", NAN])
def test_a_verdict_that_is_none_is_refused(run: Path, value: Any) -> None:
    change_row(run, put("success", value))
    with pytest.raises(UserError, match=r"success is|no number"):
        read_run(run)


@pytest.mark.parametrize("value", [True, "0.9", NAN, INFINITY, None])
@pytest.mark.parametrize(
    "keys",
    [
        ("metrics", "joint_success", "value"),
        ("metrics", "average_cost", "low"),
        ("metrics", "sgc", "high"),
        ("spending", "units", "training"),
    ],
)
def test_metrics_that_are_no_numbers_are_refused(run: Path, keys: Any, value: Any) -> None:
    change_metrics(run, put(*keys, value))
    with pytest.raises(UserError, match=r"not a|no number") as told:
        read_run(run)
    assert "metrics.json" in str(told.value)


@pytest.mark.parametrize(
    ("keys", "told"),
    [
        (("metrics", "joint_success", "value", 1.0), "joint_success is 1.0, the episodes give 0.6"),
        (("metrics", "average_cost", "value", 0.0), "average_cost is 0.0, the episodes give 0.46"),
        (("spending", "units", "training", 3), "units of training are 3, its episodes spent 30"),
        (("metrics", "joint_success", {}), "value is None"),
        (("metrics", {}), "joint_success is None"),
        (("metrics", 3), "no metrics of a run"),
        (("spending", None), "no metrics of a run"),
        (("flags", "expert"), "no metrics of a run"),
    ],
)
def test_metrics_that_say_other_than_the_episodes_are_refused(
    run: Path, keys: Any, told: str
) -> None:
    change_metrics(run, put(*keys))
    with pytest.raises(UserError, match=told):
        read_run(run)


def test_a_cost_that_the_units_do_not_make_is_refused(run: Path) -> None:
    change_row(run, put("cost", 0.01))
    with pytest.raises(UserError, match=r"cost is 0.01, 40 units of 100 make another"):
        read_run(run)


def test_an_episode_left_out_of_the_denominator_is_missed(run: Path) -> None:
    file = run / "episodes.jsonl"
    lines = file.read_text().splitlines(keepends=True)
    file.write_text("".join(line for line in lines if '"success":false' not in line))
    with pytest.raises(UserError, match="2 test episodes where 3 were asked for"):
        read_run(run)


def test_errors_and_missing_verdicts_count_as_failures(tmp_path: Path) -> None:
    did = [Did()] * 2 + [Did(False)] * 4 + [Did(None, error="gone"), Did(None)]
    outcomes = read_run(write(tmp_path, "sage", did)).outcomes
    assert sum(o.success for o in outcomes) / len(outcomes) == 0.25
    assert sum(o.errored for o in outcomes) == 2


def test_every_unfinished_run_is_named_with_how_far_it_came(tmp_path: Path) -> None:
    paths = [
        write(tmp_path, "done", [Did()]),
        write(tmp_path, "half", [Did(), Did()], finished=False),
        write(tmp_path, "begun", [Did()], finished=False),
    ]
    with pytest.raises(UserError) as told:
        read_runs(paths)
    for name in ("half-1 (1 of 2 test episodes)", "begun-1 (0 of 1 test episodes)"):
        assert name in str(told.value)
    assert "done" not in str(told.value)


@pytest.mark.parametrize(
    "change",
    [
        put("seed", True),
        put("seed", "1"),
        put("budget", "units_per_episode", 0),
        put("budget", None),
        put("method", {}),
        put("method", "name", 3),
        put("agent", None),
        put("split", ["test"]),
    ],
)
def test_a_broken_configuration_is_refused(run: Path, change: Any) -> None:
    file = run / "run.yaml"
    config = yaml.safe_load(file.read_text())
    change(config)
    file.write_text(yaml.safe_dump(config))
    with pytest.raises(UserError, match=r"run\.yaml"):
        read_run(run)


def test_where_there_is_no_run_the_error_says_so(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no run is there"):
        read_runs([tmp_path])


def edit(run: Path, change: Callable[[dict[str, Any]], None]) -> None:
    """Change run.yaml behind the harness's back."""
    config = yaml.safe_load((run / "run.yaml").read_text())
    change(config)
    (run / "run.yaml").write_text(yaml.safe_dump(config))


def test_a_row_that_another_was_replaced_by_is_missed(run: Path) -> None:
    file = run / "episodes.jsonl"
    lines = file.read_text().splitlines(keepends=True)
    file.write_text("".join([*lines[:3], lines[2], lines[4]]))
    change_metrics(run, put("metrics", "joint_success", "value", 1.0))
    with pytest.raises(UserError, match="the task 't0' was tested 2 times"):
        read_run(run)


@pytest.mark.parametrize(
    ("keys", "told"),
    [
        (("units_by_kind", {"act": 39}), "units are 40, units_by_kind make 39"),
        (("units_by_kind", {"act": "40"}), "act is '40', not a whole number"),
        (("checks", {"plan_success": False}), "success is true, and plan_success false"),
        (("error", "boom"), "success is true, and it broke off: boom"),
        (("steps", 3), "steps is 2.0, the episodes give 2.3"),
        (("tokens", 3), "tokens is 0.0, the episodes give 1.0"),
        (("phase", ["test"]), r"phase is \['test'\]"),
        (("phase", {}), "phase is {}"),
        (("task", 3), "scenario or task is no text"),
        (("plan", [[[]]]), "the row cannot be read"),
    ],
)
def test_a_row_at_odds_with_itself_is_refused(run: Path, keys: Any, told: str) -> None:
    change_row(run, put(*keys))
    with pytest.raises(UserError, match=told):
        read_run(run)


def test_units_by_kind_of_the_whole_run_must_make_up_its_units(run: Path) -> None:
    change_metrics(run, put("spending", "units", "training", 31))
    with pytest.raises(UserError, match="units of training are 31, units_by_kind make 30"):
        read_run(run)


def test_a_mean_that_lies_between_two_roundings_agrees_with_both(tmp_path: Path) -> None:
    run = write(tmp_path, "sage", [Did(units=33)] * 3)
    change_metrics(run, put("metrics", "average_cost", "value", 0.330001))
    assert read_run(run).outcomes
    change_metrics(run, put("metrics", "average_cost", "value", 0.330002))
    with pytest.raises(UserError, match="average_cost is"):
        read_run(run)


def test_a_method_must_be_the_one_that_its_hash_names(run: Path) -> None:
    def named(config: dict[str, Any]) -> None:
        config["method_hash"] = content_hash(config["method"])

    edit(run, named)
    assert read_run(run).method == "sage"
    edit(run, put("method", "retrieval", "use", "all"))
    with pytest.raises(UserError, match="method_hash is not that of the method sage"):
        read_run(run)


def test_the_agent_that_reads_answers_needs_no_flag_to_be_known(run: Path) -> None:
    assert read_run(run).flags == ()
    edit(run, put("agent", "expert"))
    assert read_run(run).flags == ("expert",)


@pytest.mark.parametrize("name", ["a\x1b]0;pwn\x07", "a\nb", "a|b", "", "a" * 101, "../a"])
def test_a_method_without_a_proper_name_is_refused(run: Path, name: str) -> None:
    edit(run, put("method", "name", name))
    with pytest.raises(UserError, match="is no name of a method") as told:
        read_run(run)
    assert told.value.line().isprintable()


@pytest.mark.parametrize("key", ["benchmark", "benchmark_hash", "agent", "version", "code_hash"])
def test_a_name_that_a_terminal_would_obey_is_refused(run: Path, key: str) -> None:
    edit(run, put(key, "x\x1b[2J"))
    with pytest.raises(UserError, match="is no name") as told:
        read_run(run)
    assert told.value.line().isprintable()


def test_a_flag_that_a_terminal_would_obey_is_refused(run: Path) -> None:
    change_metrics(run, put("flags", ["\x1b[2J"]))
    with pytest.raises(UserError, match="flags are no list of names"):
        read_run(run)


@pytest.mark.parametrize("text", ["1" + "0" * 400, "9" * 5001, "1e999", "[" * 9000 + "]" * 9000])
@pytest.mark.parametrize("key", ["steps", "tokens", "cost", "units", "reward", "another"])
def test_a_row_that_no_reader_can_hold_is_one_line(run: Path, key: str, text: str) -> None:
    change_row(run, put(key, "HERE"))
    file = run / "episodes.jsonl"
    file.write_text(file.read_text().replace('"HERE"', text))
    with pytest.raises(UserError, match=r"cannot be read: .*row 5"):
        read_run(run)


@pytest.mark.parametrize("text", ["1" + "0" * 400, "9" * 5001, "1e999", "[" * 9000 + "]" * 9000])
def test_metrics_that_no_reader_can_hold_are_one_line(run: Path, text: str) -> None:
    change_metrics(run, put("metrics", "average_cost", "training", "HERE"))
    file = run / "metrics.json"
    file.write_text(file.read_text().replace('"HERE"', text))
    with pytest.raises(UserError, match=r"cannot be read: .*metrics\.json"):
        read_run(run)


def test_a_folder_in_the_place_of_the_rows_is_one_line(run: Path) -> None:
    (run / "episodes.jsonl").unlink()
    (run / "episodes.jsonl").mkdir()
    with pytest.raises(UserError, match=r"the rows cannot be read: Is a directory"):
        read_run(run)


@pytest.mark.parametrize("text", ["[]", "3", "{", "null"])
def test_a_row_that_is_no_object_is_refused(run: Path, text: str) -> None:
    with (run / "episodes.jsonl").open("a") as file:
        file.write(text + "\n")
    with pytest.raises(UserError, match="row 6"):
        read_run(run)
