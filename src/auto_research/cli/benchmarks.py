"""`auto-research benchmarks`: what a method can be evaluated on."""

from __future__ import annotations

import inspect

import typer

from auto_research.cli.output import AsJson, print_rows
from auto_research.cli.session import installed

benchmarks_app = typer.Typer(no_args_is_help=True, help="Installed benchmarks.")


@benchmarks_app.command("list")
def list_benchmarks(ctx: typer.Context, as_json: AsJson = False) -> None:
    """Every benchmark by name."""
    rows = [
        {
            "name": name,
            "summary": (inspect.getdoc(entry.value) or "").partition("\n")[0],
            "plugin": entry.plugin,
        }
        for name, entry in sorted(installed(ctx).benchmarks.items())
    ]
    print_rows(rows, ("name", "summary", "plugin"), as_json=as_json)
