"""The agent `expert`: runs a benchmark's reference programs, to show that the benchmark works.

It reads answers, so it says nothing about any method: its runs are flagged, and comparisons and
searches refuse it.
"""

from __future__ import annotations

from collections.abc import Sequence

from auto_research.agent_research.agents.base import Attempt
from auto_research.agent_research.budget import Meter
from auto_research.agent_research.operators import EditRequest
from auto_research.agent_research.rows import TranscriptLine
from auto_research.agent_research.skill import Skill
from auto_research.benchmarks.base import Environment, Referenced, Submission, Task
from auto_research.errors import BudgetExceeded, UserError

_SHOWN = 2000  # characters of an observation in the transcript


class ExpertAgent:
    """An `Agent` that is told the reference programs and hands them to the tasks' worlds."""

    name = "expert"
    reads_answers = True

    def __init__(self) -> None:
        self._references: Referenced | None = None

    def read_from(self, benchmark: Referenced) -> None:
        """See `ReadsReferences`."""
        self._references = benchmark

    def session(self, task: Task, meter: Meter) -> ExpertSession:
        """Raises UserError if the benchmark has no reference programs."""
        if self._references is None:
            raise UserError(
                "the agent 'expert' needs a benchmark with reference programs",
                where="--agent",
                mend="use it with --benchmark appworld-mini",
            )
        return ExpertSession(self._references.reference(task), meter)

    def close(self) -> None:
        """Nothing was started."""


class ExpertSession:
    """One task; its program is one turn."""

    def __init__(self, program: str, meter: Meter) -> None:
        self._program, self._meter = program, meter

    def fit(self, skill: Skill) -> float:
        """It uses no skills."""
        return 0.0

    def attempt(self, skills: Sequence[Skill], world: Environment | None = None) -> Attempt:
        """Run the reference program. Raises UserError if there is no world to run it in."""
        if world is None:
            raise UserError("a reference program needs a world to run in")
        try:
            self._meter.spend("step")
            self._meter.count("steps")
            seen = world.execute(self._program, calls=self._meter.left())
            self._meter.spend("api-call", seen.calls)
        except BudgetExceeded as error:
            line = TranscriptLine("expert", str(error))
            return Attempt(Submission(), own_check=False, transcript=(line,))
        line = TranscriptLine("expert", seen.text[:_SHOWN])
        return Attempt(
            Submission(payload={"programs": 1}),
            own_check=seen.finished and not seen.failed,
            steps=1,
            transcript=(line,),
        )

    def write(self, request: EditRequest) -> Sequence[Skill]:
        """It writes no skills."""
        return ()
