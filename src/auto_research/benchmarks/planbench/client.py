"""One sealed process for all splits and seeds of a run, opened when first needed."""

from __future__ import annotations

import sys
import threading
from collections.abc import Mapping, Sequence

from auto_research.benchmarks.base import Json, Scenario, Task
from auto_research.benchmarks.sealed import SealedHandle, SealedProcess

_MODULE = "auto_research.benchmarks.planbench.sealed"


class SealedPlanBench:
    """Opens the sealed process, shares it among its users, closes it with the last of them."""

    def __init__(self, permutation: int | None = None) -> None:
        self._argv = [sys.executable, "-m", _MODULE]
        if permutation is not None:
            self._argv += ["--sealed-permutation", str(permutation)]
        self._process: SealedProcess | None = None
        self._users = 0
        self._handed_out: dict[str, tuple[str, dict[str, Json]]] = {}
        self._lock = threading.Lock()

    def scenarios(self, op: str, **arguments: Json) -> Sequence[Scenario]:
        """The public scenarios that the sealed process answers with. Raises UserError."""
        with self._lock:
            answer = self._opened().request(op, **arguments)
            self._handed_out[repr((op, sorted(arguments.items())))] = (op, arguments)
        return _scenarios(answer)

    def evaluator(self) -> SealedHandle:
        """A judge of every task handed out before or after."""
        with self._lock:
            process = self._opened()
            self._users += 1
        return SealedHandle(process, self._release)

    def _opened(self) -> SealedProcess:
        """The process; a new one is told again what an earlier one had handed out."""
        if self._process is None:
            self._process = SealedProcess(self._argv)
            for op, arguments in self._handed_out.values():
                self._process.request(op, **arguments)
        return self._process

    def _release(self) -> None:
        with self._lock:
            self._users -= 1
            if self._users == 0 and self._process is not None:
                self._process.close()
                self._process = None


def _scenarios(scenarios: Json) -> list[Scenario]:
    """What the sealed process handed out, as public values."""
    assert isinstance(scenarios, Sequence)
    return [_scenario(tasks) for tasks in scenarios]


def _scenario(tasks: Json) -> Scenario:
    assert isinstance(tasks, Sequence)
    read = tuple(_read_task(task) for task in tasks)
    return Scenario(read[0].scenario, read)


def _read_task(wire: Json) -> Task:
    assert isinstance(wire, Mapping)
    observation, position = wire["observation"], wire["position"]
    assert isinstance(observation, Mapping) and isinstance(position, int)
    return Task(
        id=str(wire["id"]),
        scenario=str(wire["scenario"]),
        position=position,
        kind=str(wire["kind"]),
        instruction=str(wire["instruction"]),
        observation={key: str(value) for key, value in observation.items()},
    )
