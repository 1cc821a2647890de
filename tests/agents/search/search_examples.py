"""Small worlds in PDDL, a bill that counts what is charged, and a check of plans of our own."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

from auto_research.agent_research.agents.search.forward import Searcher
from auto_research.agent_research.budget import Spending
from auto_research.agent_research.operators import Choice, Episode
from auto_research.benchmarks.base import Json, Task
from auto_research.errors import BudgetExceeded
from auto_research.pddl import Atom, Problem, Step, read_domain, read_problem
from auto_research.pddl.strips import State, instantiate

FIXTURES = Path(__file__).parents[3] / "fixtures"
SEARCH = FIXTURES / "search"
LAMPS = FIXTURES / "planbench" / "lamps"


class Bill(Counter[str]):
    """What was charged, by kind; a charge past `cap` is refused and not counted."""

    def __init__(self, cap: int = 10**9) -> None:
        super().__init__()
        self.cap = cap

    def charge(self, kind: str, amount: int = 1) -> None:
        if self.total() + amount > self.cap:
            raise BudgetExceeded("units", amount, self.total(), self.cap)
        self[kind] += amount


def texts(name: str) -> tuple[str, str]:
    """The domain and the problem of a fixture folder, as text."""
    folder = SEARCH / name
    return (folder / "domain.pddl").read_text(), (folder / "problem.pddl").read_text()


def problem_of(name: str) -> Problem:
    domain, problem = texts(name)
    return read_problem(problem, read_domain(domain))


def task_problem(task: Task) -> Problem:
    """The problem of a task."""
    return read_problem(task.observation["problem"], read_domain(task.observation["domain"]))


def task_of(name: str, question: str = "") -> Task:
    domain, problem = texts(name)
    observation = {"domain": domain, "problem": problem, "question": question}
    return Task(f"{name}_1", name, 0, "pddl", "solve it", observation)


def end_of(problem: Problem, plan: Iterable[Step], start: State | None = None) -> State | None:
    """The state after `plan`; None if a step cannot be done or names what is no object."""
    state = problem.init if start is None else start
    for step in plan:
        ground = instantiate(problem.domain, step)
        if ground is None or not set(step[1:]) <= set(problem.objects):
            return None
        if not ground.applicable(state, problem.static):
            return None
        state = ground.apply(state)
    return state


def solves(problem: Problem, plan: Sequence[Step] | None) -> bool:
    end = None if plan is None else end_of(problem, plan)
    return end is not None and set(problem.goal) <= end | problem.static


def found_plan(problem: Problem, limit: int = 20_000) -> list[Step]:
    """A plan found by the agent's own search."""
    plan = Searcher(problem, Bill().charge).plan(problem.init, problem.goal, limit)
    assert plan is not None
    return plan


def episode_of(task: Task, plan: Sequence[Step], segments: Sequence[Json] | None = None) -> Episode:
    """An episode whose attempt found `plan` for the task's goal, in one stretch if not said."""
    goal: list[Json] = [list(atom) for atom in task_problem(task).goal]
    whole: Json = {"from": 0, "to": len(plan), "goal": goal}
    evidence: Json = {
        "plan": [list(step) for step in plan],
        "segments": [whole] if segments is None else list(segments),
    }
    return Episode(
        id="e1",
        task=task,
        position=0,
        choice=Choice(),
        uses=(),
        own_check=True,
        verdict=None,
        has_submission=True,
        spending=Spending(),
        evidence=json.loads(json.dumps(evidence)),
    )


def atoms(text: str) -> tuple[Atom, ...]:
    """Atoms written as "(p ?x) (q ?x ?y)"."""
    return tuple(tuple(part.strip("() ").split()) for part in text.split(")") if part.strip())
