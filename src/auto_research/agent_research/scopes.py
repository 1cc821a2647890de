"""Which name of a Python source means which variable: the scopes that its code opens."""

from __future__ import annotations

import ast
from collections import Counter
from dataclasses import dataclass, field
from typing import Literal

Function = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
Comprehension = ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp
Scoped = ast.Module | ast.ClassDef | Function | Comprehension


@dataclass(eq=False)
class Scope:
    """The names that one module, class, function or comprehension binds."""

    kind: Literal["module", "class", "function", "comprehension"]
    parent: Scope | None = None
    bound: set[str] = field(default_factory=set)
    parameters: frozenset[str] = frozenset()
    global_names: set[str] = field(default_factory=set)
    nonlocal_names: set[str] = field(default_factory=set)

    def owner(self, name: str) -> Scope | None:
        """The scope whose variable `name` is here; None for a host's or Python's own name."""
        scope: Scope | None = self
        while scope is not None:
            if name in scope.global_names:
                module = scope.module()
                return module if name in module.bound else None
            visible = scope is self or scope.kind != "class"
            if visible and name in scope.bound and name not in scope.nonlocal_names:
                return scope
            scope = scope.parent
        return None

    def module(self) -> Scope:
        """The outermost scope."""
        return self if self.parent is None else self.parent.module()

    def of_assignment_expression(self) -> Scope:
        """Where ``:=`` binds: a comprehension passes it on to what surrounds it."""
        if self.kind == "comprehension" and self.parent is not None:
            return self.parent.of_assignment_expression()
        return self


@dataclass(frozen=True)
class Scopes:
    """The scope that each scoped node opens.

    `bindings` counts how often each name is bound anywhere; `functions` has the plain functions
    whose name is bound only once, so that a call by that name can mean nothing else.
    """

    opened: dict[ast.AST, Scope]
    bindings: Counter[str]
    functions: dict[str, ast.FunctionDef | ast.AsyncFunctionDef]


def scopes_of(tree: ast.Module) -> Scopes:
    """The scopes of a parsed source."""
    found = Scopes({tree: Scope("module")}, Counter(), {})
    todo: list[tuple[ast.AST, Scope]] = [(node, found.opened[tree]) for node in tree.body]
    while todo:
        node, scope = todo.pop()
        for name in _names_bound_by(node):
            walrus = isinstance(node, ast.NamedExpr)
            (scope.of_assignment_expression() if walrus else scope).bound.add(name)
            found.bindings[name] += 1
        if isinstance(node, ast.Global):
            scope.global_names.update(node.names)
            scope.module().bound.update(node.names)
        elif isinstance(node, ast.Nonlocal):
            scope.nonlocal_names.update(node.names)
        if isinstance(node, Scoped):
            inner = found.opened[node] = _open(node, scope)
            found.bindings.update(inner.parameters)
            todo += [(child, scope) for child in outside(node)]
            todo += [(child, inner) for child in inside(node)]
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                callable_by_name = scope.kind != "class" and not node.decorator_list
                if callable_by_name:
                    found.functions[node.name] = node
        elif isinstance(node, ast.NamedExpr):
            todo.append((node.value, scope))
        else:
            todo += [(child, scope) for child in ast.iter_child_nodes(node)]
    for name in [name for name in found.functions if found.bindings[name] > 1]:
        del found.functions[name]
    return found


def parameters_of(node: Function) -> list[ast.arg]:
    """The parameters of a function, in the order of its signature."""
    spec = node.args
    stars = [spec.vararg] if spec.vararg else []
    last = [spec.kwarg] if spec.kwarg else []
    return [*spec.posonlyargs, *spec.args, *stars, *spec.kwonlyargs, *last]


def outside(node: Scoped) -> list[ast.expr]:
    """The expressions of a scoped node that are evaluated in the scope around it."""
    if isinstance(node, ast.ClassDef):
        return [*node.decorator_list, *node.bases, *(word.value for word in node.keywords)]
    if isinstance(node, Comprehension):
        return [node.generators[0].iter]
    if isinstance(node, ast.Module):
        return []
    decorators = [] if isinstance(node, ast.Lambda) else node.decorator_list
    named = [default for default in node.args.kw_defaults if default is not None]
    return [*decorators, *node.args.defaults, *named]


def inside(node: Scoped) -> list[ast.AST]:
    """The parts of a scoped node that are evaluated in the scope that it opens."""
    if isinstance(node, ast.Lambda):
        return [node.body]
    if not isinstance(node, Comprehension):
        return list(node.body)
    first, *others = node.generators
    parts: list[ast.AST] = [first.target, *first.ifs]
    for generator in others:
        parts += [generator.iter, generator.target, *generator.ifs]
    return parts + ([node.key, node.value] if isinstance(node, ast.DictComp) else [node.elt])


def _open(node: Scoped, around: Scope) -> Scope:
    if isinstance(node, ast.ClassDef):
        return Scope("class", around)
    if isinstance(node, Comprehension):
        return Scope("comprehension", around)
    if isinstance(node, ast.Module):
        return Scope("module")
    names = frozenset(parameter.arg for parameter in parameters_of(node))
    return Scope("function", around, set(names), names)


def _names_bound_by(node: ast.AST) -> list[str]:
    """The names that a node itself binds in the scope it stands in."""
    match node:
        case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
            return [node.name]
        case ast.Name(ctx=ast.Store() | ast.Del()):
            return [node.id]
        case ast.NamedExpr(target=ast.Name() as target):
            return [target.id]
        case ast.Import() | ast.ImportFrom():
            return [name for alias in node.names if (name := imported_name(alias))]
        case ast.ExceptHandler(name=str(name)) | ast.MatchAs(name=str(name)):
            return [name]
        case ast.MatchStar(name=str(name)) | ast.MatchMapping(rest=str(name)):
            return [name]
    return []


def imported_name(alias: ast.alias) -> str:
    """The name that an import binds; none for ``*`` and ``a.b``, which keep theirs."""
    plain = "" if "." in alias.name or alias.name == "*" else alias.name
    return alias.asname or plain
