"""A planning task as a world to act in by code: state and plan stay here, every action is charged.

Code runs in the sandbox (`agent_research/sandbox.py`), in one shell that lasts as long as the
task, and sees the functions of `hosts` and nothing else of the task. All it can ask about is
public: the task's own domain and problem.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from typing import Any

from auto_research.agent_research.agents.llm.context import trimmed
from auto_research.agent_research.budget import Meter
from auto_research.agent_research.sandbox import Sandbox
from auto_research.benchmarks.base import Json, Observation
from auto_research.errors import BudgetExceeded
from auto_research.pddl import Atom, Problem, Schema, Step
from auto_research.pddl.strips import instantiate

MAX_OUTPUT = 100_000  # characters printed by one block
MAX_LISTED = 2_000  # actions in one listing


class PlanningWorld:
    """An `Environment` of one planning task. Close it before another one uses the sandbox."""

    def __init__(self, problem: Problem, sandbox: Sandbox, meter: Meter) -> None:
        self.problem, self._meter = problem, meter
        self.plan: list[Step] = []
        self.answer: str | None = None
        self.finished = False
        self._timed_out = False
        self._states = [problem.init]  # after each action
        self._broke: BudgetExceeded | None = None
        self._shell = sandbox.shell()

    def execute(self, code: str, calls: int | None = None) -> Observation:
        """Run code. Raises BudgetExceeded once the budget is spent, even if the code hid it.

        What the host functions do is charged here, so no API call is told of.
        """
        printed: list[str] = []
        size = 0

        def hear(text: str) -> None:
            nonlocal size
            if size < MAX_OUTPUT:
                printed.append(text)
            size += len(text)

        outcome = self._shell.run(code, self.hosts(), hear)
        if self._broke is not None:
            raise self._broke
        self._timed_out = self._timed_out or outcome.failure == "time"
        text = trimmed("".join(printed), MAX_OUTPUT) + outcome.message
        return Observation(text, bool(outcome.failure), finished=self.finished)

    def submission(self) -> Mapping[str, Json]:
        """The plan and the answer so far."""
        return {"plan": [list(step) for step in self.plan], "answer": self.answer}

    def flags(self) -> tuple[str, ...]:
        """Whether a clock stopped some code."""
        return ("safety-net",) if self._timed_out else ()

    def close(self) -> None:
        """End the shell; safe to call twice."""
        self._shell.close()

    def hosts(self) -> dict[str, Callable[..., Any]]:
        """The functions that code may call; they are described in templates/guide-pddl.j2."""
        return {
            "facts": self._facts,
            "goal": lambda: list(self.problem.goal),
            "missing": self._missing,
            "possible": self._possible,
            "act": self._act,
            "undo": self._undo,
            "done": lambda: list(self.plan),
            "finish": self._finish,
        }

    def _facts(self) -> list[Atom]:
        return sorted(a for a in self._states[-1] | self.problem.static if _shown(a))

    def _missing(self) -> list[Atom]:
        known = self._states[-1] | self.problem.static
        return [atom for atom in self.problem.goal if atom not in known]

    def _possible(self, name: object = None) -> list[Step]:
        schemas = self.problem.domain.schemas
        chosen = [schemas[n] for n in sorted(schemas) if name is None or n == name]
        found: list[Step] = []
        for schema in chosen:
            for step in self._candidates(schema):
                self._charge("ground")
                if self._applies(step) and len(found) < MAX_LISTED:
                    found.append(step)
        return found

    def _candidates(self, schema: Schema) -> itertools.product[Any]:
        """Every step of a schema whose objects are of the right kinds."""
        static = self.problem.static
        kinds: dict[str, list[str]] = {p: [] for p in schema.params}
        for atom in schema.pre:
            if atom[0].startswith(":") and atom[1] in kinds:
                kinds[atom[1]].append(atom[0])
        choices = [
            [o for o in sorted(self.problem.objects) if all((k, o) in static for k in kinds[p])]
            for p in schema.params
        ]
        return itertools.product([schema.name], *choices)

    def _applies(self, step: Step) -> bool:
        ground = instantiate(self.problem.domain, step)
        return ground is not None and ground.applicable(self._states[-1], self.problem.static)

    def _act(self, name: object, *objects: object) -> None:
        step = tuple(str(x)[:1000] for x in (name, *objects))
        self._charge("act")
        ground = instantiate(self.problem.domain, step)
        if ground is None:
            raise ValueError(f"there is no action {' '.join(step)}")
        state, static = self._states[-1], self.problem.static
        if not ground.applicable(state, static):
            lacking = [a for a in (*ground.pre, *ground.static) if a not in state | static]
            told = ", ".join(f"({' '.join(a)})" for a in lacking)
            raise ValueError(f"{' '.join(step)} cannot be done now: it needs {told}")
        self.plan.append(step)
        self._states.append(ground.apply(state))

    def _undo(self, count: object = 1) -> None:
        if isinstance(count, int) and count > 0:
            kept = max(0, len(self.plan) - count)
            del self.plan[kept:], self._states[kept + 1 :]

    def _finish(self, answer: object = None) -> None:
        if missing := self._missing():
            told = ", ".join(f"({' '.join(a)})" for a in missing)
            raise ValueError(f"not all that is wanted is true yet: {told}")
        self.answer = None if answer is None else str(answer)[:10_000]
        self.finished = True

    def _charge(self, kind: str) -> None:
        """A budget that is spent refuses everything from then on: code may swallow one refusal."""
        if self._broke is not None:
            raise self._broke
        try:
            self._meter.spend(kind)
        except BudgetExceeded as error:
            self._broke = error
            raise


def _shown(atom: Atom) -> bool:
    return not atom[0].startswith((":", "not "))
