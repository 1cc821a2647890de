"""Plans for the tests: the one that a question gives, and a shortest one for a small task."""

from __future__ import annotations

import json
from collections import deque

from auto_research.benchmarks.base import Task
from auto_research.benchmarks.planbench.walk import applicable
from auto_research.pddl import Step, read_domain, read_problem


def given_plan(task: Task) -> tuple[Step, ...]:
    """The plan that the question of a task is about."""
    return tuple(tuple(step) for step in json.loads(task.observation["question"])["plan"])


def solve(domain_text: str, problem_text: str, states: int = 50_000) -> tuple[Step, ...] | None:
    """A shortest plan, or None if none was found among the first `states` states."""
    problem = read_problem(problem_text, read_domain(domain_text))
    came: dict[frozenset[tuple[str, ...]], tuple[Step, ...]] = {problem.init: ()}
    waiting = deque([problem.init])
    while waiting and len(came) < states:
        state = waiting.popleft()
        for ground in applicable(problem, state):
            after = ground.apply(state)
            if after not in came:
                came[after] = (*came[state], ground.step)
                if (after | problem.static).issuperset(problem.goal):
                    return came[after]
                waiting.append(after)
    return None
