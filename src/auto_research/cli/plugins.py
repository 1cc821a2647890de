"""`auto-research plugins`: what is installed, and what is wrong with it."""

from __future__ import annotations

import typer

from auto_research.cli.output import AsJson, print_rows
from auto_research.cli.session import installed

plugins_app = typer.Typer(no_args_is_help=True, help="Installed plugins.")


@plugins_app.command("list")
def list_plugins(ctx: typer.Context, as_json: AsJson = False) -> None:
    """Every plugin found, broken ones too, with its distribution and problems."""
    registry = installed(ctx)
    rows = []
    for plugin in registry.plugins:
        problems = [problem.what for problem in registry.problems if problem.plugin == plugin.name]
        status = "broken" if not plugin.loaded else "faulty" if problems else "ok"
        rows.append(
            {
                "name": plugin.name,
                "source": plugin.source,
                "version": plugin.version,
                "status": status,
                "problems": problems,
            }
        )
    print_rows(rows, ("name", "source", "version", "status", "problems"), as_json=as_json)
