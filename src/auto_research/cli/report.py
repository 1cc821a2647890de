"""`auto-research report RUN`: write the report of a run again, and say where it is."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def report(
    run: Annotated[Path, typer.Argument(help="A run's directory, finished or not.")],
) -> None:
    """Write RUN/report.html again and print its path."""
    # Imported here so that `--help` stays fast.
    from auto_research.reporting.html import write_report

    typer.echo(write_report(run))
