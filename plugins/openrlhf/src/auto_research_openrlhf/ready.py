"""On the head node: wait until Ray has all its nodes and GPUs, or say which are missing."""

from __future__ import annotations

import argparse
import os
import socket
import sys
import threading
import time
from collections.abc import Sequence

_PAUSE = 0.5  # seconds between two looks
_GRACE = 15.0  # seconds past the deadline for an answer that is under way


def main(arguments: Sequence[str] | None = None) -> int:
    """0 once the cluster is complete; 1, with what there is, after `--within` seconds."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("address", help="HOST:PORT of Ray's head")
    parser.add_argument("--nodes", type=int, required=True)
    parser.add_argument("--gpus", type=int, required=True)
    parser.add_argument("--within", type=float, required=True, help="seconds")
    asked = parser.parse_args(arguments)
    end = time.monotonic() + asked.within
    if not _answers(asked.address, end):
        print(f"no Ray head at {asked.address} after {asked.within:g} s", file=sys.stderr)
        return 1
    _end_at_last(asked.within + _GRACE)
    while True:
        found, gpus = _there(asked.address)
        if found >= asked.nodes and gpus >= asked.gpus:
            return 0
        if time.monotonic() > end:
            told = f"{found} of {asked.nodes} nodes, {gpus:g} of {asked.gpus} GPUs"
            print(f"Ray has {told} after {asked.within:g} s", file=sys.stderr)
            return 1
        time.sleep(_PAUSE)


def _end_at_last(seconds: float) -> None:
    """End this process with 1 after so long: asked of a head that has died, Ray waits for ever."""

    def end() -> None:
        print(f"Ray's head gave no answer within {seconds:g} s", file=sys.stderr, flush=True)
        os._exit(1)

    timer = threading.Timer(seconds, end)
    timer.daemon = True
    timer.start()


def _answers(address: str, end: float) -> bool:
    """Whether somebody answers at ``HOST:PORT`` before the monotonic clock says `end`."""
    host, _, port = address.rpartition(":")
    while True:
        try:
            with socket.create_connection((host, int(port)), timeout=5):
                return True
        except OSError:
            if time.monotonic() > end:
                return False
            time.sleep(_PAUSE)


def _there(address: str) -> tuple[int, float]:
    """Nodes and GPUs that Ray has by now; none while it is still coming up."""
    import ray

    try:
        if not ray.is_initialized():
            ray.init(address=address, log_to_driver=False, logging_level="ERROR")
        alive = [node for node in ray.nodes() if node["Alive"]]
    except (ConnectionError, RuntimeError):
        return 0, 0.0
    return len(alive), sum(node["Resources"].get("GPU", 0.0) for node in alive)


if __name__ == "__main__":
    sys.exit(main())
