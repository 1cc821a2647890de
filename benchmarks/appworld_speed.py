"""How fast worlds are: one worker, two workers, and AppWorld's own client in one process or two.

Run as ``python benchmarks/appworld_speed.py`` where AppWorld is set up. The same 36 reference
programs are run and judged each time, with a frozen library. The first quarter is left out of the
time, so that starting AppWorld is not measured. All take turns, several times, and their medians
are compared, since a machine that others use too is not always as fast. Two clients at once share
nothing, so they tell what two cores of this machine give at most.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from auto_research.benchmarks.appworld.home import Home, required

ROUNDS = 3
CLIENT = """
import os, sys, time
root, place, part, parts = sys.argv[1:]
os.symlink(os.path.join(root, "data"), os.path.join(place, "data"))
os.environ["APPWORLD_ROOT"] = place
from appworld import AppWorld
ended = []
with open(os.path.join(root, "data", "datasets", "test_normal.txt")) as file:
    tasks = file.read().split()[int(part) :: int(parts)]
for task in tasks:
    path = os.path.join(root, "data", "tasks", task, "ground_truth", "reference.py")
    with open(path) as file:
        program = file.read()
    with AppWorld(task_id=task, experiment_name="speed") as world:
        world.execute(program)
        assert world.evaluate().success
    ended.append(os.times().elapsed)  # the one clock that AppWorld does not stop
print("\\n".join(map(str, ended)), flush=True)
os._exit(0)
"""


def main() -> None:
    """Print seconds a task, and how much faster this harness is."""
    home = required()
    rounds = []
    for _ in range(ROUNDS):
        with tempfile.TemporaryDirectory() as name:
            place = Path(name)
            clients = _clients(home, place, 1), _clients(home, place, 2)
            rounds.append((*clients, _run(place, 1), _run(place, 2)))
    taken = [[round(seconds, 4) for seconds in column] for column in zip(*rounds, strict=True)]
    own, both, one, two = (statistics.median(column) for column in taken)
    names = ("AppWorld's own client", "two of them", "one worker", "two workers")
    ratios = {
        "two clients / client": round(own / both, 2),
        "two workers / one": round(one / two, 2),
        "two workers / client": round(own / two, 2),
    }
    told = {"seconds a task": dict(zip(names, taken, strict=True)), "times as fast": ratios}
    print(json.dumps(told, indent=2))


def _clients(home: Home, place: Path, count: int) -> float:
    """Seconds a task with so many clients at once, each with a part of the tasks."""
    begun = []
    for part in range(count):
        own = place / f"client-{part}-of-{count}"
        own.mkdir()
        argv = [str(home.python), "-c", CLIENT, str(home.mini), str(own), str(part), str(count)]
        told = subprocess.PIPE
        begun.append(subprocess.Popen(argv, env=dict(home.environment()), stdout=told, text=True))
    ended = [float(line) for client in begun for line in client.communicate()[0].split()]
    if any(client.returncode for client in begun):
        raise SystemExit("AppWorld's own client failed")
    return _a_task(ended)


def _run(place: Path, workers: int) -> float:
    code = "from auto_research.cli.main import main; main()"
    options = ["--benchmark", "appworld-mini", "--agent", "expert", "--method", "react"]
    options += ["--episodes", "36", "--seed", "7", "--workers", str(workers)]
    options += ["--frozen"]  # nothing is learned, so no worker need wait for what others learn
    argv = [sys.executable, "-c", code, "agent-eval", *options]
    subprocess.run(
        [*argv, "--out", str(place), "--name", f"w{workers}"], check=True, capture_output=True
    )
    kept = (place / f"w{workers}" / "worlds").glob("*.json")
    return _a_task([path.stat().st_mtime_ns / 1e9 for path in kept])


def _a_task(ended: list[float]) -> float:
    """Seconds a task from when each ended, without the first quarter."""
    late = sorted(ended)[len(ended) // 4 :]
    return (late[-1] - late[0]) / (len(late) - 1)


if __name__ == "__main__":
    main()
