"""The whole comparison as plain data: its shape is a contract, its figures those of the runs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from compared_runs import Did, lines, write
from syrupy.assertion import SnapshotAssertion

from auto_research.comparison.table import checked_lines, compared

RIGHT, WRONG = Did(), Did(False)
SHAPE = [
    "benchmark",
    "benchmark_hash",
    "split",
    "agent",
    "seeds",
    "train_seeds",
    "train_scenarios",
    "episodes_per_run",
    "budget",
    "baseline",
    "comparisons",
    "difference_level",
    "distinct",
    "methods",
    "warnings",
]
METHOD = [
    "method",
    "runs",
    "seeds",
    "episodes",
    "scenarios",
    "errors",
    "joint",
    "sgc",
    "cost",
    "total_cost",
    "steps",
    "tokens",
    "units",
    "difference",
    "pareto",
    "same_as",
]
DIFFERENCE = ["pairs", "joint", "cost", "total_cost", "gained", "lost", "p", "p_holm"]


def table(paths: list[Path], *, baseline: str = "react", unmatched: bool = False) -> dict[str, Any]:
    runs = [run for line in lines(paths) for run in line.runs]
    found, warnings = checked_lines(runs, unmatched=unmatched)
    return dict(compared(found, baseline, warnings))


def by_method(told: dict[str, Any]) -> dict[str, Any]:
    return {method["method"]: method for method in told["methods"]}


@pytest.fixture
def four(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """react, a trained method that beats it, its twin that pays for probes, and one that errs."""
    monkeypatch.chdir(tmp_path)
    here = Path()
    skilled = Did(ranked=("aa",), called=("aa",), units=20)
    paths = []
    for seed in (1, 2):
        streams = {
            "sage": ([skilled] * 8 + [WRONG], {"trained": [200] * 3}),
            "react": ([RIGHT] * 2 + [WRONG] * 7, {}),
            "gso": ([skilled] * 8 + [WRONG], {"trained": [200] * 3, "probed": [40] * seed}),
            "broken": (
                [RIGHT] * 2 + [WRONG] + [Did(None, error="gone", units=100, answer=None)] * 6,
                {},
            ),
        }
        paths += [write(here, n, did, seed=seed, **more) for n, (did, more) in streams.items()]
    return paths


def test_the_shape_is_a_contract(four: list[Path], snapshot: SnapshotAssertion) -> None:
    told = table(four)
    assert list(told) == SHAPE
    for method in told["methods"]:
        assert list(method) == METHOD
        assert list(method["units"]) == ["training", "probes", "test"]
        if method["difference"]:
            assert list(method["difference"]) == DIFFERENCE
    assert json.loads(json.dumps(told, allow_nan=False)) == told
    assert json.dumps(told, indent=1) == snapshot


def test_methods_that_cannot_be_told_apart_are_named_and_counted_once(four: list[Path]) -> None:
    told = table(four)
    assert told["distinct"] == 3
    same = {name: method["same_as"] for name, method in by_method(told).items()}
    assert same == {"sage": ["gso"], "react": [], "gso": ["sage"], "broken": []}


def test_errors_are_shown_and_count_as_failures(four: list[Path]) -> None:
    broken = by_method(table(four))["broken"]
    assert (broken["episodes"], broken["errors"]) == (18, 12)
    assert broken["joint"]["value"] == pytest.approx(4 / 18, abs=1e-6)


def test_every_p_is_held_against_the_number_of_comparisons(four: list[Path]) -> None:
    told = table(four)
    found = [m["difference"] for m in told["methods"] if m["difference"]]
    assert told["comparisons"] == len(found) == 3
    assert told["difference_level"] == pytest.approx(1 - 0.05 / 3, abs=1e-6)
    smallest = min(found, key=lambda d: d["p"])
    assert smallest["p_holm"] == pytest.approx(3 * smallest["p"])
    assert all(d["p"] <= d["p_holm"] <= 1 for d in found)
    assert by_method(told)["react"]["difference"] is None


def test_more_comparisons_make_wider_intervals(tmp_path: Path) -> None:
    did = [RIGHT, WRONG, RIGHT] * 8
    other = [WRONG, RIGHT, RIGHT] * 4 + [RIGHT, WRONG, WRONG] * 4
    paths = [write(tmp_path, "react", did), write(tmp_path, "sage", other)]
    alone = by_method(table(paths))["sage"]["difference"]["joint"]
    more = [write(tmp_path, f"m{n}", did) for n in range(9)]
    among = by_method(table([*paths, *more]))["sage"]["difference"]["joint"]
    assert among["value"] == alone["value"]
    assert among["low"] < alone["low"] < alone["high"] < among["high"]


def test_the_cheaper_of_two_equals_is_alone_on_the_front(four: list[Path]) -> None:
    methods = by_method(table(four))
    assert methods["sage"]["joint"] == methods["gso"]["joint"]
    assert [name for name, m in methods.items() if m["pareto"]] == ["sage", "react"]


def test_an_agent_that_reads_answers_never_stands_on_the_front(tmp_path: Path) -> None:
    paths = [write(tmp_path, "react", [WRONG]), write(tmp_path, "oracle", [Did(units=1)])]
    honest = by_method(table(paths))
    assert honest["oracle"]["pareto"] and not honest["react"]["pareto"]
    flagged = [paths[0], write(tmp_path / "b", "oracle", [Did(units=1)], flags=["expert"])]
    told = table(flagged, unmatched=True)
    assert [m["pareto"] for m in told["methods"]] == [True, False]
    assert any("reads the answers" in warning for warning in told["warnings"])


def test_unmatched_runs_are_not_paired(tmp_path: Path) -> None:
    paths = [
        write(tmp_path, "react", [WRONG]),
        write(tmp_path, "sage", [RIGHT], split="validation"),
    ]
    told = table(paths, unmatched=True)
    assert by_method(told)["sage"]["difference"] is None
    assert len(told["warnings"]) == 1


def test_a_method_against_itself_differs_in_nothing(tmp_path: Path) -> None:
    did = [RIGHT, WRONG, RIGHT]
    told = table([write(tmp_path, "react", did), write(tmp_path, "twin", did)])
    twin = by_method(told)["twin"]
    zero = {"value": 0, "low": 0, "high": 0}
    assert [twin["difference"][key] for key in ("joint", "cost", "total_cost")] == [zero] * 3
    assert (twin["difference"]["p"], told["distinct"]) == (1, 1)
