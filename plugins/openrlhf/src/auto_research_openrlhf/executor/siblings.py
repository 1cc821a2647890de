"""Brings the calls of one prompt together, so that one shared task runs their group.

OpenRLHF calls `execute` once for each sample of a prompt. The calls are made in one turn of one
event loop and share one object of sampling parameters, and that is what tells a group.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

Result = TypeVar("Result")
RunGroup = Callable[[int], Awaitable[Sequence[Result]]]


@dataclass
class _Group(Generic[Result]):
    shared: object  # held, so that no other object gets its identity meanwhile
    size: int = 0
    task: asyncio.Future[Sequence[Result]] | None = None


class Siblings(Generic[Result]):
    """The groups under way in one event loop."""

    def __init__(self) -> None:
        self._groups: dict[tuple[int, str], _Group[Result]] = {}

    async def join(self, shared: object, name: str, run: RunGroup[Result]) -> Result:
        """This call's part of what `run(size)` gives for all that share `shared` and `name`.

        The first to be resumed starts the group; places are given in the order of the calls.
        """
        key = (id(shared), name)
        group = self._groups.setdefault(key, _Group(shared))
        place = group.size
        group.size += 1
        await asyncio.sleep(0)  # by then all siblings have been here
        if group.task is None:
            self._groups.pop(key)
            group.task = asyncio.ensure_future(run(group.size))
        return (await asyncio.shield(group.task))[place]
