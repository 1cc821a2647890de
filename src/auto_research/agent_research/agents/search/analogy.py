"""Hold one domain against another by structure alone: names mislead, action schemas do not."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from auto_research.benchmarks.base import Json
from auto_research.pddl import Atom, Domain, Schema

Charge = Callable[[str, int], None]
Names = dict[str, str]  # keys and values carry a mark: is it a predicate or an action
_PREDICATE, _ACTION = "p", "a"
_Choice = tuple[str, list[str]]  # a word and the words that it could stand for


@dataclass(frozen=True, slots=True)
class Analogy:
    """Words of the skill's domain mapped to words of the task's.

    Predicates (types among them) and actions are apart: a deceptive domain may use one word for
    both. `exact`: the two domains are the same but for names; otherwise the task's actions ask
    for or do more than the skill knows of.
    """

    predicates: Mapping[str, str]
    actions: Mapping[str, str]
    exact: bool

    def back(self) -> Analogy:
        """The same analogy read from the task's words to the skill's."""
        return Analogy(_inverse(self.predicates), _inverse(self.actions), self.exact)


def _inverse(names: Mapping[str, str]) -> dict[str, str]:
    return {there: here for here, there in names.items()}


def interface_of(domain: Domain) -> dict[str, Json]:
    """A domain's public action schemas as plain data: what a skill written in it assumes."""
    return {
        "schemas": [
            {
                "name": s.name,
                "params": list(s.params),
                "pre": [list(a) for a in s.pre],
                "add": [list(a) for a in s.add],
                "delete": [list(a) for a in s.delete],
            }
            for _, s in sorted(domain.schemas.items())
        ]
    }


def schemas_in(interface: Mapping[str, Json]) -> list[Schema]:
    """The schemas of an interface; empty if it is not one that `interface_of` made."""
    found = interface.get("schemas")
    if not isinstance(found, Sequence) or isinstance(found, str):
        return []
    return [s for entry in found if isinstance(entry, Mapping) and (s := _schema(entry))]


def _schema(entry: Mapping[str, Json]) -> Schema | None:
    def atoms(key: str) -> tuple[Atom, ...]:
        rows = entry.get(key)
        if not isinstance(rows, Sequence) or isinstance(rows, str):
            return ()
        return tuple(
            tuple(str(x) for x in row)
            for row in rows
            if isinstance(row, Sequence) and not isinstance(row, str) and row
        )

    params = entry.get("params")
    if not isinstance(params, Sequence) or isinstance(params, str):
        return None
    name = str(entry.get("name", ""))
    return Schema(name, tuple(map(str, params)), atoms("pre"), atoms("add"), atoms("delete"))


def find_analogy(interface: Mapping[str, Json], domain: Domain, charge: Charge) -> Analogy | None:
    """The first mapping under which the interface's schemas are schemas of `domain`, or None.

    Exact mappings are tried first, then ones in which the domain's actions have more
    preconditions or effects. Each pair of schemas held together costs one ``bind``, and so does
    each word tried after another one failed. Parameters correspond by position.
    """
    schemas = schemas_in(interface)
    if not schemas:
        return None
    theirs = [s for _, s in sorted(domain.schemas.items())]
    for exact in (True, False):
        if exact and len(schemas) != len(theirs):
            continue
        if len(schemas) > len(theirs):
            continue
        names = _assign(sorted(schemas, key=_weight), theirs, {}, exact, charge)
        if names is not None:
            predicates = {k[1:]: v[1:] for k, v in names.items() if k[0] == _PREDICATE}
            actions = {k[1:]: v[1:] for k, v in names.items() if k[0] == _ACTION}
            return Analogy(predicates, actions, exact)
    return None


def _weight(schema: Schema) -> tuple[int, str]:
    """The most constrained schemas first: fewest mappings to go back on."""
    return (-len(schema.pre) - len(schema.add) - len(schema.delete), schema.name)


def _assign(
    schemas: Sequence[Schema],
    theirs: Sequence[Schema],
    names: Names,
    exact: bool,
    charge: Charge,
) -> Names | None:
    if not schemas:
        return names
    first, rest = schemas[0], schemas[1:]
    same_name = [s for s in theirs if s.name == first.name]
    for other in [*same_name, *(s for s in theirs if s.name != first.name)]:
        if not _comparable(first, other, exact):
            continue
        charge("bind", 1)
        left = [s for s in theirs if s is not other]
        for more in _match(first, other, names, charge):
            found = _assign(rest, left, more, exact, charge)
            if found is not None:
                return found
    return None


def _comparable(one: Schema, other: Schema, exact: bool) -> bool:
    if len(one.params) != len(other.params):
        return False
    pairs = [(one.pre, other.pre), (one.add, other.add), (one.delete, other.delete)]
    if exact:
        return all(len(a) == len(b) for a, b in pairs)
    return all(len(a) <= len(b) for a, b in pairs)


def _match(one: Schema, other: Schema, names: Names, charge: Charge) -> Iterator[Names]:
    """Every extension of `names` under which all atoms of `one` are atoms of `other`."""
    positions = dict(zip(one.params, other.params, strict=True))
    choices: list[_Choice] = []
    for mine, theirs in ((one.pre, other.pre), (one.add, other.add), (one.delete, other.delete)):
        for atom in mine:
            target = tuple(positions.get(x, x) for x in atom[1:])
            kind = atom[0].startswith(":")  # a type never stands for a predicate
            fitting = [
                _PREDICATE + t[0]
                for t in theirs
                if t[1:] == target and t[0].startswith(":") == kind
            ]
            choices.append((_PREDICATE + atom[0], fitting))
    return _extend(choices, {**names, _ACTION + one.name: _ACTION + other.name}, charge)


def _extend(choices: Sequence[_Choice], names: Names, charge: Charge) -> Iterator[Names]:
    """`names` with a choice for each word that contradicts no other, the narrowest choice first."""
    if not choices:
        yield names
        return
    taken = set(names.values())
    left = [
        (here, [t for t in fitting if (names[here] == t if here in names else t not in taken)])
        for here, fitting in choices
    ]
    narrowest = min(range(len(left)), key=lambda i: (len(left[i][1]), i))
    here, fitting = left.pop(narrowest)
    for number, there in enumerate(sorted(fitting, key=lambda t: t != here)):
        if number:
            charge("bind", 1)
        yield from _extend(left, {**names, here: there}, charge)
