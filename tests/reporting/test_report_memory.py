"""A report of a long run must not need the run in memory."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import example_run

LIMIT = 200 * 2**20
MEASURE = """
import sys
from pathlib import Path
from auto_research.reporting.html import write_report
write_report(Path(sys.argv[1]))
status = Path("/proc/self/status").read_text()
print(int(status.split("VmHWM:")[1].split()[0]) * 1024)
"""


def test_a_run_of_20000_episodes_is_reported_within_200_mb(tmp_path: Path) -> None:
    run = example_run.write_long_run(tmp_path / "run", episodes=20_001)
    rows = (run / "episodes.jsonl").stat().st_size
    assert rows > 50 * 10**6
    measured = subprocess.run(
        [sys.executable, "-c", MEASURE, str(run)], capture_output=True, text=True, check=True
    )
    assert int(measured.stdout) < LIMIT
    assert (run / "report.html").stat().st_size < rows
