"""`ablate` as a user's shell sees it: arms trained for real, one table, a page, resumption."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from auto_research.agent_research.run import RunDir
from auto_research.errors import UserError
from auto_research.training.ablation_jobs import carry_out, open_jobs
from tests.training.ablation_cases import CONFIG, arm, planned, toy, write
from tests.training.local_cases import untrained

RunCli = Callable[..., Any]  # the fixture of conftest.py: exit code, stdout, stderr
FOLDER = "ablate-toy"


def given(folder: Path, start: Path, *, failing: bool = False) -> list[str]:
    """The command's arguments for the toy, all of whose arms begin from `start`."""
    more = {"lost": arm("sage", config={"start": "nowhere"})} if failing else {}
    files = write(folder, toy(**more), {**CONFIG, "start": str(start)})
    return [*files, "--out", str(folder)]


@pytest.fixture(scope="module")
def start(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return untrained(tmp_path_factory.mktemp("start") / "checkpoint")


@pytest.fixture(scope="module")
def whole(start: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Any]:
    """An ablation in which one arm fails, made in a process of its own."""
    folder = tmp_path_factory.mktemp("whole")
    command = [sys.executable, "-c", "from auto_research.cli.main import main; main()", "ablate"]
    ended = subprocess.run(
        [*command, *given(folder, start, failing=True), "--json"], capture_output=True, text=True
    )
    return folder, ended


def test_json_is_the_table_and_nothing_else(whole: tuple[Path, Any]) -> None:
    folder, ended = whole
    told = json.loads(ended.stdout)
    assert told["directory"] == str(folder / FOLDER)
    assert [a["arm"] for a in told["arms"]] == ["sft", "grpo", "sage", "off", "lost"]
    assert told["budget"] == {"rollouts": 8, "optimizer_steps": 2, "max_tokens": 880}
    assert told["before_rl"] == ["sft"]
    sage = told["arms"][2]
    assert sage["runs"] == ["sage-seed0", "sage-seed1"]
    rows = [
        row
        for name in sage["runs"]
        for row in RunDir.open(folder / FOLDER / name).rows()
        if row.phase == "test"
    ]
    assert sage["figures"]["tokens"]["value"] == pytest.approx(
        sum(row.generated for row in rows) / 12, abs=1e-6
    )
    acted = sum(row.units_by_kind.get("act", 0) for row in rows)
    assert sage["figures"]["actions"]["value"] == pytest.approx(acted / 12, abs=1e-6)


def test_differences_are_the_reference_less_the_arm(whole: tuple[Path, Any]) -> None:
    told = json.loads(whole[1].stdout)
    by_name = {a["arm"]: a for a in told["arms"]}
    grpo, sage = by_name["grpo"], by_name["sage"]
    for name, found in grpo["difference"].items():
        less = sage["figures"][name]["value"] - grpo["figures"][name]["value"]
        assert found["value"] == pytest.approx(less, abs=2e-6)
    assert grpo["paired_seeds"] == [0, 1]
    assert sage["difference"] is None
    after, without = grpo["paper"]
    assert after["difference"] == {"tgc": None, "sgc": 0.095, "steps": None, "tokens": 191}
    assert after["agreement"]["tgc"] == "paper has no figure"
    assert without["difference"]["tokens"] == 1475 - 3613


def test_an_arm_that_fails_is_told_and_the_others_go_on(whole: tuple[Path, Any]) -> None:
    _, ended = whole
    assert ended.returncode == 1
    told = json.loads(ended.stdout)
    lost = told["arms"][-1]
    assert lost["figures"] is lost["difference"] is None
    assert list(lost["failed"]) == ["lost-seed0", "lost-seed1"]
    assert "nowhere" in lost["failed"]["lost-seed0"]
    assert all(len(a["seeds"]) == 2 for a in told["arms"][:-1])
    assert "lost-seed0 FAILED: " in ended.stderr
    assert "2 runs failed; the same command with --resume" in ended.stderr


def test_the_page_has_the_curves_of_what_trained(whole: tuple[Path, Any]) -> None:
    folder, ended = whole
    told = json.loads(ended.stdout)
    assert told["curves"].keys() == {"grpo", "sage"}
    points = told["curves"]["sage"]["R1"]
    assert [at for at, *_ in points] == [1]
    assert all(least <= mean <= most for _, mean, least, most in points)
    assert "validation/sgc" in told["curves"]["grpo"]
    page = (folder / FOLDER / "ablation.html").read_text()
    assert "curve-R1" in page and "lost-seed1" in page


def test_a_test_alone_is_the_ordinary_test_of_the_trained_model(whole: tuple[Path, Any]) -> None:
    run = whole[0] / FOLDER / "off-seed1"
    metrics = json.loads((run / "metrics.json").read_text())
    assert metrics["spending"]["units"]["training"] == 0
    assert metrics["metrics"]["episodes"] == 6
    assert not (run / "model").exists()


def test_resuming_keeps_what_is_finished(whole: tuple[Path, Any], start: Path, cli: RunCli) -> None:
    folder, ended = whole
    kept = [folder / FOLDER / n / "metrics.json" for n in ("sage-seed0", "off-seed0")]
    before = [path.stat().st_mtime_ns for path in kept]
    again = cli(
        "ablate", *given(folder, start, failing=True), "--json", "--resume", "--arms", "sage,off"
    )
    assert again.code == 0
    assert [path.stat().st_mtime_ns for path in kept] == before
    told = json.loads(again.out)
    assert told["arms"] == json.loads(ended.stdout)["arms"][2:4]
    assert again.err.splitlines()[-1] == f"page: {folder / FOLDER / 'ablation.html'}"


def test_the_table_says_what_was_measured(
    whole: tuple[Path, Any], start: Path, cli: RunCli
) -> None:
    arguments = given(whole[0], start, failing=True)
    ended = cli("ablate", *arguments, "--resume", "--arms", "sft,grpo,sage,off")
    lines = ended.out.splitlines()
    assert lines[0].startswith("A toy (nobody): workshop-hid")
    for told in (
        "TGC 0.692, SGC 0.518",
        "taught by the first stage: before any RL (sft)",
        "8 rollouts",
    ):
        assert told in ended.out


def test_ctrl_c_says_how_to_go_on(tmp_path: Path, start: Path) -> None:
    command = [sys.executable, "-c", "from auto_research.cli.main import main; main()", "ablate"]
    process = subprocess.Popen(
        [*command, *given(tmp_path, start), "--arms", "sage"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert process.stderr is not None
    assert process.stderr.readline() == "[1/2] sage-seed0\n"
    process.send_signal(signal.SIGINT)
    _, err = process.communicate()
    assert process.returncode == 130
    assert f"kept in {tmp_path / FOLDER}: the same command with --resume" in err
    assert "Traceback" not in err


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        (["--arms", "sagr"], "did you mean 'sage'?"),
        (["--preset", "quik"], "did you mean 'quick'?"),
        (["--paper", "sags"], "did you mean 'sage'?"),
        (["--seeds", "2..1"], "runs backwards"),
        (["--workers", "0"], "--workers"),
        (["--resume"], "there is no run 'ablate-toy' to resume"),
    ],
)
def test_what_is_wrong_is_one_line(
    tmp_path: Path, start: Path, cli: RunCli, changes: list[str], told: str
) -> None:
    ended = cli("ablate", *given(tmp_path, start), *changes)
    assert (ended.code, ended.out) == (2, "")
    assert told in ended.err and ended.err.count("\n") == 1
    assert not (tmp_path / FOLDER).exists()


def test_a_dry_run_tells_the_budget_of_each_arm_and_writes_nothing(
    tmp_path: Path, start: Path, cli: RunCli
) -> None:
    ended = cli("ablate", *given(tmp_path, start), "--dry-run", "--json")
    arms = json.loads(ended.out)["arms"]
    told = {n: (a["rollouts"], a["optimizer_steps"], a["max_tokens"]) for n, a in arms.items()}
    assert told == {"sft": (0, 0, 0), "grpo": (8, 2, 880), "sage": (8, 2, 880), "off": (0, 0, 0)}
    assert cli("ablate", *given(tmp_path, start), "--dry-run").out.startswith("toy on workshop-hid")
    assert not (tmp_path / FOLDER).exists()


def test_a_training_is_what_train_does(
    whole: tuple[Path, Any], start: Path, tmp_path: Path
) -> None:
    """Done here and now, it leaves the same bytes as in its own process."""
    config = {**CONFIG, "start": str(start)}
    (job,) = open_jobs(planned(tmp_path, toy(), arms=["sage"], seeds=[1], config=config))
    carry_out(job, lambda progress: None)
    for name in ("episodes.jsonl", "metrics.json", "training.jsonl", "model/config.json"):
        there = whole[0] / FOLDER / "sage-seed1" / name
        assert (tmp_path / "sage-seed1" / name).read_bytes() == there.read_bytes(), name


def test_runs_of_different_tests_are_not_compared(
    whole: tuple[Path, Any], start: Path, tmp_path: Path
) -> None:
    from auto_research.training.ablation_table import ablated

    config = {**CONFIG, "start": str(start)}
    plan = planned(tmp_path, toy(), arms=["sage", "grpo"], seeds=[0], config=config)
    for name in ("sage-seed0", "grpo-seed0"):
        (tmp_path / name).symlink_to(whole[0] / FOLDER / name)
    assert ablated(plan, "quick", {})["warnings"] == [
        "one seed: no interval over trainings, so nothing is established"
    ]
    (tmp_path / "grpo-seed0").unlink()
    (tmp_path / "grpo-seed0" / "model").mkdir(parents=True)
    for name in ("run.yaml", "metrics.json", "model/config.json"):
        (tmp_path / "grpo-seed0" / name).write_bytes(
            (whole[0] / FOLDER / "grpo-seed0" / name).read_bytes()
        )
    rows = (whole[0] / FOLDER / "grpo-seed0" / "episodes.jsonl").read_bytes().splitlines(True)
    (tmp_path / "grpo-seed0" / "episodes.jsonl").write_bytes(b"".join(rows[:-3]))
    with pytest.raises(UserError, match="different scenarios"):
        ablated(plan, "quick", {})
