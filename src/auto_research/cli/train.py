"""`auto-research train`: train a model with a method, here or on a cluster."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from auto_research.cli.options import check_name, check_number
from auto_research.cli.output import AsJson, print_json
from auto_research.cli.progress import training_figures
from auto_research.cli.session import installed
from auto_research.errors import EvaluatorError, UserError

if TYPE_CHECKING:
    from auto_research.benchmarks.base import Json
    from auto_research.training.backends import Trained

RESUME = "the same command with --resume goes on from there"


def train(
    ctx: typer.Context,
    method: Annotated[str, typer.Option(help="A method's name, or a YAML file.")] = "sage",
    backend: Annotated[
        str, typer.Option(help="What trains: local (this machine), openrlhf (a cluster).")
    ] = "local",
    benchmark: Annotated[
        str, typer.Option(help="A benchmark's name (default: the backend's own).")
    ] = "",
    agent: Annotated[str, typer.Option(help="An agent's name (default: the backend's own).")] = "",
    config: Annotated[
        Path | None, typer.Option(help="The backend's YAML file: model, sizes, cluster.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Names the training.")] = 0,
    set_: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            help="Change the method (rollout.chain_length=3) or the config (config.KEY=...).",
        ),
    ] = None,
    exclude: Annotated[
        list[str] | None, typer.Option(help="Leave a domain out of training (repeatable).")
    ] = None,
    data_dir: Annotated[Path | None, typer.Option(help="Data of a benchmark on disk.")] = None,
    unsafe_worlds: Annotated[
        bool,
        typer.Option("--unsafe-worlds", help="Accept worlds whose code could read the answers."),
    ] = False,
    out: Annotated[Path, typer.Option(help="The run's directory goes under this one.")] = Path(
        "runs"
    ),
    name: Annotated[
        str, typer.Option(help="The run's name (default: train, method, benchmark, seed).")
    ] = "",
    resume: Annotated[bool, typer.Option("--resume", help="Go on with the run there is.")] = False,
    dry_run: Annotated[
        bool,
        typer.Option("--dry-run", help="Check all of it, print what would be done, and stop."),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Train a model with a method: on this machine, or as a job on a cluster.

    Everything is checked before anything starts; `--dry-run` stops there, and shows the exact
    command or file that a cluster would get.
    """
    check_number("--seed", seed)
    if name:
        check_name(name)

    from auto_research.agent_research.method import load_method
    from auto_research.hookspecs import BenchmarkOptions
    from auto_research.training.backends import CONFIG, TrainRequest, opened_backend, read_config

    registry = installed(ctx)
    trainer = opened_backend(backend, registry)
    of_config = [override for override in set_ or () if override.startswith(CONFIG)]
    of_method = [override for override in set_ or () if not override.startswith(CONFIG)]
    chosen = load_method(method, registry, of_method)
    on = benchmark or trainer.benchmark
    request = TrainRequest(
        method=chosen,
        benchmark=on,
        path=out / (name or f"train-{chosen.name}-{on}-seed{seed}"),
        seed=seed,
        agent=agent,
        config=read_config(config, of_config),
        config_path=config,
        benchmark_options=BenchmarkOptions(data_dir, tuple(exclude or ()), unsafe_worlds),
        dry_run=dry_run,
        resume=resume,
    )
    try:
        with training_figures() as told:
            trained = trainer.train(request, told)
    except EvaluatorError as error:
        raise UserError(str(error), where=str(request.path), mend=RESUME) from error
    except KeyboardInterrupt:
        print(f"stopped; what is done is kept in {request.path}: {RESUME}", file=sys.stderr)
        raise typer.Exit(130) from None
    if trained.state == "finished":
        from auto_research.reporting.html import write_report

        print(f"report: {write_report(trained.path)}", file=sys.stderr)
    heading: dict[str, Json] = {
        "backend": backend,
        "method": chosen.name,
        "benchmark": on,
        "seed": seed,
    }
    result = {**heading, **trained.to_json()}
    if as_json:
        print_json(result)
    else:
        _show(trained, result)


def _show(trained: Trained, result: dict[str, Json]) -> None:
    if trained.text:
        print(trained.text)
    if trained.metrics:
        from rich.console import Console

        from auto_research.reporting.tables import details_table, headline_table

        console = Console()
        console.print(headline_table(result))
        console.print(details_table(result))
    if trained.checkpoint is not None:
        print(f"checkpoint: {trained.checkpoint}")
    if trained.state != "planned":
        print(f"{'run' if trained.state == 'finished' else 'submitted'}: {trained.path}")
