"""Attempts at toy tasks outside a run, with a scripted server and no waiting."""

from __future__ import annotations

import socket
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from model_server import ModelServer
from toy_world import ToyWorld, task_of

from auto_research.agent_research.agents.base import Attempt
from auto_research.agent_research.agents.llm.agent import LlmAgent
from auto_research.agent_research.agents.llm.client import Patience
from auto_research.agent_research.agents.llm.options import Limits
from auto_research.agent_research.budget import Budget, Meter
from auto_research.agent_research.operators import Choice, EditRequest, Episode
from auto_research.agent_research.skill import Skill, function_skill
from auto_research.benchmarks.base import Task

SHOP = task_of("shop", 0)  # the first of its scenario; it asks for apples


def patient(waits: list[float] | None = None) -> Patience:
    """Waits no moment, but notes how long it should have."""
    return Patience(sleep=(waits if waits is not None else []).append)


@dataclass(frozen=True)
class Half:
    """A part of a reply, after which the server says no more: it half-closes the line, or cuts it.

    A line that is half closed stays open on the server's side until the end.
    """

    sent: bytes
    cut: bool = False


class HalfServer(ModelServer):
    """A scripted server that may also break off in the middle."""

    def _answer(self, handler: Any, reply: Any, request: Any) -> None:
        if not isinstance(reply, Half):
            super()._answer(handler, reply, request)
            return
        line = handler.connection
        line.sendall(reply.sent)
        handler.close_connection = True
        if reply.cut:
            line.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        else:
            line.shutdown(socket.SHUT_WR)
            self._over.wait()


@dataclass
class Tried:
    """An attempt, what it was charged, and the session, to write skills in."""

    attempt: Attempt
    meter: Meter
    session: Any
    task: Task

    @property
    def episode(self) -> Episode:
        """The attempt as operators see it, at test."""
        attempt = self.attempt
        return Episode(
            id="e",
            task=self.task,
            position=0,
            choice=Choice(),
            uses=attempt.uses,
            own_check=attempt.own_check,
            verdict=None,
            has_submission=attempt.submission.plan is not None or bool(attempt.submission.payload),
            spending=self.meter.spending(),
            evidence=attempt.evidence,
        )

    def write(self, kind: Any, **request: Any) -> Sequence[Skill]:
        """Skills for an edit request on this attempt."""
        written: Sequence[Skill] = self.session.write(
            EditRequest(kind, **{"episode": self.episode, **request})
        )
        return written

    def told(self) -> str:
        """The transcript."""
        return "\n".join(f"{line.at}: {line.text}" for line in self.attempt.transcript)


def attempt(
    server: ModelServer,
    skills: Sequence[Skill] = (),
    task: Task = SHOP,
    budget: Budget | None = None,
    limits: Limits | None = None,
    waits: list[float] | None = None,
    reply_seconds: float = 60.0,
    **options: Any,
) -> Tried:
    """Attempt a toy task (or a planning task, which needs no world of the benchmark's)."""
    agent = LlmAgent(server.options(**options), limits, patient(waits), reply_seconds)
    meter = Meter(budget or Budget(), stream="7/test-0000-0")
    session = agent.session(task, meter)
    world = ToyWorld(task) if task.kind == "toy" else None
    try:
        return Tried(session.attempt(skills, world), meter, session, task)
    finally:
        if world is not None:
            world.close()
        agent.close()


def function(source: str, **interface: Any) -> Skill:
    """A skill for the toy shops."""
    name = function_skill(source).name
    return function_skill(source, interface={"world": "toy", "function": name, **interface})
