"""One world: AppWorld's environment of one task, serving requests on a socket until it closes.

A request and its answer are one line of JSON each: ``{"op": "execute", "code": ..., "calls": n}``
and ``{"op": "files"}``. This process runs code that nobody trusts, so what it answers is the word
of that code; the verdict is found elsewhere.
"""

from __future__ import annotations

import json
import os
import resource
import socket
from typing import Any

from auto_research.benchmarks.appworld.inside.watch import Watch

EXPERIMENT = "world"
MAX_TEXT = 1_000_000  # characters of one observation
_MEMORY = 8 << 30  # bytes of address space
_FILE = 256 << 20  # bytes of one file


def serve(connection: socket.socket, task: str, seconds: int) -> None:
    """Open the world, say so, and serve."""
    reading, writing = connection.makefile("r"), connection.makefile("w")

    def answer(what: dict[str, Any]) -> None:
        writing.write(json.dumps(what) + "\n")
        writing.flush()

    try:
        world = open_world(task, seconds)
    except Exception as error:
        answer({"error": f"{type(error).__name__}: {error}"})
        return
    answer({"opened": task})
    watch = Watch([os.environ["APPWORLD_ROOT"], os.getcwd()])
    for line in reading:
        request = json.loads(line)
        if request["op"] == "execute":
            told = execute(world, request["code"], request["calls"])
        else:
            told = {"files": files_of(world)}
        answer({**told, "strayed": watch.strayed})


def open_world(task: str, seconds: int) -> Any:
    """AppWorld's environment, without the ground truth."""
    from appworld import AppWorld

    return AppWorld(
        task_id=task,
        experiment_name=EXPERIMENT,
        load_ground_truth=False,
        max_interactions=10**6,  # the harness counts and limits
        timeout_seconds=seconds,
    )


def limit_resources() -> None:
    """What code may use of the machine."""
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
    resource.setrlimit(resource.RLIMIT_FSIZE, (_FILE, _FILE))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def execute(world: Any, code: str, calls: int | None) -> dict[str, Any]:
    """Run code; what is seen, and what it came to."""
    ran: list[Any] = []

    def run(cell: str) -> Any:
        ran.append(type(world)._shell_run_cell(world, cell))
        return ran[-1]

    world._shell_run_cell = run
    tracker = world.requester.request_tracker
    limit, before = tracker.max_num_requests, len(tracker.requests)
    if calls is not None:
        tracker.max_num_requests = min(limit, calls)
    try:
        text = world.execute(code)
    finally:
        tracker.max_num_requests = limit
    timed_out = bool(ran) and (ran[0] is None or _by_clock(ran[0].error_in_exec))
    if len(text) > MAX_TEXT:
        text = f"{text[:MAX_TEXT]}\n[{len(text) - MAX_TEXT} more characters were cut off]"
    return {
        "text": text,
        "failed": not ran or timed_out or not ran[0].success,
        "calls": len(tracker.requests) - before,
        "finished": bool(world.task_completed()),
        "timed_out": timed_out,
    }


def _by_clock(error: BaseException | None) -> bool:
    """Whether AppWorld's own time limit raised it."""
    return type(error).__name__ == "TimeoutError" and type(error).__module__.startswith("appworld")


def files_of(world: Any) -> dict[str, str]:
    """What AppWorld wrote of this world, by path relative to the task's folder."""
    found = {}
    for folder in ("dbs", "logs", "version"):
        base = os.path.join(world.output_directory, folder)
        for name in sorted(os.listdir(base)):
            with open(os.path.join(base, name), encoding="utf-8") as file:
                found[f"{folder}/{name}"] = file.read()
    return found
