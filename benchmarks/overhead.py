"""What the harness itself costs an episode, beside what Inspect AI costs a sample; `make bench`.

Both sides run with an agent and a judge that do nothing, each evaluation in a fresh process and
on the same disk, in turns, so that a busy machine slows both. The medians are compared.
"""

from __future__ import annotations

import argparse
import json
import resource
import statistics
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
TARGET = 4.0  # times below Inspect AI


@dataclass(frozen=True, slots=True)
class Measured:
    """One evaluation; all in milliseconds an episode. `cpu` is of the whole process tree."""

    wall: float
    report: float
    cpu: float


def main() -> int:
    """Measure and print; 1 if the target was missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--episodes", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--method", default="react", help="a method that needs no training")
    parser.add_argument("--inspect-python", default=sys.executable, help="one with inspect-ai")
    parser.add_argument("--scratch", type=Path, help="where to write, for the time being")
    asked = parser.parse_args()
    ours: list[Measured] = []
    peers: list[Measured] = []
    for number in range(asked.rounds):
        with tempfile.TemporaryDirectory(dir=asked.scratch) as scratch:
            run, logs = str(Path(scratch, "run")), str(Path(scratch, "logs"))
            command = [sys.executable, str(HERE / "noop_ours.py"), run]
            ours.append(_measured([*command, str(asked.episodes), asked.method], asked.episodes))
            command = [asked.inspect_python, str(HERE / "noop_inspect.py"), logs]
            peers.append(_measured([*command, str(asked.episodes)], asked.episodes))
        print(f"round {number + 1}: ours {_told(ours[-1])}; Inspect AI {_told(peers[-1])}")
    return _conclusion(ours, peers, asked.episodes)


def _measured(command: list[str], episodes: int) -> Measured:
    """Run one side. Raises CalledProcessError, RuntimeError if an episode was not judged."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    told: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    if told["passed"] != episodes:
        raise RuntimeError(f"{told['passed']} of {episodes} episodes passed: {command}")
    each = 1000 / episodes
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Measured(told["seconds"] * each, told.get("report_seconds", 0.0) * each, cpu * each)


def _told(measured: Measured) -> str:
    return f"{measured.wall:.2f} ms (CPU {measured.cpu:.2f})"


def _conclusion(ours: list[Measured], peers: list[Measured], episodes: int) -> int:
    """The medians in words."""
    wall = statistics.median(m.wall for m in ours)
    full = statistics.median(m.wall + m.report for m in ours)
    peer = statistics.median(m.wall for m in peers)
    cpu = statistics.median(m.cpu for m in ours)
    peer_cpu = statistics.median(m.cpu for m in peers)
    print(f"\nmedian of {len(ours)} evaluations of {episodes} episodes, ms an episode")
    print(f"  auto-research, rows, library, journal, metrics  {wall:8.2f}")
    print(f"  the same and the HTML report                    {full:8.2f}")
    print(f"  Inspect AI, its default log                     {peer:8.2f}")
    print(f"  CPU with start and imports: ours {cpu:.2f}, Inspect AI {peer_cpu:.2f}")
    ratio = peer / wall
    print(
        f"Inspect AI / auto-research: {ratio:.1f} x (target {TARGET:g} x); "
        f"with the report {peer / full:.1f} x; in CPU {peer_cpu / cpu:.1f} x"
    )
    return 0 if ratio >= TARGET else 1


if __name__ == "__main__":
    sys.exit(main())
