"""`auto-research report RUN`: write the report of a run or search again, and say where it is."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def report(
    run: Annotated[Path, typer.Argument(help="The directory of a run or search, finished or not.")],
) -> None:
    """Write RUN/report.html again and print its path."""
    # Imported here so that `--help` stays fast.
    from auto_research.reporting.evolution import write_evolution_report
    from auto_research.reporting.html import write_report

    is_search = (run / "evolve.yaml").exists()
    typer.echo(write_evolution_report(run) if is_search else write_report(run))
