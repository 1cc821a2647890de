"""What the harness asks of an agent: attempt a task with skills, judge fit, write skills."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from auto_research.agent_research.budget import Meter
from auto_research.agent_research.operators import EditRequest, Use
from auto_research.agent_research.rows import TranscriptLine
from auto_research.agent_research.skill import Skill
from auto_research.agent_research.together import Together
from auto_research.benchmarks.base import Environment, Json, Referenced, Submission, Task


@dataclass(frozen=True, slots=True)
class Attempt:
    """What an attempt came to. `evidence` is for this agent's own skill writer.

    In a world, what was done there is handed in with `submission`, whose own payload says only
    that something was (an attempt that hands in nothing at all has none).
    `own_check` is the agent's belief that it succeeded; `flags` name limits that a clock decided.
    """

    submission: Submission
    own_check: bool
    uses: tuple[Use, ...] = ()
    steps: int = 0
    transcript: tuple[TranscriptLine, ...] = ()
    evidence: Json = None
    error: str = ""
    flags: tuple[str, ...] = ()
    actions: tuple[str, ...] = ()  # what was done, step by step: ``verb<role,...>``, no objects


class Session(Protocol):
    """One task being worked on; everything it does is charged to the meter it was opened with."""

    def fit(self, skill: Skill) -> float:
        """How well `skill` could apply to the task, in [0, 1], without running it."""

    def attempt(self, skills: Sequence[Skill], world: Environment | None = None) -> Attempt:
        """Attempt the task with the chosen skills, best first. Never raises BudgetExceeded.

        `world` is the task's own, open, where the benchmark has worlds; the harness closes it.
        """

    def write(self, request: EditRequest) -> Sequence[Skill]:
        """Skills for an edit request. Raises BudgetExceeded."""


@runtime_checkable
class Agent(Protocol):
    """Opens a session a task. An agent that reads answers says so in `reads_answers`."""

    name: str
    reads_answers: bool

    def session(self, task: Task, meter: Meter) -> Session:
        """Begin work on a task. Raises UserError if the agent cannot read this kind of task."""

    def close(self) -> None:
        """Let go of processes; the agent opens them again when used again."""


@runtime_checkable
class Configured(Protocol):
    """An agent that can be set up in more than one way."""

    def config(self) -> Mapping[str, Json]:
        """How it is set up, as far as that may change a result; no secrets. Stands in run.yaml."""


@runtime_checkable
class ReadsReferences(Protocol):
    """An agent that works from a benchmark's reference programs. It has `reads_answers` set."""

    def read_from(self, benchmark: Referenced) -> None:
        """Where the programs are; told before the first session, if the benchmark has any."""


@runtime_checkable
class ManyAtOnce(Protocol):
    """An agent that works on many chains at once, one a thread, in this process.

    Its model answers the questions of all of them `together`. `test_batch` is how many scenarios
    of the test have their library changes committed together.
    """

    together: Together[Any, Any]
    test_batch: int
