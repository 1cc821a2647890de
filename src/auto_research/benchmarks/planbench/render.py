"""A planning problem as PDDL text. Everything is sorted, so the order of a text tells nothing."""

from __future__ import annotations

from auto_research.benchmarks.planbench.worlds import Instance
from auto_research.pddl import Atom, Problem


def problem_text(instance: Instance, domain: str, name: str = "task") -> str:
    """PDDL text of `instance` for the domain named `domain`."""
    by_type: dict[str, list[str]] = {}
    for thing, kind in sorted(instance.objects.items()):
        by_type.setdefault(kind, []).append(thing)
    objects = "\n    ".join(
        " ".join(things) + ("" if kind == "object" else f" - {kind}")
        # Untyped names come last: a list without a type may not precede one with a type.
        for kind, things in sorted(by_type.items(), key=lambda item: (item[0] == "object", item[0]))
    )
    return (
        f"(define (problem {name}) (:domain {domain})\n"
        f"  (:objects\n    {objects})\n"
        f"  (:init\n    {_lines(instance.init)})\n"
        f"  (:goal (and\n    {_lines(instance.goal)})))\n"
    )


def atoms_text(atoms: list[Atom]) -> str:
    """Atoms on one line, sorted, or "none"."""
    return " ".join(f"({' '.join(atom)})" for atom in sorted(atoms)) or "none"


def instance_of(problem: Problem) -> Instance:
    """The values of a problem that was read from text: what `problem_text` writes again."""
    facts = [a for a in (*problem.static, *problem.init) if not a[0].startswith((":", "not "))]
    own = {o: t for o, t in problem.objects.items() if o not in problem.domain.constants}
    return Instance(own, tuple(sorted(facts)), tuple(problem.goal))


def _lines(atoms: tuple[Atom, ...]) -> str:
    return "\n    ".join(_atom(atom) for atom in sorted(atoms))


def _atom(atom: Atom) -> str:
    if atom[0].startswith("not "):
        return f"(not ({' '.join((atom[0][4:], *atom[1:]))}))"
    return f"({' '.join(atom)})"
