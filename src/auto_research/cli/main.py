"""The command line: global options, the sub-commands, and how each kind of failure ends.

Bad input, and a disk that takes no more: one line on stderr, exit 2. Ctrl-C: exit 130. A bug keeps
its traceback, exit 1.
"""

from __future__ import annotations

import errno
import io
import os
import sys
from collections.abc import Sequence
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

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

# What the machine is to blame for. Any other OSError that comes as far as here is a bug.
FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS, errno.EIO}


class Commands(TyperGroup):
    """The sub-commands. One that says nothing of an interrupt itself has it said here."""

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            print("stopped; a run that had begun goes on with --resume", file=sys.stderr)
            raise typer.Exit(130) from None


app = typer.Typer(
    name="auto-research",
    cls=Commands,
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
    _open_streams()
    try:
        try:
            _check(sys.argv[1:] if arguments is None else arguments)
            app(arguments, prog_name="auto-research", obj=tuple(plugins))
        finally:
            sys.stdout.flush()  # here, where a reader that has gone away can still be handled
    except UserError as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(2)
    except BrokenPipeError:
        _let_go_of_stdout()
        sys.exit(1)
    except OSError as error:
        if error.errno not in FULL:
            raise
        _let_go_of_stdout()
        mend = "make room; a run that had begun goes on with --resume"
        failed = UserError(f"cannot write: {error.strerror}", where=error.filename or "", mend=mend)
        print(f"error: {failed}", file=sys.stderr)
        sys.exit(2)


def _open_streams() -> None:
    """Text that the terminal's encoding lacks is escaped; a stream that is closed takes all."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, os.fdopen(os.open(os.devnull, os.O_WRONLY), "w"))
        elif isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _check(arguments: Sequence[str]) -> None:
    """Raises UserError for an argument with bytes that are no text: nothing could tell of it."""
    for word in arguments:
        if not word.isascii() and any("\ud800" <= letter <= "\udfff" for letter in word):
            mend = "write it in UTF-8, in a locale that has it"
            raise UserError(f"an argument is no text: {word!a}", mend=mend)


def _let_go_of_stdout() -> None:
    # The interpreter flushes once more at exit; let it flush into nothing.
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
