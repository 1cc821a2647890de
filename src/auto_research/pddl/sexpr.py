"""PDDL text as nested lists and back, so that nobody has to edit PDDL with regular expressions."""

from __future__ import annotations

import re

Expr = str | list["Expr"]

_TOKEN = re.compile(r"[()]|[^\s()]+")
_COMMENT = re.compile(r";[^\n]*")
_MAX_DEPTH = 100


class PddlError(ValueError):
    """The text is not PDDL, or uses a feature that the reader names."""


def parse(text: str) -> list[Expr]:
    """The first bracketed expression of `text`, lower-cased, comments dropped. Raises PddlError."""
    stack: list[list[Expr]] = [[]]
    for token in _TOKEN.findall(_COMMENT.sub("", text).lower()):
        if token == "(":
            if len(stack) > _MAX_DEPTH:
                raise PddlError("nested too deeply")
            stack.append([])
        elif token == ")":
            if len(stack) == 1:
                raise PddlError("a closing bracket too many")
            done = stack.pop()
            stack[-1].append(done)
        else:
            stack[-1].append(token)
    if len(stack) != 1:
        raise PddlError(f"{len(stack) - 1} bracket(s) not closed")
    top = stack[0][0] if stack[0] else []
    if not isinstance(top, list):
        raise PddlError("the text does not begin with a bracket")
    return top


def show(expr: Expr) -> str:
    """`expr` as PDDL text on one line; `parse` reads it back."""
    return expr if isinstance(expr, str) else "(" + " ".join(map(show, expr)) + ")"


def show_definition(definition: list[Expr]) -> str:
    """A ``(define ...)`` as PDDL text, one section a line."""
    return "(define " + "\n  ".join(map(show, definition[1:])) + ")\n"
