"""A task's world to act in: does action lines and says ``ok`` or ``err``, nothing else."""

from __future__ import annotations

from collections.abc import Mapping

from auto_research.benchmarks.base import Json, Observation
from auto_research.benchmarks.workshop.rules import State


class WorkshopWorld:
    """An `Environment` in this process. It holds the stations and shows none of them."""

    def __init__(self, state: State) -> None:
        self._state = state
        self._actions: list[list[str]] = []

    def execute(self, code: str, calls: int | None = None) -> Observation:
        """Do one action a line, ``verb thing``, until one fails; at most `calls` of them.

        A third word says where one is, as in PDDL: the action fails if that is wrong. Failed
        actions count as calls and change nothing.
        """
        done = 0
        for line in code.splitlines():
            if not line or line.isspace():
                continue
            if calls is not None and done >= calls:
                return Observation("err", failed=True, calls=done)
            done += 1
            if not self._do(line):
                return Observation("err", failed=True, calls=done)
        return Observation("ok", calls=done)

    def submission(self) -> Mapping[str, Json]:
        """Everything that was tried, in order, failed actions too."""
        return {"actions": self._actions}

    def flags(self) -> tuple[str, ...]:
        """There is nothing to tell."""
        return ()

    def close(self) -> None:
        """Nothing was started."""

    def _do(self, line: str) -> bool:
        words = line.split()
        self._actions.append(words)
        return 2 <= len(words) <= 3 and self._state.do(*words)
