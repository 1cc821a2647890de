"""On a worker node: join Ray's head as soon as it answers. Becomes ``ray start --block``."""

from __future__ import annotations

import argparse
import os
import socket
import sys
import time
from collections.abc import Sequence

_PAUSE = 0.5  # seconds between two tries


def wait_for_port(address: str, end: float) -> bool:
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


def main(arguments: Sequence[str] | None = None) -> None:
    """Exits with 1 if there is no head after `--within` seconds."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("address", help="HOST:PORT of Ray's head")
    parser.add_argument("--gpus", type=int, required=True)
    parser.add_argument("--within", type=float, required=True, help="seconds")
    asked = parser.parse_args(arguments)
    if not wait_for_port(asked.address, time.monotonic() + asked.within):
        print(f"no Ray head at {asked.address} after {asked.within:g} s", file=sys.stderr)
        sys.exit(1)
    words = ["ray", "start", f"--address={asked.address}", f"--num-gpus={asked.gpus}", "--block"]
    os.execvp(words[0], words)


if __name__ == "__main__":
    main()
