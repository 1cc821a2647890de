"""`auto-research dispatch`: methods times seeds as jobs at one budget, and their runs after it."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from auto_research.cli.options import check_name
from auto_research.cli.output import AsJson, print_json, print_rows
from auto_research.cli.session import installed
from auto_research.errors import UserError

if TYPE_CHECKING:
    from auto_research.benchmarks.base import Json
    from auto_research.training.backends import Dispatches, Progress

dispatch_app = typer.Typer(
    help="Train methods times seeds as jobs at one budget, then collect their runs."
)


@dispatch_app.callback(invoke_without_command=True)
def dispatch(
    ctx: typer.Context,
    methods: Annotated[
        str, typer.Option(help="Methods with commas between: names, or YAML files.")
    ] = "",
    seeds: Annotated[str, typer.Option(help="Training seeds: 1..3 or 1,2,3.")] = "",
    backend: Annotated[str, typer.Option(help="What trains.")] = "openrlhf",
    benchmark: Annotated[
        str, typer.Option(help="A benchmark's name (default: the backend's own).")
    ] = "",
    agent: Annotated[str, typer.Option(help="An agent's name (default: the backend's own).")] = "",
    config: Annotated[
        Path | None, typer.Option(help="The backend's YAML file, the same for every training.")
    ] = None,
    set_: Annotated[
        list[str] | None,
        typer.Option(
            "--set", help="Change every method (reward=outcome) or the config (config.KEY=...)."
        ),
    ] = None,
    data_dir: Annotated[Path | None, typer.Option(help="Data of a benchmark on disk.")] = None,
    unsafe_worlds: Annotated[
        bool,
        typer.Option("--unsafe-worlds", help="Accept worlds whose code could read the answers."),
    ] = False,
    out: Annotated[Path, typer.Option(help="The dispatch goes under this one.")] = Path("runs"),
    name: Annotated[str, typer.Option(help="The dispatch's name (default: dispatch).")] = "",
    resume: Annotated[
        bool, typer.Option("--resume", help="Hand failed jobs in again, from their checkpoints.")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Check every training, print the budget, and stop.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Hand in a job for every method and seed, all checked first, at one budget.

    The same command again hands in nothing twice. `dispatch collect` makes runs of what has
    finished; `compare` takes those.
    """
    if ctx.invoked_subcommand is not None:
        return
    if not methods or not seeds:
        raise UserError("give --methods and --seeds", mend="--methods grpo,sage --seeds 1..3")
    if name:
        check_name(name)

    from auto_research.agent_research.method import load_method
    from auto_research.comparison.plan import read_seeds
    from auto_research.hookspecs import BenchmarkOptions
    from auto_research.training.backends import CONFIG, DispatchRequest, TrainRequest, read_config

    registry = installed(ctx)
    words = [word.strip() for word in methods.split(",") if word.strip()]
    of_config = [override for override in set_ or () if override.startswith(CONFIG)]
    of_method = [override for override in set_ or () if not override.startswith(CONFIG)]
    chosen = [load_method(word, registry, of_method) for word in words]
    if repeated := {m.name for m in chosen if [o.name for o in chosen].count(m.name) > 1}:
        raise UserError(f"two methods are named {sorted(repeated)[0]!r}", where="--methods")
    trainer = _dispatcher(ctx, backend)
    on = benchmark or str(getattr(trainer, "benchmark", ""))
    common = TrainRequest(
        method=chosen[0],
        benchmark=on,
        path=out / (name or "dispatch"),
        agent=agent,
        config=read_config(config, of_config),
        config_path=config,
        benchmark_options=BenchmarkOptions(data_dir, (), unsafe_worlds),
        dry_run=dry_run,
        resume=resume,
    )
    told = trainer.dispatch(DispatchRequest(common, chosen, read_seeds(seeds)), _told)
    if as_json:
        print_json(told)
    else:
        _show(told)


@dispatch_app.command("collect")
def collect(
    ctx: typer.Context,
    directory: Annotated[Path, typer.Argument(help="A dispatch's directory.")],
    backend: Annotated[str, typer.Option(help="What trained.")] = "openrlhf",
    storage: Annotated[
        Path | None,
        typer.Option(help="Where the jobs' storage is to be seen from here, if elsewhere."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Make runs of the finished jobs, for `compare`; say what is open, and what is unmatched."""
    told: Any = _dispatcher(ctx, backend).collect(directory, storage)
    for line in told["unmatched"]:
        print(f"warning: unmatched spending: {line}", file=sys.stderr)
    if as_json:
        print_json(told)
        return
    print_rows(told["spending"], _SPENDING, as_json=False)
    for one in told["open"]:
        print(f"open: {one['run']}: {one['missing']}")
    if told["runs"]:
        print("compare them with: auto-research compare " + " ".join(told["runs"]))


_SPENDING = (
    "run",
    "trajectories",
    "trajectories_lost",
    "tokens",
    "interactions",
    "units",
    "evaluation_trajectories",
    "errors",
)


def _dispatcher(ctx: typer.Context, name: str) -> Dispatches:
    from auto_research.training.backends import Dispatches, opened_backend

    backend = opened_backend(name, installed(ctx))
    if not isinstance(backend, Dispatches):
        raise UserError(f"the backend {name!r} dispatches no jobs", where="--backend")
    return backend


def _told(progress: Progress) -> None:
    print(progress.line(), file=sys.stderr, flush=True)


def _show(told: Mapping[str, Json]) -> None:
    known: Any = told
    print("budget of each training, the same for all:")
    for name, value in known["budget_of_each"].items():
        print(f"  {name:<28} {value:,}")
    jobs = {job["run"]: job for job in known.get("jobs", ())}
    rows = [{**run, **jobs.get(run["run"], {"state": known["state"]})} for run in known["runs"]]
    print_rows(rows, ("run", "method", "state"), as_json=False)
