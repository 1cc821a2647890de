"""`compare` as a user's shell sees it: one table over what is run or was, and its resumption."""

from __future__ import annotations

import csv
import io
import json
import shutil
import signal
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
import small_world
from compared_runs import change_metrics
from comparing import COMPARE, FOLDER, GIVEN, shell
from evaluating import library, prepared, rows
from shell import Started, result

RunCli = Callable[..., Any]  # the fixture of conftest.py: exit code, stdout, stderr


class StartedCompare(Started):
    """`compare` in a process group of its own."""

    command = COMPARE


@pytest.fixture
def over(cli: RunCli, tmp_path: Path) -> RunCli:
    """`over(run, run)`: `compare` over finished runs."""

    def run(*arguments: object) -> Any:
        given = ["--out", tmp_path / "page", *arguments]
        return cli("compare", *map(str, given), plugins=[small_world])

    return run


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An uninterrupted comparison, made in a process of its own."""
    folder = tmp_path_factory.mktemp("whole")
    ended = shell(*GIVEN, "--out", folder, "--json")
    assert ended.returncode == 0, ended.stderr
    (folder / "told.json").write_text(ended.stdout)
    return folder


def told(folder: Path) -> dict[str, Any]:
    content: dict[str, Any] = json.loads((folder / "told.json").read_text())
    return content


def figures(content: dict[str, Any]) -> dict[str, Any]:
    """All but the places where the runs lie."""
    methods = [{k: v for k, v in m.items() if k != "runs"} for m in content["methods"]]
    return {**content, "directory": "", "methods": methods}


def equal(one: Path, other: Path, seeds: Sequence[int] = (7, 8)) -> None:
    names = [f"{method}-{seed}" for method in ("sage", "react") for seed in seeds]
    for name in names:
        assert result(one / name) == result(other / name), name
        assert library(one / name) == library(other / name), name


def test_json_is_the_table_and_nothing_else(whole: Path) -> None:
    content = told(whole)
    assert content["directory"] == str(whole / FOLDER)
    assert [m["method"] for m in content["methods"]] == ["sage", "react"]
    assert (content["seeds"], content["baseline"], content["warnings"]) == ([7, 8], "react", [])
    sage = content["methods"][0]
    assert sage["runs"] == [str(whole / FOLDER / f"sage-{seed}") for seed in (7, 8)]
    assert sage["episodes"] == sage["difference"]["pairs"] == 12
    spent = sum(row["units"] for seed in (7, 8) for row in rows(whole / FOLDER / f"sage-{seed}"))
    assert sage["total_cost"]["value"] == pytest.approx(spent / 12 / small_world.UNITS, abs=1e-6)


def test_each_run_is_the_plain_run_to_the_byte(whole: Path, tmp_path: Path) -> None:
    for method in ("sage", "react"):
        for seed in (7, 8):
            name = f"{method}-{seed}"
            prepared(agent="telling", method=method, seed=seed).run(tmp_path / name)
    equal(whole / FOLDER, tmp_path)
    assert len(list((whole / FOLDER / "training").iterdir())) == 1
    assert {path.name for path in (whole / FOLDER / "sage-8").iterdir()} >= {"report.html"}


def test_neither_workers_nor_the_hash_seed_change_a_byte(whole: Path, tmp_path: Path) -> None:
    given = [*GIVEN, "--seeds", "7", "--out", tmp_path, "--workers", 2]
    ended = shell(*given, "--json", PYTHONHASHSEED="1")
    assert ended.returncode == 0, ended.stderr
    assert json.loads(ended.stdout)["distinct"] == 2
    equal(whole / FOLDER, tmp_path / FOLDER, seeds=[7])


def test_progress_and_the_page_go_to_stderr(compare: RunCli, tmp_path: Path) -> None:
    ended = compare("--seeds", 7)
    assert ended.code == 0
    assert ended.out.startswith("2 methods on small@1")
    page = tmp_path / FOLDER / "comparison.html"
    assert ended.err.splitlines() == ["[1/2] sage-7", "[2/2] react-7", f"page: {page}"]
    assert "\x1b" not in ended.out + ended.err
    assert "2 methods" in page.read_text()


def test_the_other_form_takes_finished_runs_and_says_the_same(
    over: RunCli, whole: Path, tmp_path: Path
) -> None:
    runs = [run for method in told(whole)["methods"] for run in method["runs"]]
    ended = over(*runs, "--json")
    assert ended.code == 0, ended.err
    assert figures(json.loads(ended.out)) == figures(told(whole))
    assert (tmp_path / "page" / "compare" / "comparison.html").exists()
    table = list(csv.DictReader(io.StringIO(over(*runs, "--csv").out)))
    assert [row["method"] for row in table] == ["sage", "react"]
    assert over(*runs, "--markdown").out.startswith("| method | joint |")


@pytest.mark.parametrize(
    "given",
    [
        ("--dry-run",),
        ("--seeds", "zzz"),
        ("--benchmark", "nope", "--exclude", "nope"),
        ("--agent", "search"),
        ("--episodes", 7, "--units", 9),
        ("--workers", 2),
        ("--model", "m"),
    ],
)
def test_an_option_that_makes_runs_is_refused_beside_finished_ones(
    over: RunCli, whole: Path, tmp_path: Path, given: tuple[object, ...]
) -> None:
    ended = over(*told(whole)["methods"][0]["runs"], *given)
    assert (ended.code, ended.out) == (2, "")
    [line] = ended.err.splitlines()
    names = ", ".join(str(word) for word in given if str(word).startswith("--"))
    assert line.startswith("error: finished runs are only shown, there is nothing to run")
    assert sorted(line.partition("(")[2].partition(")")[0].split(", ")) == sorted(names.split(", "))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("file", ["evolve.yaml", "run.yaml", "ablation.yaml", "dispatch.json"])
def test_a_directory_that_something_else_has_is_left_alone(
    compare: RunCli, over: RunCli, whole: Path, tmp_path: Path, file: str
) -> None:
    for folder in (tmp_path / "taken", tmp_path / "page" / "taken"):
        folder.mkdir(parents=True)
        (folder / file).touch()
    runs = [method["runs"][0] for method in told(whole)["methods"]]
    for ended in (
        compare("--name", "taken", "--resume"),
        compare("--name", "taken", "--resume", "--dry-run"),
        over(*runs, "--name", "taken", "--resume"),
    ):
        assert (ended.code, ended.out) == (2, "")
        [line] = ended.err.splitlines()
        assert "which a comparison must not write into" in line
    assert [path.name for path in tmp_path.rglob("*") if path.is_file()] == [file, file]


def test_resuming_runs_what_is_missing_and_keeps_the_rest(whole: Path, tmp_path: Path) -> None:
    shutil.copytree(whole / FOLDER, tmp_path / FOLDER)
    shutil.rmtree(tmp_path / FOLDER / "sage-8")
    kept = tmp_path / FOLDER / "sage-7" / "episodes.jsonl"
    before = kept.stat().st_mtime_ns
    ended = shell(*GIVEN, "--out", tmp_path, "--json", "--resume")
    assert ended.returncode == 0, ended.stderr
    assert figures(json.loads(ended.stdout)) == figures(told(whole))
    assert kept.stat().st_mtime_ns == before
    equal(whole / FOLDER, tmp_path / FOLDER)


@pytest.mark.parametrize("steps", [5, 60])
def test_a_killed_comparison_goes_on_to_the_same_bytes(
    tmp_path: Path, whole: Path, steps: int
) -> None:
    given = [*GIVEN, "--seeds", "7", "--out", tmp_path]
    run = StartedCompare(tmp_path, *given)
    assert run.steps(steps) == steps
    run.kill()
    assert run.ended().returncode == -signal.SIGKILL  # and no process is left
    ended = shell(*given, "--json", "--resume")
    assert ended.returncode == 0, ended.stderr
    equal(whole / FOLDER, tmp_path / FOLDER, seeds=[7])


def test_ctrl_c_keeps_what_is_finished_and_says_how_to_go_on(tmp_path: Path, whole: Path) -> None:
    given = [*GIVEN, "--seeds", "7", "--out", tmp_path]
    run = StartedCompare(tmp_path, *given)
    assert run.steps(30) == 30
    run.kill(signal.SIGINT)
    ended = run.ended()
    assert (ended.returncode, ended.stdout) == (130, "")
    last = ended.stderr.splitlines()[-1]
    assert last.startswith("stopped; finished runs and episodes are kept in ")
    assert "--resume" in last
    resumed = shell(*given, "--json", "--resume")
    assert resumed.returncode == 0, resumed.stderr
    equal(whole / FOLDER, tmp_path / FOLDER, seeds=[7])


def test_a_dry_run_prints_the_plan_and_runs_nothing(compare: RunCli, tmp_path: Path) -> None:
    ended = compare("--dry-run")
    assert ended.code == 0
    plan = json.loads(ended.out)
    sage, react = plan["methods"]
    assert plan["runs"] == 4
    assert sage["episodes"]["test"] == react["episodes"]["test"] == 12
    assert sage["episodes"]["training"] == len(rows_of_training(tmp_path, compare))
    assert react["episodes"]["training"] == 0
    assert sage["units_at_most"]["test"] == 12 * small_world.UNITS


def rows_of_training(folder: Path, compare: RunCli) -> list[dict[str, Any]]:
    assert list(folder.iterdir()) == []
    assert compare("--seeds", 7).code == 0
    return rows(folder / FOLDER / "sage-7", "training")


def test_a_method_may_be_a_file(compare: RunCli, tmp_path: Path) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text("name: mine\nretrieval: none\nupdate: none\nreward: outcome\nrollout: none\n")
    ended = compare("--methods", f"{file},sage", "--seeds", 7, "--json", "--baseline", "mine")
    assert ended.code == 0, ended.err
    content = json.loads(ended.out)
    assert [m["method"] for m in content["methods"]] == ["mine", "sage"]
    assert content["baseline"] == "mine"


def test_a_resumed_comparison_under_another_config_is_refused(
    over: RunCli, cli: RunCli, whole: Path
) -> None:
    changed = [*GIVEN, "--out", str(whole), "--resume", "--episodes", "5", "--units", "99"]
    ended = cli("compare", *changed, plugins=[small_world])
    assert ended.code == 2
    line = ended.err.splitlines()[-1]
    assert "episodes: 6 -> 5" in line and "budget.units: 400 -> 99" in line


def test_runs_that_differ_are_refused_by_name_and_shown_only_with_a_warning(
    over: RunCli, whole: Path, tmp_path: Path
) -> None:
    other = tmp_path / "other"
    prepared(agent="telling", method="react", seed=7, units=99).run(other)
    runs = whole / FOLDER / "sage-7", other
    refused = over(*runs)
    assert (refused.code, refused.out) == (2, "")
    [line] = refused.err.splitlines()
    assert f"budget.units differs: 400 in {runs[0]}, 99 in {runs[1]}" in line
    shown = over(*runs, "--unmatched", "--json")
    assert shown.code == 0
    assert "warning: not matched" in shown.err
    assert len(json.loads(shown.out)["warnings"]) == 1
    for form in ("--csv", "--markdown", "--unmatched"):
        assert "budget.units differs" in " ".join(over(*runs, "--unmatched", form).out.split())


def test_an_unfinished_run_is_named(over: RunCli, whole: Path, tmp_path: Path) -> None:
    half = tmp_path / "half"
    shutil.copytree(whole / FOLDER / "react-7", half)
    (half / "metrics.json").unlink()
    ended = over(whole / FOLDER / "sage-7", half)
    assert ended.code == 2
    assert f"unfinished: {half} (6 of 6 test episodes)" in ended.err


@pytest.mark.parametrize("value", [True, "0.99", float("nan")])
def test_a_figure_that_is_no_number_never_wins(
    over: RunCli, whole: Path, tmp_path: Path, value: Any
) -> None:
    bad = tmp_path / "bad"
    shutil.copytree(whole / FOLDER / "react-7", bad)
    change_metrics(bad, lambda metrics: metrics["metrics"]["joint_success"].update(value=value))
    ended = over(whole / FOLDER / "sage-7", bad)
    assert (ended.code, ended.out) == (2, "")
    [line] = ended.err.splitlines()
    assert str(bad / "metrics.json") in line
