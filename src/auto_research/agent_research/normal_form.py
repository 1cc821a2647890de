"""Python source up to renaming: what makes two differently written functions the same skill.

Programs that differ only in names, docstrings, comments or spacing have one normal form;
programs that may behave differently never share one. Names that others can see stay: host
functions, attributes, and parameters that a call with an unknown target may pass by keyword.
(Code that looks at its own names is not considered; the sandbox offers no way to.)
"""

from __future__ import annotations

import ast
import threading
from collections.abc import Iterable

from auto_research.agent_research.scopes import (
    Scope,
    Scoped,
    Scopes,
    imported_name,
    inside,
    outside,
    parameters_of,
    scopes_of,
)

MAX_DEPTH = 100  # levels of the syntax tree; deeper sources would exhaust Python's own stack
_PARSING = threading.Lock()


def syntax_tree(source: str) -> ast.Module:
    """What `ast.parse` gives, from any thread: CPython 3.11 counts the depth of its trees in one
    place for all threads, and fails by chance (SystemError) when two of them parse at once.
    """
    with _PARSING:
        return ast.parse(source)


def parse(source: str) -> ast.Module:
    """The syntax tree of `source`. Raises ValueError if it does not parse or nests too deep."""
    try:
        tree = syntax_tree(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise ValueError(f"skill source does not parse: {error}") from None
    level: list[ast.AST] = [tree]
    for _ in range(MAX_DEPTH):
        level = [child for node in level for child in ast.iter_child_nodes(node)]
    if level:
        raise ValueError(f"skill source nests deeper than {MAX_DEPTH} levels")
    return tree


def normal_form(tree: ast.Module) -> str:
    """The normal form of a source, the same under every Python version; `tree` is used up."""
    _Renamer(tree).visit(tree)
    return _text(tree)


class _Renamer(ast.NodeVisitor):
    """Walks a tree in a fixed order and replaces, in place, every name that its own code binds."""

    def __init__(self, tree: ast.Module) -> None:
        self._scopes = scopes_of(tree)
        self._scope = self._scopes.opened[tree]
        self._numbers: dict[tuple[Scope, str], int] = {}
        self._pinned = _pinned_parameters(tree, self._scopes)

    def visit(self, node: ast.AST) -> None:
        """Visit a node, its docstring dropped first."""
        for block in () if isinstance(node, ast.expr) else ("body", "orelse", "finalbody"):
            statements = getattr(node, block, None)
            if isinstance(statements, list):
                kept = [each for each in statements if not _is_text(each)]
                setattr(node, block, kept or ([ast.Pass()] if block == "body" else []))
        if isinstance(node, Scoped):
            self._visit_scoped(node)
        else:
            super().visit(node)

    def _visit_scoped(self, node: Scoped) -> None:
        scope = self._scopes.opened[node]
        self._visit_all(outside(node))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            node.name = self._renamed(node.name)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            node.returns = node.type_comment = None
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            for parameter in parameters_of(node):
                parameter.arg = self._renamed(parameter.arg, scope)
                parameter.annotation = parameter.type_comment = None
        around, self._scope = self._scope, scope
        self._visit_all(inside(node))
        self._scope = around

    def _visit_all(self, nodes: Iterable[ast.AST]) -> None:
        for node in nodes:
            self.visit(node)

    def _renamed(self, name: str, scope: Scope | None = None) -> str:
        owner = (scope or self._scope).owner(name)
        if owner is None or owner.kind == "class":
            return name
        if name in owner.parameters and (self._pinned is None or name in self._pinned):
            return name
        # No name in Python holds "$", so no host function can be mistaken for a variable.
        return f"${self._numbers.setdefault((owner, name), len(self._numbers))}"

    def visit_Name(self, node: ast.Name) -> None:
        node.id = self._renamed(node.id)

    def visit_Call(self, node: ast.Call) -> None:
        known = (
            self._scopes.functions.get(node.func.id) if isinstance(node.func, ast.Name) else None
        )
        self.generic_visit(node)
        scope = self._scopes.opened[known] if known else None
        for word in node.keywords:
            if scope is not None and word.arg in scope.parameters:
                word.arg = self._renamed(word.arg, scope)

    def visit_Constant(self, node: ast.Constant) -> None:
        node.kind = None

    def visit_Global(self, node: ast.Global | ast.Nonlocal) -> None:
        node.names = [self._renamed(name) for name in node.names]

    visit_Nonlocal = visit_Global

    def visit_alias(self, node: ast.alias) -> None:
        if name := imported_name(node):
            node.asname = self._renamed(name)

    def visit_ExceptHandler(self, node: ast.ExceptHandler) -> None:
        node.name = node.name and self._renamed(node.name)
        self.generic_visit(node)

    def visit_MatchAs(self, node: ast.MatchAs | ast.MatchStar) -> None:
        node.name = node.name and self._renamed(node.name)
        self.generic_visit(node)

    visit_MatchStar = visit_MatchAs

    def visit_MatchMapping(self, node: ast.MatchMapping) -> None:
        node.rest = node.rest and self._renamed(node.rest)
        self.generic_visit(node)


def _pinned_parameters(tree: ast.Module, scopes: Scopes) -> set[str] | None:
    """Parameter names that must stay, since a call with an unknown target may use them as keywords.

    None: all of them, since such a call unpacks a mapping.
    """
    pinned: set[str] = set()
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        name = node.func.id if isinstance(node.func, ast.Name) else None
        if name is not None and name not in scopes.bindings:
            continue
        for word in node.keywords:
            if word.arg is None:
                return None
            if name not in scopes.functions:
                pinned.add(word.arg)
    return pinned


def _is_text(node: ast.stmt) -> bool:
    """Whether a statement is a bare string, which does nothing: a docstring, most often."""
    if not isinstance(node, ast.Expr) or not isinstance(node.value, ast.Constant):
        return False
    return isinstance(node.value.value, str)


def _text(value: object) -> str:
    # `ast.dump` differs between Python versions, and ids must not.
    if isinstance(value, ast.AST):
        given = [(name, part) for name, part in ast.iter_fields(value) if not _is_void(name, part)]
        return (
            f"{type(value).__name__}({','.join(f'{name}={_text(part)}' for name, part in given)})"
        )
    if isinstance(value, list):
        return f"[{','.join(map(_text, value))}]"
    # Python refuses to write out very long integers in decimal.
    return hex(value) if type(value) is int else repr(value)


def _is_void(name: str, part: object) -> bool:
    return name == "ctx" or part is None or part == []
