"""YAML that means what it says: the plain subset of YAML 1.2 that cannot surprise its writer.

PyYAML alone reads ``1e-6`` as text, ``on`` as true, ``12:30:00`` as 45000, and keeps the last
of two equal keys. Here only ``true`` and ``false`` are booleans, numbers are decimal, and
duplicate keys, aliases and tags are refused. What `yaml.safe_dump` wrote is read by its own rules
for scalars, under the same bounds.
"""

from __future__ import annotations

import math
import re
from pathlib import Path

import yaml

from auto_research.benchmarks.base import Json
from auto_research.errors import UserError

DEEPEST = 50  # levels of nesting; PyYAML's time grows with their square
LONGEST = 1_000_000  # bytes; PyYAML takes seconds for each million, comments too
LARGEST = 2**63  # of whole numbers in what a program wrote, in amount


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


class _Written(_Loader):
    """YAML 1.1's scalars, as `yaml.safe_dump` has them in mind; what looks like a date is text."""


_SCALARS = {f"tag:yaml.org,2002:{name}" for name in ("null", "bool", "int", "float")}
_Written.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in found if tag in _SCALARS]
    for first, found in yaml.SafeLoader.yaml_implicit_resolvers.items()
}


def _written_int(loader: _Written, node: yaml.Node) -> int:
    assert isinstance(node, yaml.ScalarNode)  # nothing else resolves to a number
    value = loader.construct_yaml_int(node)
    if abs(value) > LARGEST:
        raise _at(node, f"{node.value[:20]}... is too large a number")
    return value


def _written_float(loader: _Written, node: yaml.Node) -> float:
    assert isinstance(node, yaml.ScalarNode)
    value = loader.construct_yaml_float(node)
    if not math.isfinite(value):
        raise _at(node, f"{node.value[:20]} is no finite number")
    return value


yaml.add_constructor("tag:yaml.org,2002:int", _written_int, Loader=_Written)
yaml.add_constructor("tag:yaml.org,2002:float", _written_float, Loader=_Written)


def _refuse_riddles(text: str) -> None:
    """An alias makes gigabytes of a few lines, a tag makes an object, depth takes for ever."""
    if len(text) > LONGEST:
        raise ValueError(f"longer than {LONGEST:,} characters")
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
    return _parsed(text, _Loader, where)


def read(path: Path) -> Json:
    """The plain data in a file. Raises UserError if it is missing, unreadable or not YAML."""
    return _parsed(_text_of(path), _Loader, str(path))


def read_written(path: Path) -> Json:
    """The plain data in a file that `yaml.safe_dump` wrote. Raises UserError as `read`."""
    return _parsed(_text_of(path), _Written, str(path))


def _parsed(text: str, loader: type[_Loader], where: str) -> Json:
    try:
        _refuse_riddles(text)
        data: Json = yaml.load(text, Loader=loader)
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


def _text_of(path: Path) -> str:
    """The file's text, of which no more than need be is read."""
    try:
        with path.open("rb") as file:
            content = file.read(LONGEST + 1)
    except OSError as error:
        raise UserError(f"cannot read file: {error.strerror}", where=str(path)) from None
    if len(content) > LONGEST:
        raise UserError(f"the file is longer than {LONGEST:,} bytes", where=str(path))
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError:
        raise UserError("not a UTF-8 text file", where=str(path)) from None
