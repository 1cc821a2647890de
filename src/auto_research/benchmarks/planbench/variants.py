"""The four variants of a world: names as they are, unknown, misleading, or one action more.

Renaming is a pure function over PDDL expressions and atoms: the meaning of a domain never changes,
only `drifted` adds an action.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from random import Random
from typing import Literal

from auto_research.benchmarks.planbench.worlds import Drift, Instance, World
from auto_research.pddl import Atom, Expr, PddlError, Step, parse

Variant = Literal["plain", "mystery", "deceptive", "drifted"]
VARIANTS: tuple[Variant, ...] = ("plain", "mystery", "deceptive", "drifted")

_CONSONANTS, _VOWELS = "bcdfghjklmnprstvz", "aeiou"
_LOGICAL = frozenset({"and", "not"})


@dataclass(frozen=True)
class Names:
    """New names; one that is not mentioned stays. `neutral_variables` renames them ?x0, ?x1..."""

    actions: Mapping[str, str] = field(default_factory=dict)
    predicates: Mapping[str, str] = field(default_factory=dict)
    types: Mapping[str, str] = field(default_factory=dict)
    objects: Mapping[str, str] = field(default_factory=dict)
    neutral_variables: bool = False

    def with_objects(self, objects: Mapping[str, str]) -> Names:
        return replace(self, objects=objects)


def variant_domain(world: World, variant: Variant) -> list[Expr]:
    """The domain of a variant under plain names."""
    domain = parse(world.domain)
    return drift(domain, world.drift) if variant == "drifted" else domain


def variant_names(rng: Random, domain: Sequence[Expr], variant: Variant) -> Names:
    """Fresh names for the actions, predicates and types of `domain`."""
    actions = [str(s[1]) for s in _sections(domain, ":action")]
    arities = {str(p[0]): _arity(p) for p in _predicates(domain)}
    types = [
        name
        for section in _sections(domain, ":types")
        for name in dict.fromkeys(map(str, section[1:]))
        if name not in ("-", "object")
    ]
    if variant == "mystery":
        words = iter(invented_words(rng, len(actions) + len(arities) + len(types)))
        return Names(
            actions={name: next(words) for name in actions},
            predicates={name: next(words) for name in arities},
            types={name: next(words) for name in types},
            neutral_variables=True,
        )
    if variant == "deceptive":
        predicates: dict[str, str] = {}
        for arity in sorted(set(arities.values())):
            predicates |= _misleading(rng, [p for p, n in arities.items() if n == arity])
        return Names(
            actions=_misleading(rng, actions),
            predicates=predicates,
            types=_misleading(rng, types),
            neutral_variables=True,
        )
    return Names()


def invented_words(rng: Random, count: int, syllables: int = 3) -> list[str]:
    """`count` different pronounceable words."""
    words: dict[str, None] = {}
    while len(words) < count:
        word = "".join(rng.choice(_CONSONANTS) + rng.choice(_VOWELS) for _ in range(syllables))
        words[word] = None
    return list(words)


def drift(domain: Sequence[Expr], change: Drift) -> list[Expr]:
    """`domain` with the extra action; each action in need requires its atom and uses it up."""
    drifted: list[Expr] = []
    for section in domain:
        if isinstance(section, list) and section[0] == ":predicates":
            drifted.append([*section, parse(change.predicate)])
        elif isinstance(section, list) and section[0] == ":action" and section[1] in change.needs:
            drifted.append(_with_need(section, parse(change.needs[str(section[1])])))
        else:
            drifted.append(section)
    return [*drifted, parse(change.action)]


def rename_domain(domain: Sequence[Expr], names: Names) -> list[Expr]:
    """`domain` under new names."""
    return [_rename_section(part, names) for part in domain]


def rename_instance(instance: Instance, names: Names) -> Instance:
    """`instance` under new names."""
    return Instance(
        {names.objects.get(o, o): names.types.get(t, t) for o, t in instance.objects.items()},
        rename_atoms(instance.init, names),
        rename_atoms(instance.goal, names),
    )


def rename_atoms(atoms: Iterable[Atom], names: Names) -> tuple[Atom, ...]:
    """Ground atoms under new names."""
    return tuple(_rename_ground(atom, names.predicates, names.objects) for atom in atoms)


def rename_plan(plan: Iterable[Step], names: Names) -> tuple[Step, ...]:
    """Ground actions under new names."""
    return tuple(_rename_ground(step, names.actions, names.objects) for step in plan)


def _rename_ground(
    atom: Atom, heads: Mapping[str, str], objects: Mapping[str, str]
) -> tuple[str, ...]:
    return (heads.get(atom[0], atom[0]), *(objects.get(x, x) for x in atom[1:]))


def _misleading(rng: Random, names: Sequence[str]) -> dict[str, str]:
    """A permutation of `names` that leaves none in place (a lone name must stay)."""
    if len(names) < 2:
        return {name: name for name in names}
    while True:
        mixed = rng.sample(names, len(names))
        if all(a != b for a, b in zip(names, mixed, strict=True)):
            return dict(zip(names, mixed, strict=True))


def _rename_section(section: Expr, names: Names) -> Expr:
    if not isinstance(section, list) or not section:
        return section
    head = section[0]
    if head == ":types":
        return [head, *(names.types.get(str(t), str(t)) for t in section[1:])]
    if head == ":predicates":
        return [head, *(_rename_declared(p, names) for p in section[1:])]
    if head == ":action":
        return _rename_action(section, names)
    return section


def _rename_declared(predicate: Expr, names: Names) -> Expr:
    if not isinstance(predicate, list):
        raise PddlError("a predicate must be in brackets")
    head = str(predicate[0])
    rest = _rename_typed(predicate[1:], _variables(predicate[1:], names), names)
    return [names.predicates.get(head, head), *rest]


def _rename_action(section: list[Expr], names: Names) -> Expr:
    name = str(section[1])
    parts = dict(zip(map(str, section[2::2]), section[3::2], strict=True))
    parameters = parts[":parameters"]
    assert isinstance(parameters, list)
    variables = _variables(parameters, names)
    renamed: list[Expr] = [":action", names.actions.get(name, name)]
    for keyword, value in parts.items():
        if keyword == ":parameters":
            renamed += [keyword, _rename_typed(parameters, variables, names)]
        else:
            renamed += [keyword, _rename_condition(value, variables, names)]
    return renamed


def _rename_condition(condition: Expr, variables: Mapping[str, str], names: Names) -> Expr:
    if not isinstance(condition, list) or not condition:
        return condition
    head = str(condition[0])
    if head in _LOGICAL:
        return [head, *(_rename_condition(c, variables, names) for c in condition[1:])]
    arguments = (variables.get(str(x), str(x)) for x in condition[1:])
    return [names.predicates.get(head, head), *arguments]


def _rename_typed(items: Sequence[Expr], variables: Mapping[str, str], names: Names) -> list[Expr]:
    return [variables.get(str(x), names.types.get(str(x), str(x))) for x in items]


def _variables(items: Sequence[Expr], names: Names) -> dict[str, str]:
    if not names.neutral_variables:
        return {}
    found = [str(x) for x in items if str(x).startswith("?")]
    return {name: f"?x{i}" for i, name in enumerate(found)}


def _with_need(section: list[Expr], atom: Expr) -> list[Expr]:
    changed = list(section)
    for i in range(2, len(section), 2):
        extra = {":precondition": atom, ":effect": ["not", atom]}.get(str(section[i]))
        condition = section[i + 1]
        if extra is not None and isinstance(condition, list):
            changed[i + 1] = [*condition, extra]
    return changed


def _sections(domain: Sequence[Expr], head: str) -> list[list[Expr]]:
    return [s for s in domain if isinstance(s, list) and s and s[0] == head]


def _predicates(domain: Sequence[Expr]) -> list[list[Expr]]:
    return [p for s in _sections(domain, ":predicates") for p in s[1:] if isinstance(p, list)]


def _arity(predicate: Sequence[Expr]) -> int:
    return sum(str(x).startswith("?") for x in predicate[1:])
