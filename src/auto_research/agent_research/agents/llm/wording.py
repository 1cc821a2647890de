"""Planning tasks in plain English, for every domain alike, from its names and structure alone."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence

from auto_research.pddl import Atom, Domain, PddlError, Problem, Schema, read_problem

QUESTION_KINDS = ("state", "validity")


def world_in_words(domain: Domain, objects: Mapping[str, str]) -> str:
    """What there is, which facts can hold and which actions there are."""
    kinds: dict[str, list[str]] = {}
    for name, kind in sorted(objects.items()):
        kinds.setdefault(kind, []).append(name)
    things = [
        f"Things{'' if kind == 'object' else f' of the kind {kind}'}: {', '.join(names)}."
        for kind, names in sorted(kinds.items())
    ]
    above = [f"Every {kind} is a {parent}." for kind, parent in sorted(domain.parents.items())]
    changing = ", ".join(sorted(n for n in domain.fluents if not n.startswith("not ")))
    actions = [_action(schema) for _, schema in sorted(domain.schemas.items())]
    lines = [*things, *(a for a in above if not a.endswith(" a object.")), ""]
    lines += [f"Facts that actions can change are of these kinds: {changing}.", "", "Actions:"]
    return "\n".join([*lines, *actions])


def facts_in_words(facts: Iterable[Atom]) -> str:
    """Facts, sorted, with commas between."""
    told = [_fact(atom) for atom in sorted(facts) if not atom[0].startswith((":", "not "))]
    return ", ".join(told) if told else "nothing"


def start_in_words(problem: Problem) -> str:
    """All facts that are true at a problem's start."""
    return facts_in_words(problem.init | problem.static)


def question_in_words(question: str, domain: Domain) -> str:
    """The task's question, with the problem and plan that it is about; as it is if unreadable."""
    try:
        asked = json.loads(question)
        problem = read_problem(asked["problem"], domain)
        steps = [tuple(map(str, step)) for step in asked["plan"]]
        kind, thing = asked["kind"], str(asked.get("object", ""))
        if kind not in QUESTION_KINDS or not all(steps):
            return question
    except (ValueError, KeyError, TypeError, PddlError):
        return question
    lines = [
        f"At its start these facts are true: {start_in_words(problem)}.",
        f"Wanted in the end there: {facts_in_words(problem.goal)}.",
        f"A plan for it: {'; '.join(map(_fact, steps))}.",
    ]
    if kind == "validity":
        ask = (
            "Can each action of the plan be done in its turn, and is all that is wanted there true "
            "after the last one? The answer is the one word valid or invalid."
        )
    else:
        ask = (
            f"Which facts that name {thing}, of the kinds that actions can change, are true after "
            "the plan? The answer is one line of text: each fact as (name thing thing), the facts "
            "sorted as texts, one space between two facts; or the word none."
        )
    return "\n".join([*lines, ask])


def _action(schema: Schema) -> str:
    kinds = {atom[1]: atom[0][1:] for atom in schema.pre if atom[0].startswith(":")}
    params = [p[1:] + (f" (a {kinds[p]})" if p in kinds else "") for p in schema.params]
    needs = [_plain(a) for a in schema.pre if not a[0].startswith(":")]
    makes = [_plain(a) for a in schema.add if not a[0].startswith("not ")]
    ends = [_plain(a) for a in schema.delete if not a[0].startswith("not ")]
    told = [f"- {schema.name} {', '.join(params)}".rstrip() + "."]
    told.append(f"Needs {_list(needs)}." if needs else "Can always be done.")
    if makes:
        told.append(f"Makes true: {_list(makes)}.")
    if ends:
        told.append(f"Makes untrue: {_list(ends)}.")
    return " ".join(told)


def _plain(atom: Atom) -> str:
    negated = atom[0].startswith("not ")
    words = (atom[0].removeprefix("not "), *(x.removeprefix("?") for x in atom[1:]))
    return ("that not " if negated else "") + _fact(words)


def _fact(atom: Sequence[str]) -> str:
    return f"({' '.join(atom)})"


def _list(parts: Sequence[str]) -> str:
    return ", ".join(parts)
