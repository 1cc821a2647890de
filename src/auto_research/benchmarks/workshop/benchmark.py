"""The workshop as the harness sees it: an endless stream of tasks, their worlds, a sealed judge."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from auto_research import rng
from auto_research.benchmarks.base import Scenario, Split, Submission, Task, Verdict
from auto_research.benchmarks.sealed import SealedProcess
from auto_research.benchmarks.workshop import generate, pddl
from auto_research.benchmarks.workshop.jobs import Job, Truth, truth_of
from auto_research.benchmarks.workshop.sizes import (
    DEFAULT_SCENARIOS,
    UNITS_PER_EPISODE,
    VERSION,
    Variant,
)
from auto_research.benchmarks.workshop.world import WorkshopWorld
from auto_research.errors import UserError

KIND = "pddl"  # of the tasks
_SEALED = "auto_research.benchmarks.workshop.sealed"
_HERE = Path(__file__).parent

INSTRUCTION = (
    "Bring every thing of the goal to its room, with all attributes that the goal names, and hold "
    "nothing in the end. An operation gives an attribute and may take others away."
)
_HIDDEN = (
    " Which of its candidate stations does an operation can only be found by trying: an action "
    "that cannot be done fails and changes nothing."
)


@dataclass(frozen=True, slots=True)
class _Drawn:
    """A task that was handed out: its place in the stream, and what it is."""

    number: int
    position: int
    job: Job = field(repr=False)


class WorkshopBenchmark:
    """Scenarios of three tasks that share their operations; `hid` hides where they are done.

    `permutation` is for the leak tests: it draws the hidden stations otherwise.
    """

    def __init__(self, variant: Variant, permutation: int | None = None) -> None:
        self.variant: Variant = variant
        self.name = f"workshop-{variant}@{VERSION}"
        self.summary = "a small workshop for training" + (
            ", its stations hidden" if variant == "hid" else ""
        )
        self._permutation = permutation
        self._instruction = INSTRUCTION + (_HIDDEN if variant == "hid" else "")
        self._drawn: dict[str, _Drawn] = {}

    def scenarios(self, split: Split, seed: int, limit: int | None = None) -> Sequence[Scenario]:
        """The first `limit` scenarios of a split (default 40); any number may be asked for."""
        count = DEFAULT_SCENARIOS if limit is None else limit
        return [self._scenario(split, seed, number) for number in range(count)]

    def environment(self, task: Task, keep: Path | None = None) -> WorkshopWorld:
        """The task's world as it is before anything is done. `keep` is left empty."""
        return WorkshopWorld(self._of(task.id).job.state())

    def evaluator(self, split: Split, seed: int) -> WorkshopEvaluator:
        """A judge of the split's tasks, in a process of its own."""
        argv = [sys.executable, "-m", _SEALED, self.variant, split, str(seed)]
        if self._permutation is not None:
            argv += ["--permutation", str(self._permutation)]
        return WorkshopEvaluator(SealedProcess(argv), self)

    def truth(self, task_id: str) -> Truth:
        """What an expert knows of a task that was handed out: for demonstrations, and nobody else.

        Raises UserError if this benchmark has not handed it out.
        """
        return truth_of(self._of(task_id).job, generate.candidates(self.variant))

    def reference(self, task: Task) -> str:
        """The actions that do the task, one a line, for agents that read answers."""
        return "\n".join(f"{verb} {thing}" for verb, thing in self.truth(task.id).actions())

    def units_per_episode(self) -> int:
        """B in units."""
        return UNITS_PER_EPISODE[self.variant]

    def content_hash(self) -> str:
        """Hash of the variant and of the sources that make and judge the tasks, B among them."""
        digest = hashlib.sha256(self.variant.encode())
        for path in (*sorted(_HERE.glob("*.py")), Path(rng.__file__)):
            content = path.read_bytes()
            digest.update(f"{path.name} {len(content)}\n".encode() + content)
        return digest.hexdigest()[:16]

    def place(self, task_id: str) -> str:
        """What the judge calls a task: its place in the stream."""
        drawn = self._of(task_id)
        return f"{drawn.number} {drawn.position}"

    def _scenario(self, split: Split, seed: int, number: int) -> Scenario:
        jobs = generate.scenario(self.variant, split, seed, number, self._permutation)
        words = [job.words() for job in jobs]
        # Ids hash the public text, so they tell nothing more than it.
        public = "\n".join((self.name, *words))
        name = hashlib.sha256(public.encode()).hexdigest()[:12]
        tasks: list[Task] = []
        for position, (job, told) in enumerate(zip(jobs, words, strict=True)):
            task_id = f"{name}_{position + 1}"
            self._drawn[task_id] = _Drawn(number, position, job)
            observation = {**pddl.public(job, self.variant), "words": told}
            tasks.append(Task(task_id, name, position, KIND, self._instruction, observation))
        return Scenario(name, tuple(tasks))

    def _of(self, task_id: str) -> _Drawn:
        drawn = self._drawn.get(task_id)
        if drawn is None:
            raise UserError(
                f"{self.name} has handed out no task {task_id!r}", mend="ask for its scenarios"
            )
        return drawn


class WorkshopEvaluator:
    """An `Evaluator`: the sealed process, told each task's place in place of its opaque id."""

    def __init__(self, process: SealedProcess, benchmark: WorkshopBenchmark) -> None:
        self._process, self._benchmark = process, benchmark
        self.close = process.close

    def submit(self, task_id: str, submission: Submission) -> int:
        """See `Evaluator`. Raises UserError for a task that was not handed out."""
        return self._process.submit(self._benchmark.place(task_id), submission)

    def verdict(self, ticket: int) -> Verdict:
        """See `Evaluator`."""
        return self._process.verdict(ticket)
