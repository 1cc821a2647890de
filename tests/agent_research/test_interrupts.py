"""Ctrl-C: which processes hear of it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = """
import multiprocessing, signal, sys
from auto_research.agent_research.interrupts import deaf_processes

def tell(line):
    line.send(signal.SIGINT in signal.pthread_sigmask(signal.SIG_BLOCK, []))

if __name__ == "__main__":
    context = multiprocessing.get_context(sys.argv[1])
    here, there = context.Pipe()
    for _ in range(2):
        process = context.Process(target=tell, args=(there,))
        with deaf_processes():
            process.start()
        print(here.recv())
        process.join()
    print(signal.SIGINT in signal.pthread_sigmask(signal.SIG_BLOCK, []))
"""


@pytest.mark.parametrize("way", ["spawn", "forkserver"])
def test_the_first_process_is_as_deaf_to_interrupts_as_the_next(tmp_path: Path, way: str) -> None:
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    ended = subprocess.run([sys.executable, str(script), way], capture_output=True, text=True)
    assert ended.stdout.split() == ["True", "True", "False"], ended.stderr
