"""The sealed evaluator of appworld, a process: AppWorld's own evaluation on the full root.

Run as ``python -m auto_research.benchmarks.appworld.inside.judge``. One JSON object a line on stdin
and stdout, as `auto_research.benchmarks.sealed` describes. A submission names the file that holds
what its world wrote; only AppWorld's own kinds of files are taken from it.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import signal
import sys
import tempfile
import traceback
from collections.abc import Callable
from functools import cache
from typing import Any

from auto_research.benchmarks.appworld.inside import remembered

_TAKEN = re.compile(r"(dbs|logs|version)/\w+\.\w+")
_LABELS = ("no_op_fail", "no_op_pass")


def main() -> None:
    """Serve until stdin ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides what an interrupt means
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--root", required=True, help="the full data root")
    root = parser.parse_args().root
    protocol = os.fdopen(os.dup(1), "w", encoding="ascii")
    os.dup2(2, 1)  # whatever else prints goes to stderr
    with tempfile.TemporaryDirectory(prefix="appworld-judge-") as place:
        os.symlink(os.path.join(os.path.abspath(root), "data"), os.path.join(place, "data"))
        os.environ["APPWORLD_ROOT"] = place
        for line in sys.stdin:
            request = json.loads(line)
            protocol.write(json.dumps({"id": request["id"], "result": _verdict(place, request)}))
            protocol.write("\n")
            protocol.flush()
        os.chdir("/")
    os._exit(0)  # AppWorld's objects would take long to be taken apart


def _verdict(place: str, request: dict[str, Any]) -> dict[str, Any]:
    """Success, and whether all tests of each label passed."""
    payload = request["submission"].get("payload") or {}
    files = _files(payload.get("outputs"))
    if not files:
        return {"success": False, "checks": dict.fromkeys(_LABELS, False)}
    evaluate_task, forget = _appworld()
    home = os.path.join(place, "experiments", "outputs", "judged")
    unfold(files, os.path.join(home, "tasks", request["task"]))
    try:
        tracker = evaluate_task(request["task"], "judged", suppress_errors=True, save_report=False)
        failed = {failure["label"] for failure in tracker.failures}
        success = bool(tracker.success)
        checks = {label: label not in failed for label in _LABELS}
    except Exception:
        traceback.print_exc()
        success, checks = False, dict.fromkeys(_LABELS, False)
    finally:
        forget()
        shutil.rmtree(home, ignore_errors=True)
    return {"success": success, "checks": checks}


@cache
def _appworld() -> tuple[Callable[..., Any], Callable[[], None]]:
    """AppWorld's evaluation, and what makes it forget the databases of one."""
    from appworld.evaluator import evaluate_task

    forget = remembered.connections()
    remembered.where_clocks_are()
    remembered.what_was_imported()
    return evaluate_task, forget


def _files(path: object) -> dict[str, str]:
    """The files that a world wrote, as its server handed them out; empty if it wrote none."""
    if not isinstance(path, str) or not os.path.isfile(path):
        return {}
    with open(path, encoding="utf-8") as file:
        return {str(name): str(text) for name, text in json.load(file).items()}


def unfold(files: dict[str, str], folder: str) -> None:
    """Write the files under `folder`, but none whose name AppWorld would not give."""
    for name, text in files.items():
        if _TAKEN.fullmatch(name):
            path = os.path.join(folder, name)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)


if __name__ == "__main__":
    main()
