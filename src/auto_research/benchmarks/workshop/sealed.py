"""The sealed judge of the workshop, a process: makes a task anew, replays what was done, judges.

Run as ``python -m auto_research.benchmarks.workshop.sealed VARIANT SPLIT SEED``. One JSON object a
line on stdin and stdout, as `auto_research.benchmarks.sealed` describes; a task's name here is
``NUMBER POSITION``, its place in the stream. It ends when stdin does.
"""

from __future__ import annotations

import argparse
import json
import signal
import sys
from collections.abc import Mapping, Sequence
from functools import lru_cache

from auto_research.benchmarks.base import SPLITS, Json
from auto_research.benchmarks.workshop import generate
from auto_research.benchmarks.workshop.jobs import Job
from auto_research.benchmarks.workshop.rules import follow

MAX_ACTIONS = 2000  # a longer submission is not looked at
_CACHED = 1024  # scenarios


def judge(job: Job, submission: Mapping[str, Json]) -> dict[str, Json]:
    """The verdict on what was done in the world, or on the plan if nothing was.

    An action that failed in the world has changed nothing; one that fails in a plan, or that does
    not say where it is done, makes the plan invalid.
    """
    payload = submission.get("payload")
    done = _actions(payload.get("actions")) if isinstance(payload, Mapping) else None
    plan = _actions(submission.get("plan"))
    state = job.state()
    sound = True
    if done:
        follow(state, done, strict=False)
    else:
        sound = plan is not None and all(len(step) == 3 for step in plan)
        sound = sound and follow(state, plan or (), strict=True)
    checks = job.checks(state)
    success = sound and all(checks.values())
    return {"success": success, "checks": {"plan_success": success, **checks}}


def main() -> None:
    """Serve until stdin ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides what an interrupt means
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("variant", choices=("base", "hid"))
    parser.add_argument("split", choices=SPLITS)
    parser.add_argument("seed", type=int)
    parser.add_argument("--permutation", type=int)
    told = parser.parse_args()

    @lru_cache(maxsize=_CACHED)
    def jobs(number: int) -> tuple[Job, ...]:
        return generate.scenario(told.variant, told.split, told.seed, number, told.permutation)

    for line in sys.stdin:
        request = json.loads(line)
        number, position = map(int, request["task"].split())
        result = judge(jobs(number)[position], request["submission"])
        sys.stdout.write(json.dumps({"id": request["id"], "result": result}) + "\n")
        sys.stdout.flush()


def _actions(value: Json) -> list[tuple[str, ...]] | None:
    """A list of lists of text; None if it is something else or too long."""
    if not isinstance(value, Sequence) or isinstance(value, str) or len(value) > MAX_ACTIONS:
        return None
    actions: list[tuple[str, ...]] = []
    for step in value:
        if not isinstance(step, Sequence) or isinstance(step, str):
            return None
        if not all(isinstance(word, str) for word in step):
            return None
        actions.append(tuple(map(str, step)))
    return actions


if __name__ == "__main__":
    main()
