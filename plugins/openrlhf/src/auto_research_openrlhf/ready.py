"""On the head node: wait until Ray has all its nodes and GPUs, or say which are missing."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence

from auto_research_openrlhf.join import wait_for_port

_PAUSE = 0.5  # seconds between two looks


def main(arguments: Sequence[str] | None = None) -> int:
    """0 once the cluster is complete; 1, with what there is, after `--within` seconds."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("address", help="HOST:PORT of Ray's head")
    parser.add_argument("--nodes", type=int, required=True)
    parser.add_argument("--gpus", type=int, required=True)
    parser.add_argument("--within", type=float, required=True, help="seconds")
    asked = parser.parse_args(arguments)
    end = time.monotonic() + asked.within
    if not wait_for_port(asked.address, end):
        print(f"no Ray head at {asked.address} after {asked.within:g} s", file=sys.stderr)
        return 1
    import ray

    ray.init(address=asked.address, log_to_driver=False, logging_level="ERROR")
    while True:
        alive = [node for node in ray.nodes() if node["Alive"]]
        gpus = sum(node["Resources"].get("GPU", 0) for node in alive)
        if len(alive) >= asked.nodes and gpus >= asked.gpus:
            return 0
        if time.monotonic() > end:
            found = f"{len(alive)} of {asked.nodes} nodes, {gpus:g} of {asked.gpus} GPUs"
            print(f"Ray has {found} after {asked.within:g} s", file=sys.stderr)
            return 1
        time.sleep(_PAUSE)


if __name__ == "__main__":
    sys.exit(main())
