"""YAML that means what it says: the plain subset of YAML 1.2 that cannot surprise its writer.

PyYAML alone reads ``1e-6`` as text, ``on`` as true, ``12:30:00`` as 45000, and keeps the last
of two equal keys. Here only ``true`` and ``false`` are booleans, numbers are decimal, and
duplicate keys, aliases and tags are refused.
"""

from __future__ import annotations

import math
import re
from pathlib import Path

import yaml

from auto_research.benchmarks.base import Json
from auto_research.errors import UserError

DEEPEST = 50  # levels of nesting; PyYAML's time grows with their square


class _Loader(yaml.SafeLoader):
    """SafeLoader with the resolvers and constructors below in place of YAML 1.1's."""


_Loader.yaml_implicit_resolvers = {}


def _mapping(loader: _Loader, node: yaml.Node) -> dict[str, Json]:
    found: dict[str, Json] = {}
    for key_node, value_node in node.value:
        key = loader.construct_object(key_node, deep=True)
        if not isinstance(key, str):
            raise _at(key_node, f"key {key!r} is not text; put it in quotes")
        if key in found:
            raise _at(key_node, f"key {key!r} is there twice")
        found[key] = loader.construct_object(value_node, deep=True)
    return found


def _int(loader: _Loader, node: yaml.Node) -> int:
    return int(node.value)


def _float(loader: _Loader, node: yaml.Node) -> float:
    value = float(node.value)
    if not math.isfinite(value):
        raise _at(node, f"{node.value} is too large a number")
    return value


def _at(place: yaml.Node | yaml.Event, problem: str) -> yaml.MarkedYAMLError:
    mark = place.start_mark
    mark = mark if isinstance(mark, yaml.Mark) else None
    return yaml.MarkedYAMLError(problem=problem, problem_mark=mark)


def _resolve(name: str, pattern: str, first: list[str]) -> None:
    expression = re.compile(rf"(?:{pattern})\Z")
    yaml.add_implicit_resolver(f"tag:yaml.org,2002:{name}", expression, first, Loader=_Loader)


_resolve("null", r"~|null|", ["~", "n", ""])
_resolve("bool", r"true|false", ["t", "f"])
_resolve("int", r"[-+]?[0-9]+", [*"-+0123456789"])
_resolve(
    "float",
    r"[-+]?(?:[0-9]+\.[0-9]*|\.[0-9]+|[0-9]+(?=[eE]))(?:[eE][-+]?[0-9]+)?",
    [*"-+.0123456789"],
)
yaml.add_constructor("tag:yaml.org,2002:int", _int, Loader=_Loader)
yaml.add_constructor("tag:yaml.org,2002:float", _float, Loader=_Loader)
yaml.add_constructor("tag:yaml.org,2002:map", _mapping, Loader=_Loader)


def _refuse_riddles(text: str) -> None:
    """An alias makes gigabytes of a few lines, a tag makes an object, depth takes for ever."""
    depth = 0
    for event in yaml.parse(text, Loader=_Loader):
        depth += isinstance(event, yaml.CollectionStartEvent)
        depth -= isinstance(event, yaml.CollectionEndEvent)
        if depth > DEEPEST:
            raise _at(event, f"more than {DEEPEST} levels deep")
        if isinstance(event, yaml.AliasEvent):
            raise _at(event, "aliases (*name) are not supported")
        if getattr(event, "tag", None) is not None:
            raise _at(event, "tags (!name) are not supported")


class _Dumper(yaml.SafeDumper):
    """SafeDumper that quotes whatever `_Loader` would not read back as text."""

    def ignore_aliases(self, data: object) -> bool:
        return True


def _text(dumper: _Dumper, text: str) -> yaml.Node:
    # PyYAML folds the rarer line breaks into spaces unless it is told to escape them.
    style = '"' if re.search("[\x85\u2028\u2029]", text) else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Dumper.yaml_implicit_resolvers = _Loader.yaml_implicit_resolvers
yaml.add_representer(str, _text, Dumper=_Dumper)


def dump(data: Json) -> str:
    """`data` as YAML that `parse` reads back to equal data; keys stay in their order."""
    text: str = yaml.dump(data, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=96)
    return text


def parse(text: str, *, where: str = "") -> Json:
    """The plain data in `text`. Raises UserError naming `where`, line and column."""
    try:
        _refuse_riddles(text)
        data: Json = yaml.load(text, Loader=_Loader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        place = f"line {mark.line + 1}, column {mark.column + 1}" if mark else ""
        raise UserError(
            f"not valid YAML: {error.problem or error.context}",
            where=", ".join(filter(None, (where, place))),
        ) from None
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise UserError(f"not valid YAML: {error}", where=where) from None
    return data


def read(path: Path) -> Json:
    """The plain data in a file. Raises UserError if it is missing, unreadable or not YAML."""
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise UserError(f"cannot read file: {error.strerror}", where=str(path)) from None
    except UnicodeDecodeError:
        raise UserError("not a UTF-8 text file", where=str(path)) from None
    return parse(text, where=str(path))
