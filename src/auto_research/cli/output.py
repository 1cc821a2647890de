"""How commands print: a rich table for people, or nothing but JSON for programs."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from typing import Annotated

import typer

from auto_research.benchmarks.base import Json

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON and nothing else.")]


def print_json(data: Json) -> None:
    """`data` on stdout; keys keep their order."""
    print(json.dumps(data, indent=2, ensure_ascii=False, allow_nan=False))


def print_rows(
    rows: Sequence[Mapping[str, Json]], columns: Sequence[str], *, as_json: bool
) -> None:
    """`rows` as a JSON array with all their keys, or `columns` of them as a table."""
    if as_json:
        print_json(rows)
        return
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table()
    for column in columns:
        table.add_column(column, overflow="fold")
    for row in rows:
        table.add_row(*(Text(_cell(row.get(column))) for column in columns))
    # A pipe has no width; 80 columns would fold names that a `grep` is looking for.
    Console(width=None if sys.stdout.isatty() else 200).print(table)


def _cell(value: Json) -> str:
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    if isinstance(value, Sequence):
        return "\n".join(map(_cell, value))
    return json.dumps(value, ensure_ascii=False)
