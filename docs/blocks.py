"""Blocks of a page that a script writes, so that no figure or fact is copied by hand.

A block stands between two HTML comments: `<!-- KIND:NAME -->` and `<!-- /KIND -->`.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def fill(text: str, kind: str, make: Callable[[str], str]) -> str:
    """`text` with every block of `kind` replaced by what `make` gives for its name."""
    pattern = rf"(<!-- {kind}:([\w.-]+) -->\n).*?(<!-- /{kind} -->)"
    return re.sub(
        pattern,
        lambda found: f"{found[1]}\n{make(found[2]).strip()}\n\n{found[3]}",
        text,
        flags=re.DOTALL,
    )


def pages() -> list[Path]:
    """The README and every page of the docs."""
    return [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def run(kind: str, make: Callable[[str], str], arguments: Sequence[str] | None = None) -> int:
    """Fill every page, or with ``--check`` only name those that are out of date; the exit code.

    Layout alone does not count as a difference: it may change with a library's version.
    """
    parser = argparse.ArgumentParser(description=f"Fill the {kind} blocks of the docs.")
    parser.add_argument("--check", action="store_true", help="change nothing; exit 1 if stale")
    check = parser.parse_args(arguments).check
    stale = []
    for page in pages():
        old = page.read_text(encoding="utf-8")
        new = fill(old, kind, make)
        if new.split() != old.split():
            stale.append(page.relative_to(ROOT))
            if not check:
                page.write_text(new, encoding="utf-8")
    for name in stale:
        print(f"{'out of date' if check else 'filled'}: {name}", file=sys.stderr)
    return int(check and bool(stale))
