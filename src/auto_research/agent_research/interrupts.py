"""Put Ctrl-C off for a moment: some steps have to be done whole or not at all."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing import resource_tracker
from types import FrameType


@contextmanager
def interrupts_put_off() -> Iterator[None]:
    """An interrupt inside waits until the block ends.

    Only the main thread gets interrupts, so in another one this does nothing.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    caught: list[int] = []

    def note(number: int, frame: FrameType | None) -> None:
        caught.append(number)

    handler = signal.signal(signal.SIGINT, note)
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})  # which children inherit
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        signal.signal(signal.SIGINT, handler)
        if caught:
            signal.raise_signal(signal.SIGINT)


@contextmanager
def deaf_processes() -> Iterator[None]:
    """A process of `multiprocessing` that is started inside never gets an interrupt."""
    # The first process to start would start it, and it lets interrupts through again.
    resource_tracker.ensure_running()
    with interrupts_put_off():
        yield
