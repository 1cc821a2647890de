"""The question of a task: about a plan for another start and goal, so that it gives nothing away.

Only the question is made here. Its answer is worked out by the judge, with unified-planning.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from random import Random
from typing import Literal

from auto_research.benchmarks.planbench.render import problem_text
from auto_research.benchmarks.planbench.sizes import QUESTION_WALK
from auto_research.benchmarks.planbench.variants import Names, rename_instance, rename_plan
from auto_research.benchmarks.planbench.walk import Walk, follow, random_walk
from auto_research.benchmarks.planbench.worlds import Instance
from auto_research.pddl import Atom, Domain, Problem, Step, read_problem

QuestionKind = Literal["state", "validity"]
_TRIES = 20


@dataclass(frozen=True)
class Question:
    """What is asked: the state of `thing` after `plan`, or whether `plan` solves `instance`."""

    kind: QuestionKind
    instance: Instance
    plan: tuple[Step, ...]
    thing: str = ""  # "state" only

    def renamed(self, names: Names) -> Question:
        """The same question under new names."""
        return replace(
            self,
            instance=rename_instance(self.instance, names),
            plan=rename_plan(self.plan, names),
            thing=names.objects.get(self.thing, self.thing),
        )

    def problem(self, domain: str) -> str:
        """The problem that the question is about, as PDDL text."""
        return problem_text(self.instance, domain, "question")

    def text(self, domain: str) -> str:
        """The public JSON text of the question."""
        public: dict[str, object] = {
            "kind": self.kind,
            "problem": self.problem(domain),
            "plan": [list(step) for step in self.plan],
        }
        if self.kind == "state":
            public["object"] = self.thing
        return json.dumps(public)


def draw_question(rng: Random, domain: Domain, start: Instance) -> Question:
    """A question about a walk from `start`, whose own goal is replaced by one that the walk meets.

    Raises ValueError if nothing can be done in `start`.
    """
    problem = read_problem(problem_text(start, domain.name), domain)
    walk = _long_walk(rng, problem)
    instance = start.with_goal(_goal_met(rng, walk))
    if rng.random() < 0.5:
        return Question("state", instance, walk.steps, _thing(rng, walk, start.objects))
    flaw = rng.choice(("none", "none", "truncated", "broken"))
    plan = walk.steps
    if flaw == "truncated":
        plan = plan[:-1]
    elif flaw == "broken":
        plan = _broken(rng, problem, plan)
    return Question("validity", instance, plan)


def _long_walk(rng: Random, problem: Problem) -> Walk:
    best = random_walk(rng, problem, rng.randint(*QUESTION_WALK))
    for _ in range(_TRIES):
        if len(best.steps) >= QUESTION_WALK[0]:
            break
        best = max(best, random_walk(rng, problem, QUESTION_WALK[1]), key=lambda w: len(w.steps))
    if not best.steps:
        raise ValueError(f"no action can be done at the start of problem {problem.name}")
    return best


def _goal_met(rng: Random, walk: Walk) -> tuple[Atom, ...]:
    """One or two atoms true at the end, one of them not before the last action if there is one."""
    first, before, last = walk.states[0], walk.states[-2], walk.states[-1]
    late = _positive(last - before)
    new = _positive(last - first)
    chosen = {rng.choice([a for a in late if a in new] or late or _positive(last))}
    if new:
        chosen.add(rng.choice(new))
    return tuple(sorted(chosen))


def _thing(rng: Random, walk: Walk, objects: Mapping[str, str]) -> str:
    """An object of the plan, if possible one that the last state says something about."""
    used = sorted({x for step in walk.steps for x in step[1:]})
    told = {x for atom in _positive(walk.states[-1]) for x in atom[1:]}
    return rng.choice([x for x in used if x in told] or used or sorted(objects))


def _broken(rng: Random, problem: Problem, plan: tuple[Step, ...]) -> tuple[Step, ...]:
    """`plan` with one action left out so that a later one cannot be done; else cut short."""
    shorter = [plan[:i] + plan[i + 1 :] for i in range(len(plan) - 1)]
    broken = [p for p in shorter if follow(problem, p) is None]
    return rng.choice(broken) if broken else plan[:-1]


def _positive(state: frozenset[Atom]) -> list[Atom]:
    return sorted(atom for atom in state if not atom[0].startswith("not "))
