"""Run skill code, hostile until proven otherwise, in pydantic-monty: a fresh session a call.

The code sees the host functions it is given and nothing else. Calls, memory and recursion are
limited deterministically; time is only a safety net, and an outcome it decided says so.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from types import TracebackType
from typing import Any, Literal

from pydantic_monty import (
    Monty,
    MontyCrashedError,
    MontyError,
    MontyRuntimeError,
    MontySyntaxError,
    ResourceLimits,
)

from auto_research.benchmarks.base import Json

Failure = Literal["", "wrong", "unsupported", "limit", "time"]
HostFunction = Callable[..., Any]

# Words with which the sandbox says that it lacks something, as against the skill being wrong.
_UNSUPPORTED = ("not supported", "not yet supported", "not implemented", "NotImplementedError")


@dataclass(frozen=True, slots=True)
class Limits:
    """Caps on one call of skill code. `seconds` is the safety net, the others decide outcomes."""

    host_calls: int = 20_000
    memory_bytes: int = 64 * 1024 * 1024
    recursion: int = 400
    seconds: float = 10.0


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a call came to. `failure` is empty when it returned a value.

    wrong: the code raised or does not parse. unsupported: it uses what the sandbox lacks.
    limit: it passed a deterministic limit. time: the safety net fired.
    """

    value: Json = None
    failure: Failure = ""
    message: str = ""


class Sandbox:
    """A pool of one sandbox process. Use as a context manager; calls run one at a time."""

    def __init__(self, limits: Limits | None = None) -> None:
        self.limits = limits or Limits()
        self._pool: Monty | None = None

    def __enter__(self) -> Sandbox:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """End the sandbox process; the next call starts a new one."""
        if self._pool is not None:
            self._pool.__exit__(None, None, None)
            self._pool = None

    def call(
        self, sources: Sequence[str], expression: str, hosts: Mapping[str, HostFunction]
    ) -> Outcome:
        """Run `sources` in order, then evaluate `expression`; a fresh session, nothing is kept.

        Printed output is dropped. Exceptions raised by host functions reach the code as its own,
        so a host that must stop the code has to keep refusing.
        """
        if self._pool is None:
            _settle_telemetry()
            self._pool = Monty(min_processes=1, max_processes=1)
            self._pool.__enter__()
        caps = ResourceLimits(
            max_feed_duration_secs=self.limits.seconds,
            max_memory=self.limits.memory_bytes,
            max_recursion_depth=self.limits.recursion,
            max_suspensions=self.limits.host_calls,
            max_total_sleep_secs=0.0,
        )
        try:
            with self._pool.checkout(limits=caps) as session:
                for source in sources:
                    session.feed_run(source, external_lookup=dict(hosts), print_callback=_drop)
                value = session.feed_run(
                    expression, external_lookup=dict(hosts), print_callback=_drop
                )
        except MontyError as error:
            return _failed(error)
        return Outcome(value=value if _is_plain(value) else None)


def _settle_telemetry() -> None:
    """Where opentelemetry is not installed, say so once and for all.

    The sandbox's client tries to import it at every host call, and Python remembers no failed
    import: the search through sys.path costs three times the call itself.
    """
    if "opentelemetry" not in sys.modules and find_spec("opentelemetry") is None:
        modules: dict[str, object] = vars(sys)["modules"]
        modules["opentelemetry"] = None


def _drop(stream: Literal["stdout", "stderr"], text: str) -> None:
    """Skill code has nobody to print to."""


def _failed(error: MontyError) -> Outcome:
    message = " ".join(str(error).split())[:300]
    if isinstance(error, MontyCrashedError):
        return Outcome(failure="time" if error.timed_out else "limit", message=message)
    inner = error.exception() if isinstance(error, MontyRuntimeError) else None
    if isinstance(inner, TimeoutError):
        return Outcome(failure="time", message=message)
    if isinstance(inner, (MemoryError, RecursionError)) or "suspension limit" in message:
        return Outcome(failure="limit", message=message)
    if isinstance(inner, (NotImplementedError, ImportError)) or (
        isinstance(error, MontySyntaxError | MontyRuntimeError)
        and any(word in message for word in _UNSUPPORTED)
    ):
        return Outcome(failure="unsupported", message=message)
    return Outcome(failure="wrong", message=message)


def _is_plain(value: object) -> bool:
    if value is None or isinstance(value, (bool, int, float, str)):
        return True
    if isinstance(value, (list, tuple)):
        return all(map(_is_plain, value))
    if isinstance(value, dict):
        return all(isinstance(k, str) and _is_plain(v) for k, v in value.items())
    return False
