"""A run's directory keeps every committed row once, whatever kills the process."""

from __future__ import annotations

import json
import os
import runpy
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from auto_research.agent_research.metrics import compute_metrics
from auto_research.agent_research.operators import Use
from auto_research.agent_research.rows import ChangeRow, ChoiceRow, EpisodeRow, TranscriptLine
from auto_research.agent_research.run import RunDir
from auto_research.errors import UserError

CONFIG = {"method": {"name": "sage", "retrieval": {"top_k": 3}}, "seed": 7, "tiny": 1e-6}

# Commits rows in groups of three and tells after each commit how many stand; the last group is
# cut off in mid-line, as a kill in the middle of a write leaves it.
WRITER = """
import os, sys
from pathlib import Path
from auto_research.agent_research.rows import EpisodeRow
from auto_research.agent_research.run import RunDir

def row(i):
    return EpisodeRow(f"test-{i:04}", "test", i, f"s{i // 3}", f"t{i}", i % 3, "go",
                      True, True, 10 + i, 0.5, units_by_kind={"act": 10 + i})

def commit(run, first, last):
    for start in range(first, last, 3):
        run.append([row(i) for i in range(start, start + 3)])

if __name__ == "__main__":
    run = RunDir.create(Path(sys.argv[1]), {"seed": 7})
    commit(run, 0, 9)
    with open(run.episodes_path, "ab") as torn:
        torn.write(row(9).line() + row(10).line()[:40])
    print("torn", flush=True)
    sys.stdin.read()
"""


def row(index: int, **changes: Any) -> EpisodeRow:
    base = EpisodeRow(
        episode=f"test-{index:04}",
        phase="test",
        index=index,
        scenario=f"s{index // 3}",
        task=f"t{index}",
        position=index % 3,
        instruction="stack b on a",
        success=True,
        own_check=True,
        units=10,
        cost=0.1,
    )
    return replace(base, **changes)


FULL = row(
    4,
    group=2,
    sibling=1,
    success=None,
    checks={"plan_success": True, "answer_accuracy": False},
    units_by_kind={"act": 4, "expand": 6},
    choice=ChoiceRow(("a1", "b2"), (0.75, 0.25)),
    uses=(Use("a1", called=True, helped=False, sound=False, detail="line 3: \u2028 oops"),),
    written=("c3",),
    changes=(ChangeRow("revise", "c3", ("a1",), ("test-0003",), "failed"),),
    reward=-1.0,
    advantage=0.5,
    plan=(("stack", "b", "a"),),
    answer="ja, grün",
    error="evaluator died",
    transcript=(TranscriptLine("plan", "two\nlines"),),
)


def test_a_row_comes_back_as_it_went(tmp_path: Path) -> None:
    with RunDir.create(tmp_path / "run", CONFIG) as run:
        run.append([FULL, row(5)])
        assert list(run.rows()) == [FULL, row(5)]


def test_equal_rows_are_equal_bytes_whatever_order_their_parts_came_in() -> None:
    one = row(1, units_by_kind={"act": 1, "rule": 2})
    other = row(1, units_by_kind={"rule": 2, "act": 1})
    assert one.line() == other.line()
    assert one.line().count(b"\n") == 1


def test_half_a_surrogate_pair_does_not_end_the_run(tmp_path: Path) -> None:
    with RunDir.create(tmp_path / "run", CONFIG) as run:
        run.append([row(1, answer="x\ud800y")])
        assert [kept.answer for kept in run.rows()] == ["x?y"]


def test_a_nan_never_reaches_the_file(tmp_path: Path) -> None:
    with RunDir.create(tmp_path / "run", CONFIG) as run:
        with pytest.raises(ValueError):
            run.append([row(1), row(2, reward=float("nan"))])
        assert run.row_count() == 0


def test_rows_committed_before_a_kill_stand_once_and_totals_equal_an_unbroken_run(
    tmp_path: Path,
) -> None:
    script = tmp_path / "writer.py"
    script.write_text(WRITER)
    child = subprocess.Popen(
        [sys.executable, script, tmp_path / "killed"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert child.stdout is not None
    assert child.stdout.readline() == b"torn\n"
    child.send_signal(signal.SIGKILL)
    child.communicate()

    # Ten whole rows survived; the runner's last checkpoint is the group that ended at nine.
    commit = runpy.run_path(str(script))["commit"]
    with RunDir.open(tmp_path / "killed", write=True) as resumed:
        assert resumed.row_count() == 10
        assert resumed.truncate_rows(9) == 9
        commit(resumed, 9, 15)
    with RunDir.create(tmp_path / "unbroken", {"seed": 7}) as unbroken:
        commit(unbroken, 0, 15)

    assert resumed.episodes_path.read_bytes() == unbroken.episodes_path.read_bytes()
    totals = compute_metrics(resumed.rows()).to_bytes()
    assert totals == compute_metrics(unbroken.rows()).to_bytes()


@pytest.mark.parametrize("cut", [1, 40, 400])
def test_a_torn_last_line_is_never_glued_to_the_next_row(tmp_path: Path, cut: int) -> None:
    with RunDir.create(tmp_path / "run", CONFIG) as run:
        run.append([row(0), row(1)])
    size = run.episodes_path.stat().st_size
    os.truncate(run.episodes_path, size - min(cut, len(row(1).line()) - 1))

    assert list(RunDir.open(tmp_path / "run").rows()) == [row(0)]
    with RunDir.open(tmp_path / "run", write=True) as resumed:
        resumed.append([row(1)])
        assert list(resumed.rows()) == [row(0), row(1)]


def test_reading_a_run_changes_nothing_in_it(tmp_path: Path) -> None:
    with RunDir.create(tmp_path / "run", CONFIG) as run:
        run.append([row(0)])
    with open(run.episodes_path, "ab") as torn:
        torn.write(b'{"half')
    before = run.episodes_path.read_bytes()
    reader = RunDir.open(tmp_path / "run")
    assert list(reader.rows()) == [row(0)]
    assert reader.episodes_path.read_bytes() == before
    with pytest.raises(RuntimeError, match="not open for writing"):
        reader.append([row(1)])


@pytest.mark.parametrize(("keep", "left"), [(0, 0), (2, 2), (9, 3)])
def test_truncating_keeps_the_first_rows(tmp_path: Path, keep: int, left: int) -> None:
    with RunDir.create(tmp_path / "run", CONFIG) as run:
        run.append([row(0), row(1), row(2)])
        assert run.truncate_rows(keep) == left
        assert [kept.index for kept in run.rows()] == list(range(left))


def test_a_damaged_row_is_named_not_skipped(tmp_path: Path) -> None:
    with RunDir.create(tmp_path / "run", CONFIG) as run:
        run.append([row(0), row(1)])
        first, second = run.episodes_path.read_bytes().splitlines(keepends=True)
        run.episodes_path.write_bytes(first + second.replace(b'"units":10', b'"units":"many"'))
        with pytest.raises(UserError, match=r"row 2 cannot be read: units: .*episodes\.jsonl"):
            list(run.rows())


def test_resume_under_the_same_config_is_allowed(tmp_path: Path) -> None:
    RunDir.create(tmp_path / "run", CONFIG).close()
    run = RunDir.open(tmp_path / "run", write=True)
    run.check_config(CONFIG)
    run.close()


def test_resume_under_another_config_names_every_differing_key(tmp_path: Path) -> None:
    RunDir.create(tmp_path / "run", CONFIG).close()
    new = {"method": {"name": "sage", "retrieval": {"top_k": 5}}, "seed": "7", "limit": 30}
    with pytest.raises(UserError) as refused:
        RunDir.open(tmp_path / "run").check_config(new)
    message = str(refused.value)
    assert "limit: absent -> 30" in message
    assert "method.retrieval.top_k: 3 -> 5" in message
    assert 'seed: 7 -> "7"' in message
    assert "tiny: 1e-06 -> absent" in message
    assert "method.name" not in message


def test_values_that_yaml_likes_to_bend_come_back_straight(tmp_path: Path) -> None:
    config = {"a": "on", "b": "1e-6", "c": "12:30:00", "d": "010", "e": None, "f": ["x", 1.5]}
    RunDir.create(tmp_path / "run", config).close()
    assert RunDir.open(tmp_path / "run").config == config


def test_a_run_is_not_overwritten(tmp_path: Path) -> None:
    RunDir.create(tmp_path / "run", CONFIG).close()
    with pytest.raises(UserError, match="--resume"):
        RunDir.create(tmp_path / "run", CONFIG)
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.tex").touch()
    with pytest.raises(UserError, match="not empty"):
        RunDir.create(tmp_path / "mine", CONFIG)


def test_what_is_not_a_run_is_refused_in_one_line(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no run is there"):
        RunDir.open(tmp_path)
    (tmp_path / "run.yaml").write_text("a: [1")
    with pytest.raises(UserError, match=r"not valid YAML.*run\.yaml"):
        RunDir.open(tmp_path)
    with pytest.raises(UserError, match="cannot make the run's directory"):
        RunDir.create(tmp_path / "run.yaml", CONFIG)


def test_two_processes_cannot_write_one_run(tmp_path: Path) -> None:
    run = RunDir.create(tmp_path / "run", CONFIG)
    code = (
        "import sys; from pathlib import Path\n"
        "from auto_research.agent_research.run import RunDir\n"
        "from auto_research.errors import UserError\n"
        "try: RunDir.open(Path(sys.argv[1]), write=True)\n"
        "except UserError as error: print(error.what)\n"
        "else: print('opened')\n"
    )

    def second_writer() -> str:
        command = [sys.executable, "-c", code, str(tmp_path / "run")]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()

    assert second_writer() == "run is in use by another process"
    run.close()
    assert second_writer() == "opened"


def test_a_forked_worker_that_outlives_its_parent_does_not_lock_the_run(tmp_path: Path) -> None:
    code = (
        "import os, sys; from pathlib import Path\n"
        "from auto_research.agent_research.run import RunDir\n"
        "run = RunDir.create(Path(sys.argv[1]), {})\n"
        "if os.fork() == 0:\n"
        "    print('worker', flush=True); sys.stdin.read(); os._exit(0)\n"
        "os.waitpid(-1, 0)\n"
    )
    parent = subprocess.Popen(
        [sys.executable, "-c", code, tmp_path / "run"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert parent.stdout is not None and parent.stdin is not None
    assert parent.stdout.readline() == b"worker\n"
    parent.kill()
    parent.wait()
    RunDir.open(tmp_path / "run", write=True).close()
    parent.stdin.close()
    parent.stdout.close()


def test_attempts_and_clocks_are_kept_apart_from_the_rows(tmp_path: Path) -> None:
    with RunDir.create(tmp_path / "run", CONFIG) as run:
        run.append_attempts([{"episode": "test-0001", "units": 5, "why": "worker died"}])
        run.append_timing([{"episode": "test-0001", "seconds": 0.5}])
        assert list(run.attempts()) == [{"episode": "test-0001", "units": 5, "why": "worker died"}]
        assert run.row_count() == 0
        assert json.loads(run.timing_path.read_text())["seconds"] == 0.5


@pytest.mark.skipif(sys.platform != "linux", reason="reads peak memory from /proc")
def test_a_run_of_20_000_rows_is_read_within_200_megabytes(tmp_path: Path) -> None:
    with RunDir.create(tmp_path / "run", CONFIG) as run:
        for start in range(0, 20_000, 1_000):
            run.append(
                row(i, transcript=(TranscriptLine("search", "state " * 1_000),))
                for i in range(start, start + 1_000)
            )
    code = (
        "import re, sys; from pathlib import Path\n"
        "from auto_research.agent_research.metrics import compute_metrics\n"
        "from auto_research.agent_research.run import RunDir\n"
        "metrics = compute_metrics(RunDir.open(Path(sys.argv[1])).rows())\n"
        "peak = re.search(r'VmHWM:\\s*(\\d+) kB', Path('/proc/self/status').read_text())[1]\n"
        "print(metrics.metrics['episodes'], int(peak) // 1024)\n"
    )
    command = [sys.executable, "-c", code, str(tmp_path / "run")]
    output = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    episodes, megabytes = map(int, output.split())
    assert episodes == 20_000
    assert megabytes < 200


BOMB = "a: &a [x]\n" + "".join(f"k{n}: &k{n} [*a, *a]\n" for n in range(3))


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("zz: " + "9" * 5001, "not valid YAML"),
        ("zz: 99999999999999999999", "too large a number"),
        ("zz: .nan", "no finite number"),
        ("zz: " + "[" * 3000, "more than 50 levels deep"),
        ("zz: !!binary aGVq", "tags"),
        ("zz: !!python/name:os.system", "tags"),
        (BOMB, "aliases"),
        ("1: 2", "is not text"),
        ("# " + "x" * 1_000_000, "longer than 1,000,000 bytes"),
        ("\0", "not valid YAML"),
    ],
)
def test_a_config_that_no_run_wrote_is_one_clear_line(tmp_path: Path, text: str, told: str) -> None:
    (tmp_path / "run.yaml").write_text(text)
    with pytest.raises(UserError, match=told) as error:
        RunDir.open(tmp_path)
    assert "run.yaml" in str(error.value)


def test_what_looks_like_a_date_is_text(tmp_path: Path) -> None:
    (tmp_path / "run.yaml").write_text("zz: 2020-13-45\nexclude: [2020-01-01]\n")
    assert RunDir.open(tmp_path).config == {"zz": "2020-13-45", "exclude": ["2020-01-01"]}


def test_texts_that_yaml_reads_in_several_ways_come_back_as_they_were(tmp_path: Path) -> None:
    texts = ["12e5", "08", "0o17", "1_000", "on", "1:30", "<<", "=", "2020-01-01", "~", "1e-6"]
    config = {"code_hash": "1234567890123e45", "texts": texts, "numbers": [1e-06, 2**63, -1, 0.5]}
    RunDir.create(tmp_path / "run", config).close()
    with RunDir.open(tmp_path / "run") as run:
        assert run.config == config


def test_rows_that_are_a_folder_are_one_clear_line(tmp_path: Path) -> None:
    RunDir.create(tmp_path / "run", {}).close()
    (tmp_path / "run" / "episodes.jsonl").unlink()
    (tmp_path / "run" / "episodes.jsonl").mkdir()
    with RunDir.open(tmp_path / "run") as run, pytest.raises(UserError, match="cannot be read"):
        list(run.rows())
