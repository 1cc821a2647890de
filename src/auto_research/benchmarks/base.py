"""What every benchmark gives: tasks anybody may see, and a sealed evaluator."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, Protocol, runtime_checkable

Json = None | bool | int | float | str | Sequence["Json"] | Mapping[str, "Json"]

Split = Literal["train", "validation", "test"]
SPLITS: tuple[Split, ...] = ("train", "validation", "test")


@dataclass(frozen=True, slots=True)
class Task:
    """What an agent may see of one task. Ids are opaque; nothing here tells an answer or a label.

    `scenario` is public (as in AppWorld); `position` is the task's place in its scenario, from 0.
    `kind` names the shape of `observation`, for example ``"pddl"``: keys ``domain``, ``problem``
    and ``question`` (all text), so that an agent knows whether it can read it.
    """

    id: str
    scenario: str
    position: int
    kind: str
    instruction: str
    observation: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Scenario:
    """An ordered group of related tasks."""

    id: str
    tasks: tuple[Task, ...]


@dataclass(frozen=True, slots=True)
class Submission:
    """What an agent hands in: `plan` (one tuple ``(action, *objects)`` a step) and `answer`.

    Either may be None (nothing handed in). `payload` is for benchmarks with other submissions.
    """

    plan: tuple[tuple[str, ...], ...] | None = None
    answer: str | None = None
    payload: Mapping[str, Json] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the sealed evaluator says of one submission.

    `success` is the task goal (for planbench: plan valid and answer right). `checks` are its
    named parts, for example ``{"plan_success": True, "answer_accuracy": False}``.
    """

    success: bool
    checks: Mapping[str, bool]


class Evaluator(Protocol):
    """The sealed judge, in another process. Verdicts may be collected long after submission."""

    def submit(self, task_id: str, submission: Submission) -> int:
        """Hand in one finished submission; returns a ticket at once, without waiting."""

    def verdict(self, ticket: int) -> Verdict:
        """Wait for the verdict of a ticket. Raises EvaluatorError if the process is gone."""

    def close(self) -> None:
        """End the process; safe to call twice."""


@dataclass(frozen=True, slots=True)
class Observation:
    """What came of one piece of code run in an environment.

    `text` is what the agent may read, `failed` whether the code raised, `calls` the API calls it
    made, `finished` whether the task has been handed in by it.
    """

    text: str
    failed: bool = False
    calls: int = 0
    finished: bool = False


class Environment(Protocol):
    """One task's world, in another process: runs code, keeps its state, knows no answer."""

    def execute(self, code: str, calls: int | None = None) -> Observation:
        """Run code in the task's one persistent shell, with at most `calls` API calls.

        A world that broke or hung has failed.
        """

    def submission(self) -> Mapping[str, Json]:
        """What the evaluator needs to judge what was done here: the payload to hand in."""

    def flags(self) -> tuple[str, ...]:
        """What sets the world apart, for the run's report: unsafe, or stopped by a clock."""

    def close(self) -> None:
        """End the world; safe to call twice."""


@runtime_checkable
class Worldly(Protocol):
    """A benchmark whose tasks are worlds to act in."""

    def environment(self, task: Task, keep: Path | None = None) -> Environment:
        """Open the task's world anew. Raises UserError if no world can be opened here.

        What was done in it is kept in the folder `keep`, if the benchmark can keep it.
        """


@runtime_checkable
class Referenced(Protocol):
    """A benchmark with reference programs, which only an agent that reads answers is given."""

    def reference(self, task: Task) -> str:
        """Code that does the task in its world. Raises UserError if the task has none."""


OpenWorld = Callable[[Task, Path | None], Environment]


@runtime_checkable
class Benchmark(Protocol):
    """Yields public scenarios per split and opens the sealed evaluator that judges them."""

    name: str  # with its version, for example "planbench-mini@1"
    summary: str

    def scenarios(self, split: Split, seed: int, limit: int | None = None) -> Sequence[Scenario]:
        """The public scenarios of a split in stream order; the first `limit` of them."""

    def evaluator(self, split: Split, seed: int) -> Evaluator:
        """Open a sealed evaluator for the tasks of `scenarios(split, seed)`."""

    def units_per_episode(self) -> int:
        """B, the budget of one episode in units; average cost is min(1, units / B)."""

    def content_hash(self) -> str:
        """Hash of everything that defines the tasks: generators, sizes, tariffs, B, data files."""


def world_opener(benchmark: Benchmark) -> OpenWorld | None:
    """What opens the worlds of a benchmark that has them."""
    return benchmark.environment if isinstance(benchmark, Worldly) else None
