"""Read PDDL text (STRIPS, types, constants, negative preconditions); name what is not supported."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping
from dataclasses import replace

from auto_research.pddl.sexpr import Expr, PddlError, parse
from auto_research.pddl.strips import Atom, Domain, Problem, Schema

_UNSUPPORTED = {
    "or": "disjunctive conditions",
    "imply": "implications",
    "forall": "universal quantifiers",
    "exists": "existential quantifiers",
    "when": "conditional effects",
    "=": "equality",
    "increase": "numeric effects",
    "decrease": "numeric effects",
    "assign": "numeric effects",
}
_MAX_COMPLEMENT = 100_000


def read_domain(text: str) -> Domain:
    """A domain from PDDL text. Raises PddlError."""
    body = _definition(text, "domain")
    parents: dict[str, str] = {}
    arities: dict[str, int] = {}
    predicate_types: dict[str, tuple[str, ...]] = {}
    constants: dict[str, str] = {}
    raw: list[_RawAction] = []
    for section in body[1:]:
        head = _head(section)
        if head == ":types":
            parents = dict(_typed(section[1:]))
        elif head == ":constants":
            constants = dict(_typed(section[1:]))
        elif head == ":predicates":
            for entry in section[1:]:
                predicate, *rest = _list(entry, "a predicate") or [""]
                params = _typed(rest)
                arities[_name(predicate)] = len(params)
                predicate_types[_name(predicate)] = tuple(kind for _, kind in params)
        elif head == ":action":
            raw.append(_RawAction(section))
        elif head in (":functions", ":derived", ":durative-action", ":constraints") and section[1:]:
            raise PddlError(f"{head} is not supported")
    negated = frozenset(a[0] for action in raw for a in action.negative)
    schemas = {action.name: _keeping_step(action.schema(), negated) for action in raw}
    if len(schemas) != len(raw):
        raise PddlError("two actions share one name")
    if not schemas:
        raise PddlError("the domain has no action")
    name = _name(_list(body[0], "(domain NAME)")[1])
    domain = Domain(name, parents, arities, schemas, constants, negated, predicate_types)
    for action in raw:
        _check_types(action.types, domain)
        _check_action(schemas[action.name], domain)
    _check_types([*constants.values(), *(t for ts in predicate_types.values() for t in ts)], domain)
    return domain


def read_problem(text: str, domain: Domain) -> Problem:
    """A problem of `domain` from PDDL text. Raises PddlError."""
    body = _definition(text, "problem")
    objects: dict[str, str] = dict(domain.constants)
    init: list[Atom] = []
    goal: tuple[Atom, ...] | None = None
    for section in body[1:]:
        head = _head(section)
        if head == ":objects":
            objects.update(_typed(section[1:]))
        elif head == ":init":
            init, _ = _conjunction(["and", *section[1:]])  # what is not said is false anyway
        elif head == ":goal" and len(section) == 2:
            positive, negative = _conjunction(section[1])
            goal = (*positive, *(("not " + a[0], *a[1:]) for a in negative))
    if goal is None:
        raise PddlError("the problem has no :goal")
    _check_types(objects.values(), domain)
    for atom in (*init, *goal):
        _check_fact(atom, domain, objects)
    domain = _negating(domain, frozenset(a[0][4:] for a in goal if a[0].startswith("not ")))
    facts = set(init) | _type_atoms(domain, objects)
    for predicate in sorted(domain.negated):
        facts |= _complement(predicate, domain, objects, facts)
    fluents = domain.fluents
    return Problem(
        name=_name(_list(body[0], "(problem NAME)")[1]),
        domain=domain,
        objects=objects,
        static=frozenset(a for a in facts if a[0] not in fluents),
        init=frozenset(a for a in facts if a[0] in fluents),
        goal=tuple(dict.fromkeys(goal)),
    )


class _RawAction:
    def __init__(self, section: list[Expr]) -> None:
        if len(section) % 2:
            raise PddlError(
                f"action {section[1] if section[1:] else '?'} has a keyword without a value"
            )
        parts = {str(section[i]): section[i + 1] for i in range(2, len(section), 2)}
        self.name = _name(section[1])
        params = _typed(_list(parts.get(":parameters", []), "parameters"))
        self.params = tuple(name for name, _ in params)
        self.types = [kind for _, kind in params]
        types = [(f":{kind}", name) for name, kind in params if kind != "object"]
        positive, self.negative = _conjunction(parts.get(":precondition", []))
        self.positive = [*types, *positive]
        self.add, self.delete = _conjunction(parts.get(":effect", []))

    def schema(self) -> Schema:
        """The action before anything keeps the complements of negated predicates in step."""
        pre = [*self.positive, *(("not " + a[0], *a[1:]) for a in self.negative)]
        delete = tuple(a for a in self.delete if a not in self.add)
        return Schema(self.name, self.params, tuple(pre), tuple(self.add), delete)


def _keeping_step(schema: Schema, negated: frozenset[str]) -> Schema:
    """`schema`, whose effects on the predicates in `negated` change their complements too."""
    gone = tuple(("not " + a[0], *a[1:]) for a in schema.add if a[0] in negated)
    come = tuple(("not " + a[0], *a[1:]) for a in schema.delete if a[0] in negated)
    return replace(schema, add=schema.add + come, delete=schema.delete + gone)


def _negating(domain: Domain, more: frozenset[str]) -> Domain:
    """`domain` for a problem whose goal negates predicates that no precondition does."""
    new = more - domain.negated
    schemas = {name: _keeping_step(schema, new) for name, schema in domain.schemas.items()}
    return replace(domain, schemas=schemas, negated=domain.negated | new) if new else domain


def _check_types(kinds: Iterable[str], domain: Domain) -> None:
    known = {"object", *domain.parents, *domain.parents.values()}
    for kind in kinds:
        if kind not in known:
            raise PddlError(f"{kind!r} is not a declared type")


def _check_action(schema: Schema, domain: Domain) -> None:
    known = {*schema.params, *domain.constants}
    if len(set(schema.params)) != len(schema.params):
        raise PddlError(f"action {schema.name} has two parameters of one name")
    for atom in (*schema.pre, *schema.add, *schema.delete):
        arity = domain.predicates.get(atom[0].removeprefix("not "))
        if not atom[0].startswith(":") and arity != len(atom) - 1:
            raise PddlError(f"action {schema.name} uses {atom[0]!r}, which is not declared so")
        for argument in atom[1:]:
            if argument not in known:
                raise PddlError(f"action {schema.name} uses {argument!r}, which is no parameter")


def _check_fact(atom: Atom, domain: Domain, objects: Mapping[str, str]) -> None:
    predicate = atom[0].removeprefix("not ")
    wanted = domain.predicate_types.get(predicate)
    if wanted is None or len(wanted) != len(atom) - 1:
        raise PddlError(f"{predicate!r} is not a predicate of the domain with that arity")
    for thing, kind in zip(atom[1:], wanted, strict=True):
        if thing not in objects:
            raise PddlError(f"{thing!r} is not among the objects")
        if kind not in ("object", *domain.ancestors(objects[thing])):
            raise PddlError(f"{thing!r} in {predicate!r} is no {kind}")


def _type_atoms(domain: Domain, objects: dict[str, str]) -> set[Atom]:
    return {(f":{up}", thing) for thing, kind in objects.items() for up in domain.ancestors(kind)}


def _complement(
    predicate: str, domain: Domain, objects: dict[str, str], facts: set[Atom]
) -> set[Atom]:
    choices = [
        [o for o in sorted(objects) if kind == "object" or (f":{kind}", o) in facts]
        for kind in domain.predicate_types.get(predicate, ())
    ]
    size = 1
    for choice in choices:
        size *= len(choice)
    if size > _MAX_COMPLEMENT:
        raise PddlError(f"too many objects for the negative precondition on {predicate!r}")
    rows = itertools.product(*choices)
    return {("not " + predicate, *row) for row in rows if (predicate, *row) not in facts}


def _definition(text: str, kind: str) -> list[list[Expr]]:
    top = parse(text)
    if len(top) < 2 or top[0] != "define":
        raise PddlError("no (define ...) found")
    body = [_list(part, "a section") for part in top[1:]]
    if len(body[0]) != 2 or body[0][0] != kind:
        raise PddlError(f"this is not a {kind}: no ({kind} NAME)")
    return body


def _head(section: list[Expr]) -> str:
    return section[0] if section and isinstance(section[0], str) else ""


def _list(expr: Expr, what: str) -> list[Expr]:
    if not isinstance(expr, list):
        raise PddlError(f"expected {what} in brackets, found {expr!r}")
    return expr


def _name(expr: Expr) -> str:
    if not isinstance(expr, str):
        raise PddlError("expected a name, found a bracket")
    return expr


def _typed(items: list[Expr]) -> list[tuple[str, str]]:
    typed: list[tuple[str, str]] = []
    waiting: list[str] = []
    tokens = iter(items)
    for token in tokens:
        if token == "-":
            kind = next(tokens, None)
            if not isinstance(kind, str):
                raise PddlError("'either' types and types in brackets are not supported")
            typed += [(name, kind) for name in waiting]
            waiting = []
        else:
            waiting.append(_name(token))
    return typed + [(name, "object") for name in waiting]


def _conjunction(expr: Expr) -> tuple[list[Atom], list[Atom]]:
    """Positive and negative atoms of a conjunction (nested conjunctions are flattened)."""
    parts = _list(expr, "a condition")
    if not parts:
        return [], []
    if parts[0] == "and":
        positive: list[Atom] = []
        negative: list[Atom] = []
        for part in parts[1:]:
            more, less = _conjunction(part)
            positive += more
            negative += less
        return positive, negative
    if parts[0] == "not":
        if len(parts) != 2:
            raise PddlError("'not' takes one condition")
        return [], [_atom(parts[1])]
    return [_atom(parts)], []


def _atom(expr: Expr) -> Atom:
    parts = _list(expr, "an atom")
    if not parts:
        raise PddlError("an empty atom")
    head = parts[0]
    if isinstance(head, str) and head in _UNSUPPORTED:
        raise PddlError(f"{_UNSUPPORTED[head]} ({head}) are not supported")
    return tuple(_name(part) for part in parts)
