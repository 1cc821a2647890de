"""Reads what a model wrote: the code block of a reply, and what code defines, calls and needs."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from auto_research.agent_research.normal_form import syntax_tree

_FENCE = re.compile(r"^[ \t]*```[ \t]*([\w+-]*)[^\n]*\n(.*?)(?:^[ \t]*```|\Z)", re.DOTALL | re.M)
_PYTHON = ("", "python", "py", "python3")


def blocks_in(reply: str) -> list[str]:
    """The Python blocks of a reply, in order; one that the reply's end cuts off counts too."""
    found = _FENCE.findall(reply)
    return [code for language, code in found if language.lower() in _PYTHON and code.strip()]


def parsed(code: str) -> ast.Module | None:
    """The code's tree, or None if it is no Python."""
    try:
        return syntax_tree(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


@dataclass(frozen=True, slots=True)
class Block:
    """One block of code that was run. `output` is what the model was told of it."""

    code: str
    failed: bool
    output: str = ""


def defined(code: str) -> dict[str, ast.FunctionDef]:
    """The functions that code defines at its top level, by name."""
    tree = parsed(code)
    body = tree.body if tree is not None else []
    return {node.name: node for node in body if isinstance(node, ast.FunctionDef)}


def named(node: ast.AST) -> set[str]:
    """The names that code reads."""
    return {
        part.id
        for part in ast.walk(node)
        if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Load)
    }


def named_outside(code: str) -> set[str]:
    """The names that code reads, but for those read only where functions are defined by it."""
    tree = parsed(code)
    body = tree.body if tree is not None else []
    return {name for node in body if not isinstance(node, ast.FunctionDef) for name in named(node)}


def uses(blocks: Sequence[Block], names: Sequence[str]) -> dict[str, list[Block]]:
    """For each of `names`, the blocks that name it while it is what it was at the beginning.

    That is 1_skill of SAGE: use by name, without a redefinition.
    """
    found: dict[str, list[Block]] = {name: [] for name in names}
    own = set(names)
    for block in blocks:
        own -= defined(block.code).keys()
        tree = parsed(block.code)
        for name in named(tree) & own if tree is not None else ():
            found[name].append(block)
    return found


def written(blocks: Sequence[Block], given: str = "") -> dict[str, str]:
    """The functions that were defined and ran, by name: sources that stand by themselves.

    A function ran if, from its last definition on, a block that calls it (directly, or through
    another function) came to its end without an error. A source holds the imports and the other
    functions that it needs too, those of the code `given` at the start among them; its own
    function is the last.
    """
    latest, imports = defined(given), _imports(given)
    mine: set[str] = set()
    ran: set[str] = set()
    for block in blocks:
        new = defined(block.code)
        latest |= new
        mine |= new.keys()
        ran -= new.keys()
        imports |= _imports(block.code)
        if not block.failed:
            called = named_outside(block.code) & latest.keys()
            ran |= {name for start in called for name in _reached(start, latest)}
    return {name: _source(name, latest, imports) for name in latest if name in ran & mine}


def _imports(code: str) -> dict[str, ast.stmt]:
    tree = parsed(code)
    found: dict[str, ast.stmt] = {}
    for node in tree.body if tree is not None else []:
        if isinstance(node, ast.Import | ast.ImportFrom):
            for alias in node.names:
                found[(alias.asname or alias.name).partition(".")[0]] = node
    return found


def _reached(start: str, functions: Mapping[str, ast.FunctionDef]) -> list[str]:
    """`start` and the functions it calls, directly or not, each before those that call it."""
    order: list[str] = []
    seen: set[str] = set()

    def visit(name: str) -> None:
        if name in seen or name not in functions:
            return
        seen.add(name)
        for inner in sorted(named(functions[name])):
            visit(inner)
        order.append(name)

    visit(start)
    return order


def _source(
    name: str, functions: Mapping[str, ast.FunctionDef], imports: Mapping[str, ast.stmt]
) -> str:
    parts = [functions[part] for part in _reached(name, functions)]
    needed = {read for part in parts for read in named(part)}
    lines = sorted({ast.unparse(node) for read, node in imports.items() if read in needed})
    return "\n\n\n".join(["\n".join(lines)] * bool(lines) + [ast.unparse(p) for p in parts]) + "\n"


def together(sources: Sequence[str]) -> str:
    """Sources as one, each statement once; the first source is the last and so has its way."""
    parts: dict[str, None] = {}
    for source in sources:
        tree = parsed(source)
        texts = [ast.unparse(node) for node in tree.body] if tree is not None else [source]
        parts |= dict.fromkeys(text for text in reversed(texts) if text not in parts)
    return "\n\n\n".join(reversed(parts))


def actions(blocks: Sequence[Block]) -> tuple[str, ...]:
    """The calls by a dotted name in blocks that ran, in textual order: ``name<keyword,...>``."""
    return tuple(label for b in blocks if not b.failed for label in calls(b.code))


def calls(code: str) -> Iterator[str]:
    """The calls by a dotted name in code, such as ``apis.phone.login<password>``."""
    tree = parsed(code)
    nodes = [n for n in ast.walk(tree) if isinstance(n, ast.Call)] if tree is not None else []
    for node in sorted(nodes, key=lambda n: (n.lineno, n.col_offset)):
        name = ast.unparse(node.func)
        if isinstance(node.func, ast.Attribute) and re.fullmatch(r"[A-Za-z_][\w.]*\.\w+", name):
            yield f"{name}<{','.join(sorted(k.arg for k in node.keywords if k.arg))}>"


def as_one_function(blocks: Sequence[Block], name: str) -> str:
    """Every block that ran, in turn, as the body of one function without parameters."""
    body = [node for b in blocks if not b.failed if (t := parsed(b.code)) for node in t.body]
    if not body:
        return ""
    function = syntax_tree(f"def {name}():\n    pass").body[0]
    assert isinstance(function, ast.FunctionDef)
    function.body = body
    return ast.unparse(function) + "\n"
