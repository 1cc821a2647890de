"""`auto-research appworld`: set AppWorld up, and let it evaluate a finished run itself."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from auto_research.cli.output import AsJson, print_json
from auto_research.errors import UserError

appworld_app = typer.Typer(no_args_is_help=True, help="AppWorld: set it up, check a run with it.")


@appworld_app.command("setup")
def setup(
    home: Annotated[
        Path | None,
        typer.Option(help="Where to install (default: $AUTO_RESEARCH_APPWORLD or a user folder)."),
    ] = None,
    data: Annotated[
        str, typer.Option(help="mini, or official to download AppWorld's data as well.")
    ] = "mini",
    root: Annotated[
        Path | None, typer.Option(help="An AppWorld data root you have, as the official one.")
    ] = None,
    python: Annotated[
        str,
        typer.Option(
            help="The Python to make its environment with, 3.11 or newer (default: ours)."
        ),
    ] = "",
) -> None:
    """Install AppWorld in an environment of its own and build appworld-mini; safe to repeat."""
    from auto_research.benchmarks.appworld.home import VARIABLE, Home, default_home
    from auto_research.benchmarks.appworld.setup import set_up

    if data not in ("mini", "official"):
        raise UserError(f"unknown value {data!r}", where="--data", mend="mini or official")
    place = Home(home.absolute() if home else default_home())

    def told(line: str) -> None:
        print(line, file=sys.stderr)

    set_up(
        place, python=python or sys.executable, official=data == "official", root=root, told=told
    )
    print(f"AppWorld is set up in {place.path}")
    if place.path != default_home():
        print(f"use it with {VARIABLE}={place.path}")


@appworld_app.command("evaluate")
def evaluate(
    run: Annotated[Path, typer.Argument(help="A finished run on an AppWorld benchmark.")],
    as_json: AsJson = False,
) -> None:
    """Evaluate what a run did in its test worlds with AppWorld's own command, beside ours."""
    from auto_research.agent_research.run import RunDir
    from auto_research.benchmarks.appworld.benchmark import root_of
    from auto_research.benchmarks.appworld.check import evaluated_by_appworld, in_percent
    from auto_research.benchmarks.appworld.home import required
    from auto_research.evaluate import WORLDS

    directory = RunDir.open(run)
    config, home = directory.config, required()
    root = root_of(str(config["benchmark"]), home, Path(str(config["data_dir"] or "")))
    tasks = [row.task for row in directory.rows() if row.phase == "test"]
    metrics: Any = _figures(directory.metrics_path)
    ours = {name: in_percent(metrics[name]["value"]) for name in ("tgc", "sgc")}
    theirs = evaluated_by_appworld(home, root, tasks, run / WORLDS)
    if as_json:
        print_json({"tasks": len(tasks), "appworld": theirs, "run": ours})
        return
    for name in ("tgc", "sgc"):
        print(f"{name.upper()}: {theirs[name]:.1f} by AppWorld, {ours[name]:.1f} in the run")


def _figures(path: Path) -> Any:
    """The figures of a finished run. Raises UserError if it is not finished."""
    try:
        return json.loads(path.read_bytes())["metrics"]
    except (OSError, ValueError, KeyError):
        raise UserError(
            "the run is not finished", where=str(path.parent), mend="go on with --resume"
        ) from None
