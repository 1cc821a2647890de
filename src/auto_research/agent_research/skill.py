"""A skill: a piece of Python or text that an agent wrote, with its identity, origin and record."""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

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


def content_id(kind: SkillKind, source: str) -> str:
    """Hash of the normalised AST (function) or text, 16 hex digits.

    Names of the function and its variables, docstrings, comments and spacing do not count.
    Raises SyntaxError if a function's source does not parse.
    """
    normal = (
        normalised_source(source) if kind == "function" else " ".join(source.split()).casefold()
    )
    return hashlib.sha256(f"{kind}\0{normal}".encode()).hexdigest()[:16]


def normalised_source(source: str) -> str:
    """`source` as an AST dump with docstrings dropped and local names numbered by first use."""
    tree = ast.parse(source)
    bound = _bound_names(tree)
    numbers: dict[str, str] = {}

    def alias(name: str) -> str:
        return numbers.setdefault(name, f"v{len(numbers)}") if name in bound else name

    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            node.name = alias(node.name)
            if ast.get_docstring(node, clean=False) is not None:
                node.body = node.body[1:] or [ast.Pass()]
        elif isinstance(node, ast.Name):
            node.id = alias(node.id)
        elif isinstance(node, ast.arg):
            node.arg, node.annotation = alias(node.arg), None
        elif isinstance(node, ast.keyword) and node.arg is not None:
            node.arg = alias(node.arg)
    return ast.dump(tree)


def _bound_names(tree: ast.AST) -> set[str]:
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            names.add(node.name)
        elif isinstance(node, ast.arg):
            names.add(node.arg)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.add(node.id)
    return names


def function_skill(
    source: str,
    *,
    interface: Mapping[str, Json] | None = None,
    provenance: Provenance = Provenance(),
    main: str | None = None,
) -> Skill:
    """A skill from Python source; `main` names its public function (default: the first one).

    Raises ValueError if the source does not parse or defines no function (or not `main`).
    """
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise ValueError(f"skill source does not parse: {error}") from None
    functions = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}
    name = main or next(iter(functions), "")
    if name not in functions:
        raise ValueError(f"skill source defines no function {main or ''}".rstrip())
    node = functions[name]
    identity = content_id("function", source)
    return Skill(
        id=identity,
        kind="function",
        name=name,
        signature=f"{name}({ast.unparse(node.args)})",
        docstring=ast.get_docstring(node) or "",
        source=source,
        interface=dict(interface or {}),
        lineage=identity,
        provenance=provenance,
    )


def text_skill(text: str, *, name: str, provenance: Provenance = Provenance()) -> Skill:
    """A skill that is a rule or document in words."""
    identity = content_id("text", text)
    first = text.strip().splitlines()[0] if text.strip() else ""
    return Skill(
        id=identity,
        kind="text",
        name=name,
        signature="",
        docstring=first,
        source=text,
        lineage=identity,
        provenance=provenance,
    )
