"""`evolve` as a user's shell sees it: its JSON, its files, its refusals, kills, and equal bytes."""

from __future__ import annotations

import json
import re
import resource
import shutil
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import shell
import small_world
from searching import COMMAND, DIRECTION, NAME, SIZES, broken, evolve, files, trials

RunCli = Callable[..., Any]  # the fixture of conftest.py: exit code, stdout, stderr
CONTRACT = [
    *("run_dir", "direction", "reading", "benchmark", "agent", "seed", "train_seed"),
    *("generations", "population", "searched", "space", "evaluations", "champions", "flags"),
    *("test", "claim", "verdict"),
]


class StartedSearch(shell.Started):
    command = COMMAND


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An uninterrupted search with one worker; its stdout and stderr stand beside it."""
    out = tmp_path_factory.mktemp("whole")
    ended = evolve(out, "--json", "--workers", 1, PYTHONHASHSEED="0")
    assert ended.returncode == 0, ended.stderr
    (out / "stdout").write_text(ended.stdout)
    (out / "stderr").write_text(ended.stderr)
    return out


def test_json_is_the_contract_and_nothing_else(whole: Path) -> None:
    told = json.loads((whole / "stdout").read_text())
    assert list(told) == CONTRACT
    assert told["run_dir"] == str(whole / NAME)
    assert told["benchmark"] == "small@1"
    assert told["searched"] == "nsga2"
    assert told["evaluations"]["evolution"] == told["evaluations"]["random"] == 4
    assert 4 <= told["evaluations"]["distinct"] <= 6
    assert set(told["champions"]) == {"champion", "random_champion"}
    assert set(told["test"]) == {"champion", "random_champion", "sage"}
    for run in told["test"].values():
        assert run["episodes"] == 6
        assert 0 <= run["joint_success"] <= 1 and run["total_cost"] > run["average_cost"] > 0
    for gap in ("champion_minus_sage", "random_champion_minus_sage"):
        for name in ("joint_success", "average_cost"):
            interval = told["claim"][gap][name]
            assert list(interval) == ["high", "low", "pairs", "value"]
            assert interval["low"] <= interval["value"] <= interval["high"]
            assert interval["pairs"] == 6
    assert told["verdict"]
    on_disk = json.loads((whole / NAME / "result.json").read_text())
    assert {"run_dir": told["run_dir"], **on_disk} == told


def test_the_reading_stands_before_the_search(whole: Path) -> None:
    lines = (whole / "stderr").read_text().splitlines()
    assert lines[0].startswith("searching: update in {sage.evolve, sage.save}, reward in {")
    assert lines[0].endswith("objectives: joint success up, total cost down")
    assert lines[1].startswith("space: ")
    assert lines[2].startswith("generation 0, evolution: best ")


def test_sage_comes_first_and_both_arms_are_charged_for_it(whole: Path) -> None:
    found = trials(whole)
    sage = json.loads((whole / "stdout").read_text())["test"]["sage"]["hash"]
    assert found[0]["hash"] == sage
    assert [t["arm"] for t in found if t["hash"] == sage] == ["evolution", "random"]
    assert [t["cached"] for t in found if t["hash"] == sage] == [False, True]
    assert [t["trial"] for t in found] == list(range(8))


def test_each_content_is_evaluated_once(whole: Path) -> None:
    found = trials(whole)
    evaluated = [t["hash"] for t in found if not t["cached"]]
    assert len(evaluated) == len(set(evaluated)) == len({t["hash"] for t in found})
    clocks = (whole / NAME / "timing.jsonl").read_text().splitlines()
    assert [json.loads(c)["hash"] for c in clocks if "hash" in json.loads(c)] == evaluated


def test_the_champion_has_the_most_success_then_the_least_cost(whole: Path) -> None:
    told = json.loads((whole / "stdout").read_text())["champions"]
    for side, arm in (("champion", "evolution"), ("random_champion", "random")):
        mine = [t for t in trials(whole) if t["arm"] == arm and t["status"] == "done"]
        best = min(mine, key=lambda t: (-t["joint"], t["cost"], t["hash"]))
        assert told[side]["hash"] == best["hash"]


def test_agent_eval_takes_the_champion(whole: Path, tmp_path: Path, cli: RunCli) -> None:
    stream = ["--benchmark", "small", "--split", "validation", "--seed", "7", "--episodes", "3"]
    ended = cli(
        *("agent-eval", "--method", str(whole / NAME / "champion.yaml"), *stream),
        *("--train-scenarios", "1", "--out", str(tmp_path), "--json"),
        plugins=[small_world],
    )
    assert ended.code == 0
    champion = json.loads((whole / "stdout").read_text())["champions"]["champion"]
    told = json.loads(ended.out)
    assert told["method"] == f"evolved-{champion['hash'][:8]}"
    # It is the very run of the trial.
    got = told["metrics"]["joint_success"]["value"]
    assert got == champion["validation"]["joint_success"]


def test_report_writes_the_page_of_a_search_again(whole: Path, tmp_path: Path, cli: RunCli) -> None:
    copy = tmp_path / "search"
    shutil.copytree(whole / NAME, copy)
    (copy / "report.html").unlink()
    code, out, _ = cli("report", str(copy))
    assert (code, out.strip()) == (0, str(copy / "report.html"))
    assert (copy / "report.html").read_bytes() == (whole / NAME / "report.html").read_bytes()


def test_an_agents_options_are_its_own(tmp_path: Path) -> None:
    done = evolve(tmp_path, "--agent-option", "model")
    assert (done.returncode, done.stdout) == (2, "")
    assert "NAME=VALUE" in done.stderr
    done = evolve(tmp_path, "--agent", "search", "--agent-option", "base-url=http://x")
    assert done.returncode == 2
    assert "--base-url" in done.stderr


def test_the_lineage_names_parents_and_sources(whole: Path) -> None:
    told = json.loads((whole / NAME / "lineage.json").read_text())
    genomes = {genome["hash"]: genome for genome in told["genomes"]}
    assert set(genomes) == {t["hash"] for t in trials(whole)}
    assert told["ancestors"][0] == told["champion"]
    for genome in genomes.values():
        for slot, filled in genome["slots"].items():
            assert filled["citation"]
            if filled["from"] in genome["parents"]:
                parent = genomes[filled["from"]]["slots"][slot]
                assert {**parent, "from": ""} == {**filled, "from": ""}


def test_run_directories_of_trials_do_not_stay(whole: Path) -> None:
    assert not (whole / NAME / "running").exists()
    assert len(list((whole / NAME / "test").iterdir())) <= 3


def test_workers_and_hash_order_change_no_byte(whole: Path, tmp_path: Path) -> None:
    ended = evolve(tmp_path, "--workers", 2, PYTHONHASHSEED="1")
    assert ended.returncode == 0, ended.stderr
    assert files(tmp_path) == files(whole)
    assert ended.stdout.splitlines()[0].startswith("searching: ")
    assert "sage" in ended.stdout


def stopped(
    tmp_path: Path, number: signal.Signals, steps: int, *arguments: object, group: bool
) -> subprocess.CompletedProcess[str]:
    """A search that gets a signal after so many steps; no process of it is left."""
    folder = tmp_path / f"steps-{steps}"
    folder.mkdir()
    given = [*SIZES, "--direction", DIRECTION, "--out", tmp_path, "--workers", 2, *arguments]
    run = StartedSearch(folder, *given)
    assert run.steps(steps) == steps
    run.kill(number, group=group)
    ended = run.ended()  # it would wait for a process that is left
    assert not (tmp_path / NAME / "result.json").exists()
    return ended


def test_an_interrupted_then_killed_search_goes_on_to_the_same_bytes_and_leaves_no_process(
    whole: Path, tmp_path: Path
) -> None:
    ended = stopped(tmp_path, signal.SIGINT, 60, group=True)
    assert ended.returncode == 130
    assert "finished trials are kept" in ended.stderr
    assert "--resume" in ended.stderr
    with open(tmp_path / NAME / "trials.jsonl", "ab") as log:
        log.write(b'{"trial": 99, "torn')
    ended = stopped(tmp_path, signal.SIGKILL, 61, "--resume", group=False)
    assert ended.returncode == -signal.SIGKILL
    resumed = evolve(tmp_path, "--resume")
    assert resumed.returncode == 0, resumed.stderr
    assert files(tmp_path) == files(whole)


@pytest.mark.slow
@pytest.mark.parametrize("steps", [2, 25, 90, 120, 150])  # at 1 there may be no search yet
def test_a_search_killed_at_any_moment_goes_on_to_the_same_bytes(
    whole: Path, tmp_path: Path, steps: int
) -> None:
    stopped(tmp_path, signal.SIGKILL, steps, group=True)
    resumed = evolve(tmp_path, "--resume")
    assert resumed.returncode == 0, resumed.stderr
    assert files(tmp_path) == files(whole)


def no_large_files() -> None:
    """As a full disk: no file may be larger than some skill library."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (60 * 1024, 60 * 1024))


def test_a_disk_that_is_full_fails_no_genome_and_the_search_goes_on_to_the_same_bytes(
    whole: Path, tmp_path: Path
) -> None:
    ended = evolve(tmp_path, at_start=no_large_files)
    assert ended.returncode == 2
    [line] = [text for text in ended.stderr.splitlines() if text.startswith("error")]
    assert "a worker cannot go on: the disk failed on the skill library" in line
    assert "--resume" in line
    assert "Traceback" not in ended.stderr
    assert trials(tmp_path) == []
    resumed = evolve(tmp_path, "--resume")
    assert resumed.returncode == 0, resumed.stderr
    assert files(tmp_path) == files(whole)


def test_a_model_server_that_is_gone_fails_no_genome_in_the_search_or_on_test(
    tmp_path: Path,
) -> None:
    agent = ("--agent", "served", "--generations", 1)
    for gone, lines in (("validation", 0), ("test", 4)):
        arguments = (*agent, *(["--resume"] if lines else []))
        ended = evolve(tmp_path / "gone", *arguments, BROKEN_SERVER=gone, **broken())
        assert ended.returncode == 2
        assert "a worker cannot go on: the model server gave no reply" in ended.stderr
        assert len(trials(tmp_path / "gone")) == lines
        assert not (tmp_path / "gone" / NAME / "result.json").exists()
    for out, resume in (("gone", ["--resume"]), ("calm", [])):
        ended = evolve(tmp_path / out, *agent, *resume, **broken())
        assert ended.returncode == 0, ended.stderr
    assert files(tmp_path / "gone") == files(tmp_path / "calm")


@pytest.fixture
def again(cli: RunCli, monkeypatch: pytest.MonkeyPatch) -> RunCli:
    """`evolve` once more, in this process; its workers find the plugin by themselves."""
    monkeypatch.setenv("AUTO_RESEARCH_PLUGINS", "small_world")

    def run(out: Path, *arguments: object) -> Any:
        given = [*SIZES, "--direction", DIRECTION, "--out", out, "--resume", *arguments]
        return cli("evolve", *map(str, given))

    return run


def test_a_finished_search_can_be_resumed_and_stays_as_it_is(whole: Path, again: RunCli) -> None:
    before = files(whole)
    ended = again(whole)
    assert ended.code == 0
    assert ended.out.splitlines()[0].startswith("searching: ")
    assert "Champion minus sage" in ended.out
    assert files(whole) == before


def test_a_changed_config_is_refused_by_name(whole: Path, again: RunCli) -> None:
    before = files(whole)
    ended = again(whole, "--population", 3, "--train-seed", 5, "--direction", "sage")
    assert ended.code == 2
    [line] = [text for text in ended.err.splitlines() if text.startswith("error")]
    assert "the search was started with another config: " in line
    for told in ("population: 2 -> 3", "train_seed: 0 -> 5", 'direction: "keep', "reading."):
        assert told in line
    assert files(whole) == before


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        (rb'"sage.evolve"', b'"sage.saved!"', "line 1 is no trial: its hash is not its method's"),
        (rb'"joint":[^,]+', b'"joint":0.123456', "line 1 is no trial: its joint success 0.123456"),
        (rb'"cost":[^,]+', b'"cost":0.0001', "line 1 is no trial: its cost 0.0001"),
        (rb'"flags":\[\]', b'"flags":["x"]', "is no trial: line 1 tells another outcome"),
        (rb'"parents":\[\]', b'"parents":["x"]', "line 1 is not of this search"),
        (rb'"episodes":"', b'"episodes":5,"was":"', "line 1 is no trial: episodes: "),
    ],
)
def test_a_trials_file_that_was_changed_is_refused(
    whole: Path, tmp_path: Path, again: RunCli, old: bytes, new: bytes, told: str
) -> None:
    (tmp_path / NAME).mkdir()
    for name in ("evolve.yaml", "trials.jsonl"):
        (tmp_path / NAME / name).write_bytes((whole / NAME / name).read_bytes())
    log = tmp_path / NAME / "trials.jsonl"
    log.write_bytes(re.sub(old, new, log.read_bytes(), count=1))
    ended = again(tmp_path)
    assert ended.code == 2
    [line] = [text for text in ended.err.splitlines() if text.startswith("error")]
    assert told in line
    assert str(log) in line
