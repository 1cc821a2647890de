"""The report as text: what it says of finished, unfinished and broken runs, and that it repeats."""

from __future__ import annotations

import base64
import json
import os
import re
import shutil
import subprocess
import sys
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import example_run
import pytest
from syrupy.assertion import SnapshotAssertion
from typer import Typer
from typer.testing import CliRunner

from auto_research.agent_research.run import RunDir
from auto_research.cli.report import report
from auto_research.errors import UserError
from auto_research.reporting.html import build_report, write_report

PACKED = re.compile(r'(<script type="text/plain" (?:id="index"|class="block")>)([^<]*)')


def page_of(run: Path) -> str:
    return write_report(run).read_text(encoding="utf-8")


def unpacked(page: str) -> list[Any]:
    return [json.loads(zlib.decompress(base64.b64decode(m[2]))) for m in PACKED.finditer(page)]


def visible(page: str) -> str:
    """The words of a page, without its script, style and packed rows."""
    body = re.sub(r"<(script|style)\b.*?</\1>", "", page, flags=re.S)
    return " ".join(re.sub(r"<[^>]*>", " ", body).split())


def test_the_page_of_a_run_stays_as_it_is(finished: Path, snapshot: SnapshotAssertion) -> None:
    # What deflate packs rows into depends on the zlib at hand, so the rows are compared unpacked.
    page = PACKED.sub(r"\1", page_of(finished))
    without_assets = re.sub(r"(<style>|<script>).*?(</style>|</script>)", r"\1\2", page, flags=re.S)
    assert re.sub(r"sha256-[^']*", "sha256", without_assets) == snapshot


def test_the_same_run_gives_the_same_bytes_under_any_hash_seed(finished: Path) -> None:
    code = (
        "import sys; from pathlib import Path;"
        "from auto_research.reporting.html import write_report;"
        "sys.stdout.buffer.write(write_report(Path(sys.argv[1])).read_bytes())"
    )
    pages = [
        subprocess.run(
            [sys.executable, "-c", code, str(finished)],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            check=True,
        ).stdout
        for seed in ("0", "1", "2")
    ]
    assert pages[0] and pages[0] == pages[1] == pages[2]


def test_every_episode_is_packed_whole_and_listed_in_stream_order(finished: Path) -> None:
    index, *blocks = unpacked(page_of(finished))
    with RunDir.open(finished) as run:
        rows = [row.to_json() for row in run.rows()]
    assert [row for block in blocks for row in block] == rows
    assert [entry[0] for entry in index] == [row["episode"] for row in rows]


def test_the_page_names_nothing_outside_itself(finished: Path) -> None:
    page = page_of(finished)
    assert not re.findall(r"https?:|//[a-z]|@import|url\(|src=|<link", PACKED.sub("", page))
    assert "default-src 'none'" in page


def test_the_header_says_what_was_run_and_how_the_figures_were_got(finished: Path) -> None:
    words = visible(page_of(finished))
    for said in (
        "sage on planbench-mini@1",
        "Budget an episode 400 units",
        "Train seed 0",
        "Training took 192 episodes in 24 groups, and probes 6 more.",
        "The test ran 120 episodes in 40 scenarios, judged by a sealed evaluator.",
        "Errors count as failures; 1 test episode ended in one.",
    ):
        assert said in words


def test_an_unfinished_run_says_so_and_shows_means_without_intervals(unfinished: Path) -> None:
    words = visible(page_of(unfinished))
    assert "Unfinished: 60 of 120 test episodes so far." in words
    assert "Joint success 0.8" in words
    assert "clustered by scenario" not in words


@pytest.mark.parametrize(
    ("more", "warning"),
    [
        ({"flags": ["safety-net"]}, "A wall-clock safety net fired"),
        ({"flags": {"test_feedback_verdict": True, "expert": False}}, "saw the sealed verdict"),
        ({"agent": "expert"}, "The expert agent read the reference answers"),
        ({"flags": ["seed 42 was run twice"]}, "seed 42 was run twice"),
    ],
)
def test_every_reason_to_doubt_the_figures_is_told(more: dict[str, Any], warning: str) -> None:
    page = build_report(example_run.config(**more), {"metrics": {}}, [], [], [])
    assert warning in visible(page)
    assert visible(page).count(" Note ") == 1


def test_a_run_that_has_only_begun_is_reported(tmp_path: Path) -> None:
    RunDir.create(tmp_path / "run", example_run.config()).close()
    words = visible(page_of(tmp_path / "run"))
    assert "Unfinished: 0 of 120" in words
    assert "The library is empty." in words


def test_a_torn_last_row_is_left_out(tmp_path: Path) -> None:
    run = example_run.write_run(tmp_path / "run", finished=False)
    with open(run / "episodes.jsonl", "ab") as file:
        file.write(b'{"episode": "test-00')
    assert len(unpacked(page_of(run))[0]) == 258


def test_half_a_surrogate_pair_does_not_stop_the_report() -> None:
    page = build_report(example_run.config(note="\ud83d"), {}, [], [], [])
    assert page.encode("utf-8", "replace")


def test_nothing_a_run_wrote_is_markup(hostile: Path) -> None:
    page = PACKED.sub("", page_of(hostile))
    assert page.count("<script") == 1  # the report's own
    assert "<img" not in page
    assert "&lt;img src=x onerror=alert(2)&gt;" in page


def test_the_command_prints_the_path_and_names_a_directory_that_is_no_run(
    finished: Path, tmp_path: Path
) -> None:
    app = Typer()
    app.command()(report)
    done = CliRunner().invoke(app, [str(finished)])
    assert done.output == f"{finished / 'report.html'}\n"
    refused = CliRunner().invoke(app, [str(tmp_path)])
    assert isinstance(refused.exception, UserError)
    assert str(tmp_path) in refused.exception.line()


def test_broken_metrics_are_one_clear_line(tmp_path: Path) -> None:
    run = example_run.write_run(tmp_path / "run", finished=False)
    (run / "metrics.json").write_text("{")
    with pytest.raises(UserError, match=r"metrics\.json"):
        write_report(run)


def rewritten(run: Path, change: Callable[[dict[str, Any]], None]) -> None:
    """Change metrics.json behind the harness's back."""
    content = json.loads((run / "metrics.json").read_text())
    change(content)
    (run / "metrics.json").write_text(json.dumps(content))


@pytest.mark.parametrize(
    ("more", "told"),
    [
        ({"metrics": {"joint_success": 5}}, "metrics.joint_success"),
        ({"metrics": {"joint_success": {"value": "0.9"}}}, "joint_success.value: Input should be"),
        ({"metrics": {"joint_success": {"value": True}}}, "metrics.joint_success.value"),
        ({"metrics": [1]}, "no metrics: metrics"),
        ({"spending": [1]}, "no metrics: spending"),
        (
            {"spending": {"units_by_kind": {"test": {"act": "1"}}}},
            "spending.units_by_kind.test.act",
        ),
        ({"spending": {"units_by_kind": None}}, "spending.units_by_kind"),
        ({"spending": {"tokens": {"test": []}}}, "spending.tokens.test"),
        ({"telemetry": None}, "telemetry"),
        ({"telemetry": {"by_phase": {"test": 3}}}, "telemetry.by_phase.test"),
        ({"metrics": {"steps": {"value": 10**400}}}, "cannot be read"),
        ({"metrics": {"steps": {"value": float("nan")}}}, "cannot be read"),
    ],
)
def test_metrics_of_another_shape_are_one_clear_line(
    finished: Path, tmp_path: Path, more: dict[str, Any], told: str
) -> None:
    run = shutil.copytree(finished, tmp_path / "run")
    rewritten(run, lambda content: content.update(more))
    with pytest.raises(UserError, match=told) as error:
        write_report(run)
    assert "metrics.json" in str(error.value)


@pytest.mark.parametrize("key", ["method", "budget"])
def test_a_config_without_what_the_page_tells_is_one_clear_line(tmp_path: Path, key: str) -> None:
    config = {name: value for name, value in example_run.config().items() if name != key}
    RunDir.create(tmp_path / "run", config).close()
    with pytest.raises(UserError, match=f"no configuration of a run: {key}.*run.yaml"):
        write_report(tmp_path / "run")


@pytest.mark.parametrize("name", ["report.html", "episodes.jsonl"])
def test_a_folder_in_the_place_of_a_file_is_one_clear_line(tmp_path: Path, name: str) -> None:
    run = tmp_path / "run"
    RunDir.create(run, example_run.config()).close()
    (run / name).unlink(missing_ok=True)
    (run / name).mkdir()
    with pytest.raises(UserError, match=name):
        write_report(run)


@pytest.mark.parametrize("value", [10**400, 1e308, -1e308, 5e-324])
@pytest.mark.parametrize("key", ["reward", "cost", "steps", "group", "position"])
def test_a_row_with_an_outlandish_number_is_a_page_or_one_clear_line(
    finished: Path, tmp_path: Path, key: str, value: float
) -> None:
    run = shutil.copytree(finished, tmp_path / "run")
    rows = [json.loads(line) for line in (run / "episodes.jsonl").read_text().splitlines()]
    for row in rows[:4] + rows[-4:]:
        row[key] = value
    (run / "episodes.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    try:
        write_report(run)
    except UserError as error:
        assert "episodes.jsonl" in str(error)
