"""One task in two halves: what everybody may see, and what only the sealed process holds."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass

from auto_research.benchmarks.base import Json, Task
from auto_research.benchmarks.planbench.questions import Question

INSTRUCTION = (
    "Hand in two things. (1) plan: actions of the domain that lead from the problem's initial "
    "state to its goal, each a list of the action's name and its objects. (2) answer: one line of "
    "text that answers the question. The question is about another problem of the same domain and "
    'about the plan given with it. If its kind is "state": which atoms that mention the given '
    "object, of predicates that some action of the domain can change, are true after the given "
    'plan? Write each as "(predicate object ...)", sorted as text, separated by single spaces, or '
    '"none". If its kind is "validity": can every action of the given plan be done in turn from '
    "that problem's initial state, and does the plan reach that problem's goal? Write \"valid\" or "
    '"invalid".'
)


@dataclass(frozen=True)
class SealedTask:
    """What the agent's process never holds; `question` is what the truth is worked out from."""

    domain: str
    variant: str
    size: str
    origin: str  # split, seed and number, or the file
    canary: str
    domain_text: str
    question: Question


@dataclass(frozen=True)
class Entry:
    """Both halves of one task."""

    task: Task
    sealed: SealedTask


@dataclass(frozen=True)
class Draft:
    """A task before it has an id."""

    domain_text: str
    problem_text: str
    question_text: str
    sealed: SealedTask


def scenario_of(drafts: Sequence[Draft]) -> tuple[Entry, ...]:
    """The tasks of one scenario. Ids hash the public text, so they tell nothing more than it."""
    public = json.dumps([[d.domain_text, d.problem_text, d.question_text] for d in drafts])
    scenario = hashlib.sha256(public.encode()).hexdigest()[:12]
    return tuple(
        Entry(_task(draft, scenario, position), draft.sealed)
        for position, draft in enumerate(drafts)
    )


def canary(origin: str) -> str:
    """A string that must never be seen outside the sealed process."""
    return "canary-" + hashlib.sha256(f"planbench canary {origin}".encode()).hexdigest()[:24]


def to_wire(tasks: Sequence[Task]) -> list[Json]:
    """Public tasks as JSON values."""
    return [asdict(task) for task in tasks]


def _task(draft: Draft, scenario: str, position: int) -> Task:
    return Task(
        id=f"{scenario}_{position + 1}",
        scenario=scenario,
        position=position,
        kind="pddl",
        instruction=INSTRUCTION,
        observation={
            "domain": draft.domain_text,
            "problem": draft.problem_text,
            "question": draft.question_text,
        },
    )
