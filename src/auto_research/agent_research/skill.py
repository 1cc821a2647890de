"""A skill: a piece of Python or text that an agent wrote, with its identity, origin and record."""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from math import isfinite
from typing import Literal

from auto_research.agent_research.normal_form import normal_form, parse
from auto_research.benchmarks.base import Json

SkillKind = Literal["function", "text"]
SkillStatus = Literal["candidate", "active", "retired"]


@dataclass(frozen=True, slots=True)
class Provenance:
    """Where a skill came from. `query` is the text of the task it was written for."""

    run: str = ""
    scenario: str = ""
    task: str = ""
    query: str = ""
    attempt: int = 0


@dataclass(frozen=True, slots=True)
class Usage:
    """How a skill fared. `streak` counts harmful calls since the last helpful one.

    `called` counts episodes that ran it; of those `helped` ended in success, `harmed` did not.
    """

    retrieved: int = 0
    called: int = 0
    helped: int = 0
    harmed: int = 0
    streak: int = 0

    @property
    def success_rate(self) -> float:
        """Lifetime success rate with a Laplace prior, in (0, 1)."""
        return (self.helped + 1) / (self.helped + self.harmed + 2)

    def after(self, *, called: bool, helped: bool) -> Usage:
        """The record after one more episode that retrieved the skill."""
        if not called:
            return replace(self, retrieved=self.retrieved + 1)
        return Usage(
            retrieved=self.retrieved + 1,
            called=self.called + 1,
            helped=self.helped + helped,
            harmed=self.harmed + (not helped),
            streak=0 if helped else self.streak + 1,
        )


@dataclass(frozen=True, slots=True)
class Skill:
    """One version of a skill. Make it with `function_skill` or `text_skill`, which set the id.

    `lineage` is the id of the first version; `parents` the versions this one came from.
    `interface` is what the skill assumes of its world, as the writing agent recorded it
    (for `search`: the public action schemas), so that another task can be held against it.
    """

    id: str
    kind: SkillKind
    name: str
    signature: str
    docstring: str
    source: str
    interface: Mapping[str, Json] = field(default_factory=dict)
    status: SkillStatus = "active"
    version: int = 1
    lineage: str = ""
    parents: tuple[str, ...] = ()
    provenance: Provenance = Provenance()
    usage: Usage = Usage()


def content_id(kind: SkillKind, source: str, main: str | None = None) -> str:
    """Hash of the normal form of a function's source or of a text, 16 hex digits.

    Names of functions and variables, docstrings, comments and spacing do not count; which
    function is `main` (default: the first) does. Raises ValueError if a function's source does
    not parse, nests too deep or defines no such function.
    """
    if kind == "function":
        return _bare_function(source, main).id
    return _hash(kind, " ".join(source.split()).casefold())


def _hash(kind: SkillKind, normal: str) -> str:
    return hashlib.sha256(f"{kind}\0{normal}".encode()).hexdigest()[:16]


def function_skill(
    source: str,
    *,
    interface: Mapping[str, Json] | None = None,
    provenance: Provenance = Provenance(),
    main: str | None = None,
) -> Skill:
    """A skill from Python source; `main` names its public function (default: the first one).

    Raises ValueError if the source does not parse, nests too deep, or defines no function (or
    not `main`), or if `interface` is not plain data.
    """
    return replace(
        _bare_function(source, main),
        interface={key: plain_data(value) for key, value in (interface or {}).items()},
        provenance=provenance,
    )


@lru_cache(maxsize=1024)  # siblings write the same skills again and again
def _bare_function(source: str, main: str | None) -> Skill:
    tree = parse(source)
    functions = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}
    name = next(iter(functions), None) if main is None else main
    if name not in functions:
        raise ValueError(f"skill source defines no function {main or ''}".rstrip())
    node, place = functions[name], list(functions).index(name)
    signature = f"{name}({ast.unparse(node.args)})"
    docstring = str(plain_data(ast.get_docstring(node) or ""))
    normal = normal_form(tree) + (f"\0{place}" if place else "")
    identity = _hash("function", normal)
    return Skill(
        id=identity,
        kind="function",
        name=name,
        signature=signature,
        docstring=docstring,
        source=source,
        lineage=identity,
    )


def plain_data(value: Json) -> Json:
    """`value` as lists and dicts, as it will come back from a file.

    Raises ValueError for what JSON in UTF-8 cannot hold, such as NaN or half a character.
    """
    if isinstance(value, str):
        try:
            value.encode()
        except UnicodeEncodeError:
            raise ValueError(f"{value!r} holds half a character") from None
        return value
    if isinstance(value, Mapping):
        return {_key(key): plain_data(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain_data(item) for item in value]
    if value is None or isinstance(value, int) or (isinstance(value, float) and isfinite(value)):
        return value
    raise ValueError(f"{value!r} is not plain data")


def _key(key: object) -> str:
    if not isinstance(key, str):
        raise ValueError(f"the key {key!r} is not plain data")
    return str(plain_data(key))


def text_skill(
    text: str,
    *,
    name: str,
    interface: Mapping[str, Json] | None = None,
    provenance: Provenance = Provenance(),
) -> Skill:
    """A skill that is a rule or document in words.

    Raises ValueError if `interface` is not plain data.
    """
    identity = content_id("text", text)
    first = text.strip().splitlines()[0] if text.strip() else ""
    return Skill(
        id=identity,
        kind="text",
        name=name,
        signature="",
        docstring=first,
        source=text,
        interface={key: plain_data(value) for key, value in (interface or {}).items()},
        lineage=identity,
        provenance=provenance,
    )
