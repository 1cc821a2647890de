"""The headline command gives the committed metrics, byte for byte, on every machine."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

FIXED = Path(__file__).parent.parent / "fixtures" / "metrics" / "planbench-mini-seed42.json"
COMMAND = "agent-eval --method sage --benchmark planbench-mini --episodes 120 --seed 42"


def test_the_headline_command_reproduces_the_committed_metrics(tmp_path: Path) -> None:
    program = Path(sys.executable).parent / "auto-research"
    subprocess.run(
        [program, *COMMAND.split(), "--out", tmp_path, "--name", "headline"],
        check=True,
        capture_output=True,
        timeout=280,
    )
    assert (tmp_path / "headline" / "metrics.json").read_bytes() == FIXED.read_bytes()
