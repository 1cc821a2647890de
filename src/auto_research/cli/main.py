"""The command line: global options, the sub-commands, and how each kind of failure ends.

Bad input: one line on stderr, exit 2. Ctrl-C: exit 130. A bug keeps its traceback, exit 1.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import Annotated

import typer

from auto_research.cli.ablate import ablate
from auto_research.cli.agent_eval import agent_eval
from auto_research.cli.appworld import appworld_app
from auto_research.cli.benchmarks import benchmarks_app
from auto_research.cli.compare import compare
from auto_research.cli.dispatch import dispatch_app
from auto_research.cli.doctor import doctor
from auto_research.cli.evolve import evolve
from auto_research.cli.jobs import jobs_app
from auto_research.cli.library import library_app
from auto_research.cli.methods import methods_app
from auto_research.cli.operators import operators_app
from auto_research.cli.plugins import plugins_app
from auto_research.cli.report import report
from auto_research.cli.session import Session
from auto_research.cli.train import train
from auto_research.errors import UserError

app = typer.Typer(
    name="auto-research",
    help="Compare skill-library methods for agents, honestly, at one budget.",
    no_args_is_help=True,
    pretty_exceptions_show_locals=False,  # locals can hold keys
)
app.command("agent-eval")(agent_eval)
app.command("compare")(compare)
app.command("evolve")(evolve)
app.command("train")(train)
app.command("ablate")(ablate)
app.add_typer(dispatch_app, name="dispatch")
app.add_typer(jobs_app, name="jobs")
app.add_typer(methods_app, name="methods")
app.add_typer(operators_app, name="operators")
app.add_typer(benchmarks_app, name="benchmarks")
app.add_typer(plugins_app, name="plugins")
app.add_typer(library_app, name="library")
app.command("report")(report)
app.add_typer(appworld_app, name="appworld")
app.command("doctor")(doctor)


def _print_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        print(version("auto-research"))
        raise typer.Exit


@app.callback()
def _global_options(
    ctx: typer.Context,
    show_version: Annotated[
        bool,
        typer.Option(
            "--version", help="Print the version and exit.", is_eager=True, callback=_print_version
        ),
    ] = False,
    strict: Annotated[
        bool, typer.Option("--strict", help="Fail if any plugin has a problem.")
    ] = False,
) -> None:
    ctx.obj = Session(strict=strict, extra=ctx.obj or ())


def main(arguments: Sequence[str] | None = None, plugins: Sequence[object] = ()) -> None:
    """Run the command line (default: the process's arguments) and exit.

    `plugins` are further plugin objects. Always raises SystemExit, save for a bug.
    """
    try:
        try:
            app(arguments, prog_name="auto-research", obj=tuple(plugins))
        finally:
            sys.stdout.flush()  # here, where a reader that has gone away can still be handled
    except UserError as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(2)
    except BrokenPipeError:
        # The interpreter flushes once more at exit; let it flush into nothing.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
