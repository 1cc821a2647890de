"""Python source as highlighted HTML, at build time, so that the report needs no highlighter."""

from __future__ import annotations

import io
import keyword
import token
import tokenize

from markupsafe import Markup, escape


def highlight(source: str) -> Markup:
    """`source`, escaped, with spans for keywords, strings, numbers, comments and defined names.

    Text that does not tokenise as Python comes back escaped and plain.
    """
    try:
        tokens = list(tokenize.generate_tokens(io.StringIO(source).readline))
    except (tokenize.TokenError, SyntaxError, RecursionError):
        return escape(source)
    lines = list(io.StringIO(source))
    pieces: list[Markup] = []
    at = (1, 0)
    previous = ""
    for item in tokens:
        kind = _kind(item, previous)
        previous = item.string
        if kind:
            pieces.append(escape(_between(lines, at, item.start)))
            pieces.append(Markup('<span class="{}">{}</span>').format(kind, item.string))
            at = item.end
    pieces.append(escape(_between(lines, at, (len(lines) + 1, 0))))
    return Markup("").join(pieces)


def _kind(item: tokenize.TokenInfo, previous: str) -> str:
    if item.type == token.NAME:
        if previous in ("def", "class"):
            return "hl-def"
        return "hl-key" if keyword.iskeyword(item.string) else ""
    kinds = {token.STRING: "hl-str", token.NUMBER: "hl-num", tokenize.COMMENT: "hl-com"}
    return kinds.get(item.type, "")


def _between(lines: list[str], start: tuple[int, int], end: tuple[int, int]) -> str:
    """The text from `start` up to `end`, both (line from 1, column)."""
    (first, left), (last, right) = start, end
    if first > len(lines):
        return ""
    if first == last:
        return lines[first - 1][left:right]
    tail = lines[last - 1][:right] if last <= len(lines) else ""
    return lines[first - 1][left:] + "".join(lines[first : last - 1]) + tail
