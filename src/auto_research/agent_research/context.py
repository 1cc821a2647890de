"""What operators are given with each call: charged tools, and no way past ledger or seal."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from auto_research.agent_research.agents.base import Session
from auto_research.agent_research.budget import Meter, Phase
from auto_research.agent_research.library import LibraryView
from auto_research.agent_research.operators import Arm, EditRequest, Episode, TaskRef
from auto_research.agent_research.skill import Skill
from auto_research.benchmarks.base import Task
from auto_research.errors import UserError

Probe = Callable[[Sequence[TaskRef], LibraryView], Sequence[Episode]]
OpenSession = Callable[[Task], Session]


def no_probe(tasks: Sequence[TaskRef], library: LibraryView) -> Sequence[Episode]:
    """Where no probe can be run. Raises UserError."""
    raise UserError("probes run only between groups", mend="call ctx.probe from after_group")


@dataclass(frozen=True)
class HarnessContext:
    """The `Context` of the operator contract, which is all of it that has no underscore.

    `home` is the task at hand, for requests that name none; `_written` keeps what `write` gave.
    """

    rng: random.Random
    phase: Phase
    step: int
    arm: Arm
    pool: Sequence[TaskRef]
    home: Task | None
    _meter: Meter
    _open: OpenSession
    _probe: Probe = no_probe
    _written: dict[str, Skill] = field(default_factory=dict)
    _sessions: dict[str, Session] = field(default_factory=dict)

    def spend(self, kind: str, amount: int = 1) -> None:
        if not isinstance(amount, int) or amount < 0:  # a NaN would pass every cap from then on
            raise ValueError(f"{amount} units of {kind!r}: whole, and nothing is ever paid back")
        self._meter.spend(kind, amount)

    def fit(self, task: Task, skill: Skill) -> float:
        return self._session(task).fit(skill)

    def probe(self, tasks: Sequence[TaskRef], library: LibraryView) -> Sequence[Episode]:
        known = set(self.pool)
        for task in tasks:
            if task not in known:
                raise UserError(
                    f"{task.task!r} is not a train task, so it cannot be probed",
                    mend="probe tasks from ctx.pool only",
                )
        return self._probe(tasks, library)

    def write(self, request: EditRequest) -> Sequence[Skill]:
        task = request.task or (request.episode.task if request.episode else self.home)
        if task is None:
            return ()
        skills = self._session(task).write(request)
        self._written.update({skill.id: skill for skill in skills})
        return skills

    def _session(self, task: Task) -> Session:
        """The session on `task`, opened when first asked for. Raises what the agent raises."""
        if task.id not in self._sessions:
            self._sessions[task.id] = self._open(task)
        return self._sessions[task.id]
