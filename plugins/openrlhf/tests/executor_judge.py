"""The sealed judge of the sums: one JSON line a submission. Answering "die" ends it."""

from __future__ import annotations

import json
import os
import signal
import sys


def main() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    for line in sys.stdin:
        asked = json.loads(line)
        name, _, number = asked["task"].rpartition("_")
        n = int(number) - 1
        answer = asked["submission"]["payload"].get("answer")
        if answer == "die":
            os._exit(1)
        right = answer == len(name) + n + 3 * n + 1
        result = {"success": right, "checks": {"sum": right}}
        print(json.dumps({"id": asked["id"], "result": result}), flush=True)


if __name__ == "__main__":
    main()
