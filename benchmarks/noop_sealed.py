"""A sealed evaluator that does nothing: it lets every submission pass, one JSON line at a time.

It pays what every evaluator pays, a process of its own and JSON both ways, and nothing else.
"""

from __future__ import annotations

import json
import signal
import sys


def main() -> None:
    """Answer until the harness closes the pipe."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    for line in sys.stdin:
        verdict = {"success": True, "checks": {"plan_success": True, "answer_accuracy": True}}
        print(json.dumps({"id": json.loads(line)["id"], "result": verdict}), flush=True)


if __name__ == "__main__":
    main()
