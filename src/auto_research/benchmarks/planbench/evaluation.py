"""What the sealed process holds: the tasks it handed out with their sealed halves, and truths.

`judge` is imported where it is needed: it brings unified-planning, which takes seconds, and the
process hands out tasks meanwhile.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from auto_research.benchmarks.base import SPLITS, Json
from auto_research.benchmarks.planbench import files, generate
from auto_research.benchmarks.planbench.tasks import Entry, to_wire
from auto_research.errors import UserError
from auto_research.pddl import Step
from auto_research.rng import derive

if TYPE_CHECKING:
    from auto_research.benchmarks.planbench.judge import Judged

_AHEAD = 200  # tasks prepared before they are judged; the judge's caches hold more


class Evaluation:
    """The tasks handed out so far, and their truths."""

    def __init__(self, permutation: int | None = None) -> None:
        self._permutation = permutation
        self._entries: dict[str, Entry] = {}
        self._truths: dict[str, str] = {}
        self._waiting: deque[str] = deque()
        self._ahead = 0

    def answer(self, request: Mapping[str, Json]) -> Json:
        """The result of one request. Raises UserError, KeyError if unknown."""
        operations: Mapping[Json, Callable[[Mapping[str, Json]], Json]] = {
            "mini": self._mini,
            "files": self._files,
            "judge": self._judge,
        }
        return operations[request["op"]](request)

    def can_prepare(self) -> bool:
        """Whether there is something useful to do while nobody asks."""
        return bool(self._waiting) and self._ahead < _AHEAD

    def prepare_one(self) -> None:
        """Parse the next task that waits, and work out the answer of its question."""
        task_id = self._waiting.popleft()
        if task_id not in self._truths:
            self._ahead += 1
            self._truth(task_id)
            _judged(self._entries[task_id])

    def _mini(self, request: Mapping[str, Json]) -> Json:
        split = next(s for s in SPLITS if s == request["split"])
        seed, count, exclude = request["seed"], request["count"], request["exclude"]
        assert isinstance(seed, int) and isinstance(count, int) and isinstance(exclude, Sequence)
        return self._hand_out(generate.scenarios(split, seed, count, [*map(str, exclude)]))

    def _files(self, request: Mapping[str, Json]) -> Json:
        count, seed = request["count"], request["seed"]
        assert isinstance(seed, int) and (count is None or isinstance(count, int))
        made = files.scenarios(str(request["data_dir"]), seed, count)
        _check_domains([entry for scenario in made for entry in scenario])
        return self._hand_out(made)

    def _hand_out(self, scenarios: Iterable[Sequence[Entry]]) -> Json:
        made = list(scenarios)
        entries = [entry for scenario in made for entry in scenario]
        for entry in self._permuted(entries):
            self._entries[entry.task.id] = entry
            self._waiting.append(entry.task.id)
        return [to_wire([entry.task for entry in scenario]) for scenario in made]

    def _permuted(self, entries: list[Entry]) -> list[Entry]:
        """For the leak tests: every sealed half moved to another task, no public half touched."""
        if self._permutation is None:
            return entries
        sealed = [entry.sealed for entry in entries]
        derive(self._permutation, "sealed permutation").shuffle(sealed)
        return [replace(e, sealed=s) for e, s in zip(entries, sealed, strict=True)]

    def _judge(self, request: Mapping[str, Json]) -> Json:
        task_id, submission = str(request["task"]), request["submission"]
        entry = self._entries[task_id]
        assert isinstance(submission, Mapping)
        plan, answer = _plan(submission.get("plan")), submission.get("answer")
        self._ahead = max(0, self._ahead - 1)
        checks: dict[str, Json] = {
            "plan_success": plan is not None and _judged(entry).valid(plan),
            "answer_accuracy": isinstance(answer, str)
            and _normal(answer) == _normal(self._truth(task_id)),
        }
        return {"success": all(checks.values()), "checks": checks}

    def _truth(self, task_id: str) -> str:
        if task_id not in self._truths:
            from auto_research.benchmarks.planbench import judge

            sealed = self._entries[task_id].sealed
            self._truths[task_id] = judge.truth(sealed.domain_text, sealed.question)
        return self._truths[task_id]


def _plan(value: Json) -> list[Step] | None:
    """The plan as names in lower case; None if it is not a list of lists of text."""
    if not isinstance(value, Sequence) or isinstance(value, str):
        return None
    plan: list[Step] = []
    for step in value:
        if not isinstance(step, Sequence) or isinstance(step, str) or not step:
            return None
        if not all(isinstance(name, str) for name in step):
            return None
        plan.append(tuple(str(name).lower() for name in step))
    return plan


def _normal(answer: str) -> str:
    return " ".join(answer.lower().split())


def _check_domains(entries: Sequence[Entry]) -> None:
    """Raises UserError if unified-planning cannot read what our reader could."""
    from auto_research.benchmarks.planbench import judge

    names = {entry.sealed.domain_text: entry.sealed.domain for entry in entries}
    for text, name in names.items():
        if problem := judge.complaint(text):
            raise UserError(
                f"unified-planning cannot read the domain: {problem}",
                where=name,
                mend="STRIPS with types and negative preconditions is judged",
            )


def _judged(entry: Entry) -> Judged:
    from auto_research.benchmarks.planbench import judge

    observation = entry.task.observation
    return judge.judged(observation["domain"], observation["problem"])
