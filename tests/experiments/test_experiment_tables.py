"""The script behind docs/results.md: its tables keep their shape, its evaluations train once."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from compared_runs import Did, write

FOLDER = Path(__file__).parents[2] / "experiments"


@pytest.fixture(scope="module")
def tables() -> Iterator[ModuleType]:
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(FOLDER)  # worker processes find it there too
        yield importlib.import_module("tables")


def group(tables: ModuleType, title: str, seeds: range) -> Any:
    jobs = {str(s): tables.job(f"{title}-{s}", title, seed=s) for s in seeds}
    return tables.Group(title, jobs)


def test_a_table_has_a_row_a_method_and_differences_to_the_base(
    tables: ModuleType, tmp_path: Path
) -> None:
    for seed in (101, 102, 103):
        write(tmp_path, "sage", [Did(units=20)] * 3, seed=seed, trained=[90])
        write(tmp_path, "react", [Did(), Did(False), Did()], seed=seed)
    groups = [group(tables, name, range(101, 111)) for name in ("sage", "react", "absent")]
    told = tables.table(tmp_path, "controls", "Controls", "A note.", groups, groups[0])
    assert (told["id"], told["columns"]) == ("controls", tables.COLUMNS)
    sage, react = told["rows"]
    assert sage[:2] == ["sage", "101-103"]
    assert (sage[2]["value"], sage[3]["value"], sage[4:]) == (1.0, 0.2, [0.5, None, None])
    assert react[4] == 0.5
    assert [cell["value"] for cell in react[5:]] == [pytest.approx(0.3333), -0.3]


def test_the_claim_tells_each_seed_and_all_of_them(tables: ModuleType, tmp_path: Path) -> None:
    for seed in (101, 102):
        write(tmp_path, "sage", [Did(seed == 101)] * 3, seed=seed)
    told = tables.claim(tmp_path, group(tables, "sage", range(101, 111)))
    assert [(row[0], row[1]["value"]) for row in told["rows"]] == [
        ("101", 1.0),
        ("102", 0.0),
        ("all", 0.5),
    ]


def test_evaluations_that_share_a_training_are_run_one_after_the_other(
    tables: ModuleType,
) -> None:
    claim, headline = tables.method_group("sage").jobs, tables.headline_job()
    full, chain1 = (
        tables.ablation_group(name, tables.ABLATIONS[name]).jobs["0"]
        for name in ("full", "chain length 1")
    )
    assert {one.training() for one in (*claim.values(), headline, full)} == {headline.training()}
    others = [
        chain1,
        *tables.left_out_group("sage").jobs.values(),
        *tables.real_group("sage").jobs.values(),
    ]
    assert len({one.training() for one in (headline, *others)}) == 7


def test_evaluations_are_carried_out_once_from_one_training(
    tables: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AUTO_RESEARCH_PLUGINS", "small_world")  # for the worker process
    options = {"benchmark": "small", "episodes": 3, "train_scenarios": 2}
    jobs = [tables.job(f"sage-{seed}", "sage", seed=seed, **options) for seed in (7, 8)]
    tables.run_all(jobs, tmp_path, 1)
    assert all(tables.finished(tmp_path, one) for one in jobs)
    assert len(list((tmp_path / "training").iterdir())) == 1
    before = (tmp_path / "sage-7" / "metrics.json").stat().st_mtime_ns
    tables.run_all(jobs, tmp_path, 1)
    assert (tmp_path / "sage-7" / "metrics.json").stat().st_mtime_ns == before
