"""A program put into other words, completed for another world, or cut down to a part of itself."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace

from auto_research.agent_research.agents.search.analogy import Analogy
from auto_research.agent_research.agents.search.rules import Program, Rule, canonical
from auto_research.pddl import Atom, Domain, Step


def label(step: Step, domain: Domain) -> str:
    """A step without its objects, ``verb<type,...>``: what two like steps have in common."""
    schema = domain.schemas.get(step[0])
    if schema is None:
        return step[0]
    types = {a[1]: a[0][1:] for a in schema.pre if a[0][:1] == ":"}
    return f"{step[0]}<{','.join(types.get(p, 'object') for p in schema.params)}>"


def narrowed(program: Program, span: Collection[str], domain: Domain) -> Program:
    """Only the rules whose action is in `span`, by label."""
    rules = tuple(r for r in program.rules if label(r.action, domain) in span)
    return replace(program, rules=rules)


def limited(program: Program, known: Sequence[Program], limit: int) -> Program:
    """At most `limit` rules, those shown most often, that none of the `known` programs has."""
    old = {canonical(rule) for one in known for rule in one.rules}
    new = [rule for rule in program.rules if canonical(rule) not in old]
    kept = sorted(new, key=lambda r: (-r.seen, canonical(r)))[:limit]
    return replace(program, rules=tuple(r for r in program.rules if r not in new or r in kept))


def shrunk(program: Program) -> Iterator[Program]:
    """The program without its first rule, without its second, and so on; never an empty one."""
    for i in range(len(program.rules) if len(program.rules) > 1 else 0):
        yield replace(program, rules=program.rules[:i] + program.rules[i + 1 :])


def translate(program: Program, analogy: Analogy) -> Program:
    """The program in other words; a word the analogy lacks stays as it is."""
    names, actions = analogy.predicates, analogy.actions

    def atom(a: Atom) -> Atom:
        return (names.get(a[0], a[0]), *a[1:])

    def rule(r: Rule) -> Rule:
        return Rule(
            head=atom(r.head),
            action=(actions.get(r.action[0], r.action[0]), *r.action[1:]),
            needs=tuple(map(atom, r.needs)),
            static=tuple(map(atom, r.static)),
            via=tuple(map(atom, r.via)),
            given=tuple(map(atom, r.given)),
            seen=r.seen,
        )

    hints = {
        (names.get(p, p), i, names.get(q, q), j): n for (p, i, q, j), n in program.hints.items()
    }
    goals = frozenset(names.get(g, g) for g in program.goals)
    return Program(tuple(map(rule, program.rules)), hints, goals)


def completed(rules: Sequence[Rule], domain: Domain) -> tuple[Rule, ...]:
    """The rules with all that their actions ask for in `domain`; without those it does not have."""
    kept: list[Rule] = []
    for rule in rules:
        schema = domain.schemas.get(rule.action[0])
        if schema is None or len(schema.params) != len(rule.action) - 1:
            continue
        binding = dict(zip(schema.params, rule.action[1:], strict=True))
        asked = [(a[0], *(binding.get(x, x) for x in a[1:])) for a in schema.pre]
        brought = [(a[0], *(binding.get(x, x) for x in a[1:])) for a in schema.add]
        if rule.head not in brought:
            continue
        more = [a for a in asked if a not in rule.needs and a not in rule.static]
        needs = (*rule.needs, *(a for a in more if a[0] in domain.fluents))
        static = (*rule.static, *(a for a in more if a[0] not in domain.fluents))
        kept.append(replace(rule, needs=needs, static=static))
    return tuple(kept)
