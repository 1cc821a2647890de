"""`auto-research jobs`: the trainings that run as jobs on a cluster."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from auto_research.cli.output import AsJson, print_json, print_rows
from auto_research.cli.session import installed
from auto_research.errors import UserError

if TYPE_CHECKING:
    from auto_research.benchmarks.base import Json
    from auto_research.training.backends import KeepsJobs

jobs_app = typer.Typer(no_args_is_help=True, help="Trainings that run as jobs on a cluster.")

Run = Annotated[
    Path, typer.Argument(metavar="RUN", help="A training's directory, or its name under --out.")
]
Out = Annotated[Path, typer.Option(help="Where the runs are.")]
COLUMNS = ("job", "state", "launcher", "tries", "run_dir", "message")


@jobs_app.command("list")
def list_jobs(ctx: typer.Context, out: Out = Path("runs"), as_json: AsJson = False) -> None:
    """Every job under --out, also those of a dispatch, and how it stands."""
    from auto_research.training.backends import JOB_RECORD

    found = sorted({*out.glob(f"*/{JOB_RECORD}"), *out.glob(f"*/*/{JOB_RECORD}")})
    rows = [_row(ctx, path.parent) for path in found]
    print_rows(rows, COLUMNS, as_json=as_json)


@jobs_app.command("status")
def status(ctx: typer.Context, run: Run, out: Out = Path("runs"), as_json: AsJson = False) -> None:
    """How one job stands."""
    path = _path(run, out)
    _print(_keeper(ctx, path).status(path), as_json)


@jobs_app.command("logs")
def logs(ctx: typer.Context, run: Run, out: Out = Path("runs")) -> None:
    """What one job has written so far."""
    path = _path(run, out)
    print(_keeper(ctx, path).logs(path), end="")


@jobs_app.command("cancel")
def cancel(ctx: typer.Context, run: Run, out: Out = Path("runs"), as_json: AsJson = False) -> None:
    """End one job; `train --resume` hands it in again, from its last checkpoint."""
    path = _path(run, out)
    _print(_keeper(ctx, path).cancel(path), as_json)


def _row(ctx: typer.Context, path: Path) -> dict[str, Json]:
    try:
        return dict(_keeper(ctx, path).status(path))
    except UserError as error:  # a cluster that is gone must not hide the jobs of another
        return {"job": path.name, "state": "unknown", "run_dir": str(path), "message": str(error)}


def _path(run: Path, out: Path) -> Path:
    from auto_research.training.backends import JOB_RECORD

    places = [run, out / run, *out.glob(f"*/{run.name}")]
    for place in places:
        if (place / JOB_RECORD).is_file():
            return place
    raise UserError(
        f"there is no job {str(run)!r}", where=str(out), mend="see `auto-research jobs list`"
    )


def _keeper(ctx: typer.Context, path: Path) -> KeepsJobs:
    """The backend that a job's record names. Raises UserError."""
    from auto_research.training.backends import JOB_RECORD, KeepsJobs, opened_backend

    try:
        name = str(json.loads((path / JOB_RECORD).read_bytes())["backend"])
    except (OSError, ValueError, KeyError, TypeError):
        raise UserError("the job's record cannot be read", where=str(path / JOB_RECORD)) from None
    backend = opened_backend(name, installed(ctx))
    if not isinstance(backend, KeepsJobs):
        raise UserError(f"the backend {name!r} keeps no jobs", where=str(path))
    return backend


def _print(told: object, as_json: bool) -> None:
    if as_json:
        print_json(told)  # type: ignore[arg-type]
        return
    if isinstance(told, dict):
        for name in COLUMNS:
            print(f"{name}: {told.get(name, '')}")
