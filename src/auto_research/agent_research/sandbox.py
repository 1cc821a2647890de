"""Run skill code, hostile until proven otherwise, in pydantic-monty: a fresh session a call.

The code sees the host functions it is given and nothing else; clocks stand still and `random`
begins the same each time. Calls, memory and recursion are limited deterministically; time is only
a safety net, and an outcome it decided says so.
"""

from __future__ import annotations

import builtins
import re
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.util import find_spec
from types import TracebackType
from typing import Any, Literal, cast

from pydantic_monty import (
    Monty,
    MontyCrashedError,
    MontyError,
    MontyRuntimeError,
    MontySession,
    MontySyntaxError,
    OSPolicy,
    ResourceLimits,
)

from auto_research.agent_research.interrupts import interrupts_put_off
from auto_research.benchmarks.base import Json

Failure = Literal["", "wrong", "unsupported", "limit", "time"]
HostFunction = Callable[..., Any]
Heard = Callable[[str], None]  # is given what code prints

# What the sandbox says when it stops the code, as against the code raising such an error itself.
_TIME = ("time limit exceeded", "request timeout")
_LIMIT = ("memory limit", "recursion depth exceeded", "suspension limit")

MAX_PARTS = 10_000  # of a returned value: each item counts, and each character of a text

_OS_POLICY = OSPolicy(
    datetime=datetime(2000, 1, 1, tzinfo=UTC),
    sleep="zero",
    process_time="zero",
    random_start={"seed": 0},
)


@dataclass(frozen=True, slots=True)
class Limits:
    """Caps on one call of skill code.

    The two times are safety nets, the others decide outcomes: `seconds` is for the code itself,
    `total_seconds` for code and host functions together.
    """

    host_calls: int = 20_000
    memory_bytes: int = 64 * 1024 * 1024
    recursion: int = 400
    seconds: float = 10.0
    total_seconds: float = 60.0


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a call came to. `failure` is empty when it returned a value.

    wrong: the code raised or does not parse. unsupported: it uses what the sandbox lacks.
    limit: it passed a deterministic limit. time: the safety net fired.
    A value that is not plain data (a set, say) comes out as None.
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
        net = _Net(self.limits.total_seconds)
        lookup = {name: net.under(host) for name, host in hosts.items()}
        # Ctrl-C inside a host function would reach the code as its own error, and be lost.
        with interrupts_put_off():
            try:
                with ExitStack() as closing:
                    session = self._session(closing)
                    for source in sources:
                        session.feed_run(source, external_lookup=lookup, print_callback=_drop)
                    value = session.feed_run(
                        expression, external_lookup=lookup, print_callback=_drop
                    )
            except MontyError as error:
                failed = _failed(error)
                return Outcome(failure="time", message=failed.message) if net.fired else failed
        if net.fired:
            return Outcome(failure="time", message=net.message)
        return _returned(value)

    def shell(self) -> Shell:
        """A session that lasts; until it is closed, nothing else runs here."""
        closing = ExitStack()
        with interrupts_put_off():
            return Shell(self._session(closing), closing, self.limits.total_seconds)

    def _session(self, closing: ExitStack) -> MontySession:
        caps = ResourceLimits(
            max_feed_duration_secs=self.limits.seconds,
            max_memory=self.limits.memory_bytes,
            max_recursion_depth=self.limits.recursion,
            max_suspensions=self.limits.host_calls,
        )
        return closing.enter_context(self._opened().checkout(limits=caps, os_policy=_OS_POLICY))

    def _opened(self) -> Monty:
        if self._pool is None:
            _settle_telemetry()
            self._pool = Monty(min_processes=1, max_processes=1)
            self._pool.__enter__()
        return self._pool


class Shell:
    """A session in which a piece of code sees what those before it defined.

    The limits on host calls and memory hold for the whole session, those on time for each piece.
    """

    def __init__(self, session: MontySession, closing: ExitStack, seconds: float) -> None:
        self._session, self._closing, self._seconds = session, closing, seconds

    def run(self, code: str, hosts: Mapping[str, HostFunction], heard: Heard) -> Outcome:
        """Run one piece of code; `heard` gets what it prints. See `Sandbox.call`.

        The message of a failure is the whole traceback.
        """
        net = _Net(self._seconds)
        lookup = {name: net.under(host) for name, host in hosts.items()}
        with interrupts_put_off():
            try:
                self._session.feed_run(
                    code, external_lookup=lookup, print_callback=lambda stream, text: heard(text)
                )
            except MontyError as error:
                failed = _failed(error)
                failure: Failure = "time" if net.fired else failed.failure
                return Outcome(failure=failure, message=_traceback(error) or failed.message)
        return Outcome(failure="time", message=net.message) if net.fired else Outcome()

    def close(self) -> None:
        """End the session; safe to call twice."""
        self._closing.close()


class _Net:
    """Lets host functions be called for so many seconds; from then on it refuses every call."""

    def __init__(self, seconds: float) -> None:
        self._deadline = time.monotonic() + seconds
        self.message = f"code and host functions together took longer than {seconds} s"
        self.fired = False

    def under(self, host: HostFunction) -> HostFunction:
        def call(*args: Any, **kwargs: Any) -> Any:
            if self.fired or time.monotonic() > self._deadline:
                self.fired = True
                raise TimeoutError(self.message)
            return host(*args, **kwargs)

        return call


def _settle_telemetry() -> None:
    """Where opentelemetry is not installed, say so once and for all.

    The sandbox's client tries to import a part of it at every host call, and Python remembers no
    failed import: the search through sys.path costs three times the call itself, and even the
    look at a package known to be absent half of it.
    """
    if "opentelemetry" not in sys.modules and find_spec("opentelemetry") is None:
        modules: dict[str, object] = vars(sys)["modules"]
        modules["opentelemetry"] = modules["opentelemetry.context"] = None


def _drop(stream: Literal["stdout", "stderr"], text: str) -> None:
    """Skill code has nobody to print to."""


def _failed(error: MontyError) -> Outcome:
    message = " ".join(str(error).split())[:300]
    if isinstance(error, MontyCrashedError):
        return Outcome(failure="time" if error.timed_out else "limit", message=message)
    inner = error.exception()
    stopped = isinstance(inner, (TimeoutError, MemoryError, RecursionError, RuntimeError))
    if stopped and any(words in message for words in _TIME):
        return Outcome(failure="time", message=message)
    if stopped and any(words in message for words in _LIMIT):
        return Outcome(failure="limit", message=message)
    return Outcome(failure="unsupported" if _lacking(inner) else "wrong", message=message)


def _traceback(error: MontyError) -> str:
    return error.display() if isinstance(error, MontyRuntimeError | MontySyntaxError) else ""


def _lacking(error: BaseException) -> bool:
    """Whether code failed for want of something that Python has and the sandbox has not."""
    if isinstance(error, NameError):
        name = re.match(r"name '(\w+)' is not defined", str(error))
        return name is not None and hasattr(builtins, name[1])
    if isinstance(error, NotImplementedError):  # so the parser of the sandbox says
        return "support" in str(error)
    return isinstance(error, ModuleNotFoundError) or (
        isinstance(error, RuntimeError) and "not supported in this environment" in str(error)
    )


def _returned(value: object) -> Outcome:
    """The value as plain data, if it is small: what is mentioned often in it is seen as often."""
    waiting, parts = [value], 0
    while waiting:
        part = waiting.pop()
        parts += len(part) if isinstance(part, (str, list, tuple, dict)) else 1
        if parts > MAX_PARTS or (isinstance(part, int) and part.bit_length() > MAX_PARTS):
            return Outcome(failure="limit", message="the value returned is too large")
        if isinstance(part, dict) and all(isinstance(key, str) for key in part):
            waiting += [*part.keys(), *part.values()]
        elif isinstance(part, (list, tuple)):
            waiting += part
        elif part is not None and not isinstance(part, (bool, int, float, str)):
            return Outcome()
    return Outcome(value=cast(Json, value))
