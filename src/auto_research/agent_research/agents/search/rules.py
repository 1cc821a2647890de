"""Rules: what one step of a successful plan shows about how to make a fact true.

A rule says: to make `head` true, find objects for which `static`, `via` and `given` hold, bring
about `needs`, then do `action`. They come from the plan's causal structure (explanation-based
learning, Mitchell et al. 1986): `static` is what the action itself asks for and no action changes;
`via` is the shortest chain of facts, taken as given by the steps that led up to the action, that
ties its free variables to the head; `given` is what else held each time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from auto_research.pddl import Atom, Domain

RULES_A_HEAD_AND_ACTION = 5

Charge = Callable[[str, int], None]
OrderHint = tuple[str, int, str, int]


@dataclass(frozen=True, slots=True)
class Rule:
    """One way to make `head` true; variables start with ``?``. `seen` counts its witnesses."""

    head: Atom
    action: Atom
    needs: tuple[Atom, ...]
    static: tuple[Atom, ...] = ()
    via: tuple[Atom, ...] = ()
    given: tuple[Atom, ...] = ()
    seen: int = 1

    def variables(self) -> list[str]:
        """Action variables that the head leaves free, in order."""
        bound = set(self.head[1:])
        return [x for x in dict.fromkeys(self.action[1:]) if x.startswith("?") and x not in bound]


@dataclass(frozen=True, slots=True)
class Program:
    """Everything a skill knows: rules by head predicate, and which goals must wait for which.

    A hint ``(p, i, q, j)``: a goal on ``p`` whose argument i is argument j of a goal on ``q``
    comes after that goal. `hints` counts witnesses for and against.
    """

    rules: tuple[Rule, ...]
    hints: Mapping[OrderHint, int] = field(default_factory=dict)
    goals: frozenset[str] = frozenset()  # goal predicates it was written for


def canonical(rule: Rule) -> tuple[Atom, ...]:
    """Head, action, needs and chain with variables numbered by first use.

    Equal for rules that differ in variable names, order of needs or `given` only.
    """
    return _numbered(rule)[0]


def _numbered(rule: Rule) -> tuple[tuple[Atom, ...], dict[str, str]]:
    """The canonical form, and the number that each variable has in it."""
    numbers: dict[str, str] = {}

    def number(atom: Atom) -> Atom:
        return (
            atom[0],
            *(numbers.setdefault(x, f"?{len(numbers)}") if x[:1] == "?" else x for x in atom[1:]),
        )

    fixed = [number(rule.head), number(rule.action)]
    needs = sorted(number(a) for a in rule.needs)
    rest, ordered = [*rule.static, *rule.via], []
    while rest:  # the atom whose variables are known best comes next
        rest.sort(key=lambda a: (sum(x not in numbers for x in a[1:]), a[0], len(a), a))
        ordered.append(number(rest.pop(0)))
    return (*fixed, *needs, ("|",), *sorted(ordered)), numbers


def merge_rules(rules: Iterable[Rule]) -> tuple[Rule, ...]:
    """Rules without repeats, best first for each head: what was shown often, tightest first.

    Repeats add up their witnesses and keep what was `given` in all of them.
    """
    merged: dict[tuple[Atom, ...], Rule] = {}
    for rule in rules:
        key = canonical(rule)
        known = merged.get(key)
        merged[key] = _generalised(known, rule) if known else rule
    ranked = sorted(
        merged.items(),
        key=lambda kr: (kr[1].head[0], -kr[1].seen, -len(kr[1].given), kr[0]),
    )
    kept: list[Rule] = []
    for _, rule in ranked:
        twins = [r for _, r in ranked if (r.head[0], r.action[0]) == (rule.head[0], rule.action[0])]
        twins.sort(key=lambda r: -r.seen)
        if rule in twins[:RULES_A_HEAD_AND_ACTION]:
            kept.append(rule)
    return tuple(kept)


def _generalised(one: Rule, other: Rule) -> Rule:
    # The order of needs is better known the more of them had to be brought about.
    first, second = sorted((one, other), key=lambda r: (len(set(r.needs) & set(r.given)), -r.seen))
    ours = {number: x for x, number in _numbered(first)[1].items()}
    names = {x: ours[number] for x, number in _numbered(second)[1].items()}
    theirs = {(a[0], *(names.get(x, x) for x in a[1:])) for a in second.given}
    return replace(
        first,
        given=tuple(a for a in first.given if a in theirs),
        seen=one.seen + other.seen,
    )


def merge(programs: Sequence[Program]) -> Program:
    """One program with the rules and hints of all."""
    hints: dict[OrderHint, int] = {}
    for program in programs:
        for hint, count in program.hints.items():
            hints[hint] = hints.get(hint, 0) + count
    return Program(
        merge_rules(rule for program in programs for rule in program.rules),
        hints,
        frozenset(name for program in programs for name in program.goals),
    )


def schema_program(domain: Domain, goal: Sequence[Atom]) -> Program:
    """Every action schema as rules, nothing learned: the program of control `all-schemas`."""
    rules: list[Rule] = []
    for schema in domain.schemas.values():
        needs = tuple(a for a in schema.pre if a[0] in domain.fluents)
        statics = tuple(a for a in schema.pre if a[0] not in domain.fluents)
        action = (schema.name, *schema.params)
        for head in schema.add:
            if len(set(head[1:])) == len(head[1:]):
                rules.append(Rule(head, action, needs, statics, given=needs))
                if needs:
                    rules.append(Rule(head, action, needs, statics))
    return Program(tuple(rules), {}, frozenset(a[0] for a in goal))
