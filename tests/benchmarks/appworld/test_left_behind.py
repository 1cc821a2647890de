"""What many worlds, and runs that are killed, leave behind: no memory, no process, no folder."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from appworld_cases import gone, processes, resident

from auto_research.benchmarks.appworld.benchmark import AppWorldBenchmark
from auto_research.benchmarks.appworld.home import Home
from auto_research.benchmarks.appworld.scratch import PREFIX, Scratch
from auto_research.benchmarks.base import Submission


@pytest.mark.slow
@pytest.mark.appworld
@pytest.mark.parametrize("rounds", [2, 26])
def test_many_worlds_take_no_more_memory_than_few_and_leave_no_process(
    home: Home, tmp_path: Path, rounds: int
) -> None:
    root = tmp_path / "root"  # a name that no other process has in its command line
    root.symlink_to(home.mini)
    many = AppWorldBenchmark("appworld-mini", root)
    tasks = [task for s in many.scenarios("validation", 7) for task in s.tasks]
    judge = many.evaluator("validation", 7)
    sizes: list[dict[int, int]] = []
    for _ in range(rounds):
        for task in tasks:
            opened = many.environment(task)
            opened.execute("apis.supervisor.show_profile()")
            done = Submission(payload=opened.submission())
            opened.close()
            assert not judge.verdict(judge.submit(task.id, done)).success
        sizes.append({pid: resident(pid) for pid in [*processes(str(root)), os.getpid()]})
    first, middle, last = sizes[0], sizes[rounds // 2], sizes[-1]
    print("KiB after one round of worlds, after half of them, and after all:", first, middle, last)
    assert len(first) == 3 and list(last) == list(first)  # worlds' server, judge, this process
    assert all(last[pid] < middle[pid] + 2048 for pid in first)
    assert all(last[pid] < first[pid] + 16384 for pid in first)  # the judge's caches fill slowly
    judge.close()
    assert processes(str(root)) == []


KILLED = """
import os, signal, sys, threading
from pathlib import Path
from auto_research.benchmarks.appworld.benchmark import AppWorldBenchmark
from auto_research.benchmarks.base import Submission
benchmark = AppWorldBenchmark("appworld-mini", Path(sys.argv[1]))
tasks = benchmark.scenarios("validation", 7)[0].tasks
judge = benchmark.evaluator("validation", 7)
worlds = [benchmark.environment(task) for task in tasks]
judge.submit(tasks[0].id, Submission(payload=worlds[0].submission()))
busy = threading.Thread(target=worlds[1].execute, args=("while True: pass",))
busy.start()
print(len(worlds), flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.slow
@pytest.mark.appworld
def test_nothing_outlives_the_process_that_opened_the_worlds(
    home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root, place = tmp_path / "root", tmp_path / "tmp"
    root.symlink_to(home.mini)
    place.mkdir()
    monkeypatch.setenv("TMPDIR", str(place))
    done = subprocess.run(
        [sys.executable, "-c", KILLED, str(root)], stdout=subprocess.PIPE, check=False
    )
    assert (done.returncode, done.stdout) == (-signal.SIGKILL, b"3\n")
    assert gone(str(root))
    (left,) = place.iterdir()
    assert left.name.startswith(PREFIX)
    next_one = "from auto_research.benchmarks.appworld.scratch import Scratch; Scratch()"
    subprocess.run([sys.executable, "-c", next_one], check=True)
    assert list(place.iterdir()) == []


HOLDING = """
import sys
from auto_research.benchmarks.appworld.scratch import Scratch
scratch = Scratch()
(scratch.path / "full").mkdir()
print(scratch.path, flush=True)
sys.stdin.read()
"""


def test_a_folder_is_left_alone_as_long_as_its_process_lives(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    other = tmp_path / "of-somebody-else"
    other.mkdir()
    argv, piped = [sys.executable, "-c", HOLDING], subprocess.PIPE
    variables = {**os.environ, "TMPDIR": str(tmp_path)}
    with subprocess.Popen(argv, stdin=piped, stdout=piped, env=variables) as holding:
        assert holding.stdout is not None
        held = Path(holding.stdout.readline().decode().strip())
        with Scratch() as mine:
            assert set(tmp_path.iterdir()) == {held, mine, other}
        holding.kill()
    assert set(tmp_path.iterdir()) == {held, other}
    with Scratch() as mine:
        assert set(tmp_path.iterdir()) == {mine, other}
    assert list(tmp_path.iterdir()) == [other]


def test_a_folder_goes_with_the_process_and_what_forgets_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    scratch = Scratch()
    assert scratch.path.is_dir()
    del scratch
    assert list(tmp_path.iterdir()) == []
