"""`auto-research ablate`: the arms of a paper's tables, trained at one budget."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from auto_research.cli.options import RESUME, check_number, run_path
from auto_research.cli.output import AsJson, print_json
from auto_research.cli.session import installed

if TYPE_CHECKING:
    from auto_research.training.ablation_plan import Plan
    from auto_research.training.ablation_pool import Event

SHOWN = ("loss", "R1", "R2", "sgc", "use", "tokens", "validation/sgc")  # while it trains


def ablate(
    ctx: typer.Context,
    paper: Annotated[str, typer.Option(help="A paper's name, or a YAML file of its tables.")],
    preset: Annotated[
        str, typer.Option(help="quick (the main arms, 3 seeds) or full (all arms, 5 seeds).")
    ] = "quick",
    arms: Annotated[
        str, typer.Option(help="Arms, with commas between (default: the preset's).")
    ] = "",
    seeds: Annotated[
        str, typer.Option(help="Training seeds: 0..4 or 0,1,2 (default: as many as the preset's).")
    ] = "",
    benchmark: Annotated[
        str, typer.Option(help="A benchmark's name (default: the paper's file says).")
    ] = "",
    config: Annotated[
        Path | None, typer.Option(help="What all trainings have in common, as in `train`.")
    ] = None,
    workers: Annotated[int, typer.Option(help="Trainings run at once.")] = 2,
    out: Annotated[Path, typer.Option(help="The ablation goes under this one.")] = Path("runs"),
    name: Annotated[str, typer.Option(help="The ablation's name.")] = "",
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on with the newest ablation of this name.")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print what would be run and stop.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Train the arms of a paper's tables at one budget, and print its table beside ours.

    Every arm is trained with every seed, the first stage too. A page with learning curves is
    written. Exit code 1 if some of the runs failed; the table shows the others.
    """
    check_number("--workers", workers)

    from auto_research.comparison.plan import read_seeds
    from auto_research.training.ablation_paper import read_paper
    from auto_research.training.backends import opened_backend, read_config

    registry = installed(ctx)
    source = read_paper(paper)
    opened_backend("local", registry)  # says so if torch is missing
    from auto_research.training.ablation_plan import chosen, make_plan, merged

    found, names = chosen(source, preset, arms)
    plan = make_plan(
        source,
        registry,
        arms=names,
        seeds=read_seeds(seeds) if seeds else list(range(found.seeds)),
        directory=run_path(out, name or f"ablate-{source.name}", resume),
        config=merged(found.config, read_config(config)),
        config_path=config,
        benchmark=benchmark,
    )
    if dry_run:
        _show_plan(plan, as_json=as_json)
        return
    plan.begin(resume=resume)
    failed = _carry_out(plan, workers)
    _show(plan, preset, failed, as_json=as_json)
    if failed:
        print(f"{len(failed)} runs failed; {RESUME}", file=sys.stderr)
        raise typer.Exit(1)


def _carry_out(plan: Plan, workers: int) -> dict[str, str]:
    """Do what is left to be done; why jobs failed, by name."""
    from auto_research.training.ablation_jobs import PRELOAD, carry_out, open_jobs
    from auto_research.training.ablation_pool import run_jobs

    jobs = open_jobs(plan)
    try:
        return run_jobs(jobs, carry_out, workers, _Teller(len(jobs)), preload=PRELOAD)
    except KeyboardInterrupt:
        print(f"stopped; what is done is kept in {plan.directory}: {RESUME}", file=sys.stderr)
        raise typer.Exit(130) from None


class _Teller:
    """Tells of the jobs on stderr: a line when one begins or ends, and some between."""

    def __init__(self, jobs: int) -> None:
        self._jobs, self._begun = jobs, 0
        self._told: dict[tuple[str, str], int] = {}

    def __call__(self, event: Event) -> None:
        if event.kind == "begun":
            self._begun += 1
            self._say(f"[{self._begun}/{self._jobs}] {event.job}")
        elif event.kind == "failed":
            self._say(f"{event.job} FAILED: {event.text}")
        elif event.progress is not None:
            part = event.progress
            tenth = 10 * part.done // part.planned if part.planned else part.done
            if self._told.get((event.job, part.stage)) != tenth:
                self._told[event.job, part.stage] = tenth
                shown = {name: part.figures[name] for name in SHOWN if name in part.figures}
                self._say(f"{event.job}: {replace(part, figures=shown).line()}")

    def _say(self, line: str) -> None:
        print(line, file=sys.stderr, flush=True)


def _show_plan(plan: Plan, *, as_json: bool) -> None:
    if as_json:
        print_json(plan.told())
        return
    from auto_research.reporting.training_tables import plan_table

    _console().print(plan_table(plan.told()))


def _show(plan: Plan, preset: str, failed: dict[str, str], *, as_json: bool) -> None:
    from auto_research.reporting.training_html import write_ablation
    from auto_research.training.ablation_table import ablated

    told: dict[str, Any] = ablated(plan, preset, failed)
    for warning in told["warnings"]:
        print(f"warning: {warning}", file=sys.stderr)
    print(f"page: {write_ablation(plan.directory, told)}", file=sys.stderr)
    if as_json:
        print_json(told)
        return
    from auto_research.reporting.training_tables import ablation_table

    _console().print(ablation_table(told))


def _console() -> Any:
    from rich.console import Console

    # A pipe has no width; 80 columns would fold what a `grep` is looking for.
    return Console(width=None if sys.stdout.isatty() else 200)
