"""Answer a task's question by simulating the given plan, charged an ``act`` a step."""

from __future__ import annotations

import json

from auto_research.agent_research.agents.search.rules import Charge
from auto_research.pddl import Domain, PddlError, read_problem
from auto_research.pddl.strips import instantiate


def answer(question: str, domain: Domain, charge: Charge) -> str | None:
    """The answer in the asked form, or None if the question cannot be read.

    A ``state`` question: the fluent atoms that name the object after the plan, sorted, one
    space between, or ``none``. A ``validity`` question: ``valid`` or ``invalid``.
    Raises BudgetExceeded.
    """
    try:
        asked = json.loads(question)
        problem = read_problem(asked["problem"], domain)
        plan = [tuple(map(str, step)) for step in asked["plan"]]
        kind, thing = asked["kind"], asked.get("object", "")
    except (ValueError, KeyError, TypeError, PddlError):
        return None
    if kind not in ("state", "validity") or not all(plan):
        return None
    state, sound = problem.init, True
    for step in plan:
        charge("act", 1)
        ground = instantiate(problem.domain, step)
        if ground is None or not ground.applicable(state, problem.static):
            sound = False
            break
        state = ground.apply(state)
    if kind == "validity":
        return "valid" if sound and state | problem.static >= set(problem.goal) else "invalid"
    told = [a for a in state if thing in a[1:] and not a[0].startswith("not ")]
    return " ".join(sorted("(" + " ".join(a) + ")" for a in told)) or "none"
