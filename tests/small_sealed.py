"""The sealed evaluator of the benchmark `small`: a process that judges one JSON line at a time."""

from __future__ import annotations

import json
import signal
import sys

NAMES = {"charge": "ready", "wind": "ready", "light": "on", "strike": "on"}


def judge(task: str, plan: list[list[str]] | None, answer: str | None) -> dict[str, bool]:
    """The id says how many lamps there are and how long the question's plan is."""
    lamps, steps = map(int, task.split("-")[-2:])
    ready, on = set(), set()
    sound = plan is not None
    for name, lamp in plan or ():
        if NAMES[name] == "ready":
            ready.add(lamp)
        elif lamp in ready:
            ready.remove(lamp)
            on.add(lamp)
        else:
            sound = False
    truth = "(ready l0)" if steps == 1 else "(on l0)"
    return {
        "plan_success": sound and on >= {f"l{i}" for i in range(lamps)},
        "answer_accuracy": answer == truth,
    }


def main() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    for line in sys.stdin:
        asked = json.loads(line)
        given = asked["submission"]
        checks = judge(asked["task"], given["plan"], given["answer"])
        result = {"success": all(checks.values()), "checks": checks}
        print(json.dumps({"id": asked["id"], "result": result}), flush=True)


if __name__ == "__main__":
    main()
