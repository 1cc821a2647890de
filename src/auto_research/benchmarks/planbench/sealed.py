"""The sealed evaluator of planbench, a process: makes tasks, hands out their public half, judges.

Run as ``python -m auto_research.benchmarks.planbench.sealed``. One JSON object a line on stdin and
stdout, as `auto_research.benchmarks.sealed` describes. While nobody asks, it prepares the tasks
that were handed out, so that verdicts are quick. It ends when stdin does.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import queue
import signal
import sys
import threading
import traceback
from typing import IO, Literal

from auto_research.benchmarks.base import Json
from auto_research.benchmarks.planbench.evaluation import Evaluation
from auto_research.errors import UserError

_Event = tuple[Literal["line", "ready", "end"], str]


def main() -> None:
    """Serve until stdin ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides what an interrupt means
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sealed-permutation", type=int, metavar="SEED")
    arguments = parser.parse_args()
    protocol = _private_stdout()
    events: queue.SimpleQueue[_Event] = queue.SimpleQueue()
    for work in (_listen, _load_judge):
        threading.Thread(target=work, args=(events,), daemon=True).start()
    try:
        _serve(Evaluation(arguments.sealed_permutation), events, protocol)
        status = 0
    except Exception:
        traceback.print_exc()
        status = 1
    sys.stderr.flush()
    os._exit(status)  # an import still under way in the other thread must not delay the end


def _serve(evaluation: Evaluation, events: queue.SimpleQueue[_Event], protocol: IO[str]) -> None:
    ready = False
    while True:
        idle = ready and evaluation.can_prepare()
        try:
            kind, line = events.get(block=not idle)
        except queue.Empty:
            evaluation.prepare_one()
            continue
        if kind == "end":
            return
        if kind == "ready":
            ready = True
            continue
        protocol.write(json.dumps(_answer(evaluation, line)) + "\n")
        protocol.flush()


def _answer(evaluation: Evaluation, line: str) -> dict[str, Json]:
    request = json.loads(line)
    try:
        return {"id": request["id"], "result": evaluation.answer(request)}
    except UserError as error:
        told = {"what": error.what, "where": error.where, "mend": error.mend}
        return {"id": request["id"], "error": told}


def _private_stdout() -> IO[str]:
    """The real stdout for the protocol alone; whatever else prints goes to stderr."""
    protocol = os.fdopen(os.dup(1), "w", encoding="ascii")
    os.dup2(2, 1)
    return protocol


def _listen(events: queue.SimpleQueue[_Event]) -> None:
    for line in sys.stdin:
        events.put(("line", line))
    events.put(("end", ""))


def _load_judge(events: queue.SimpleQueue[_Event]) -> None:
    from auto_research.benchmarks.planbench import judge  # noqa: F401

    # The libraries' objects live for ever: without this each collection walks all of them.
    gc.freeze()
    gc.set_threshold(50_000)
    events.put(("ready", ""))


if __name__ == "__main__":
    main()
