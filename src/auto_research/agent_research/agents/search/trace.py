"""A raw plan as a skill: its steps as they were, its objects found by what it began with.

This is the control `raw-trace`: reuse of a whole plan, with nothing learned about its parts.
"""

from __future__ import annotations

from collections.abc import Sequence

from auto_research.pddl import Problem, Step
from auto_research.pddl.strips import Atom, instantiate


def render_trace(problem: Problem, plan: Sequence[Step]) -> str:
    """Python source of a function that does `plan` wherever its start and goals match."""
    needed: dict[Atom, None] = {}
    made: set[Atom] = set()
    for step in plan:
        ground = instantiate(problem.domain, step)
        if ground is None:
            continue
        needed |= dict.fromkeys(a for a in (*ground.static, *ground.pre) if a not in made)
        made = (made - set(ground.delete)) | set(ground.add)
    things = list(dict.fromkeys(x for step in plan for x in step[1:]))
    names = {x: f"x{i}" for i, x in enumerate(things) if x not in problem.domain.constants}
    free = ", ".join(repr(name) for name in names.values())
    bound = ", ".join(names.values())

    def fact(a: Atom, mark: str = "?") -> str:
        words = [repr(mark + names[x]) if x in names else repr(x) for x in a[1:]]
        return "(" + ", ".join([repr(a[0]), *words]) + ("," if len(a) == 1 else "") + ")"

    goals = sorted(a for a in problem.goal if all(x in names for x in a[1:]))
    lines = [
        "def replay(goals):",
        '    """A whole plan, step by step, where its start and its goals match."""',
        "    for found in pattern(",
        f"        ({free},)," if names else "        (),",
        "        goals,",
        f"        ({', '.join(map(fact, goals))},),",
        *(f"        {fact(a)}," for a in needed),
        "    ):",
        f"        {bound}{',' if len(names) == 1 else ''} = found"
        if names
        else "        _ = found",
    ]
    acts = []
    for step in plan:
        words = [repr(step[0]), *(names.get(x, repr(x)) for x in step[1:])]
        acts.append(f"act({', '.join(words)})")
    lines += [
        "        done = (",
        *(f"            {'and ' if i else ''}{act}" for i, act in enumerate(acts)),
        "        )",
        "        if done and not missing(goals):",
        "            return True",
        "        restart()",
        "    return False",
    ]
    return "\n".join([*lines, "", "", "rules = {}", ""])
