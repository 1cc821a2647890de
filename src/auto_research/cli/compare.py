"""`auto-research compare`: methods side by side at one budget, or finished runs."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from auto_research.cli.model_options import (
    BaseUrl,
    CheckpointDir,
    ContextTokens,
    Device,
    MaxTokens,
    ModelName,
    RecordFile,
    ReplayFile,
    Temperature,
    given,
)
from auto_research.cli.options import RESUME, check_number, check_word, run_path
from auto_research.cli.output import print_json
from auto_research.cli.session import installed
from auto_research.errors import EvaluatorError, UserError

if TYPE_CHECKING:
    from auto_research.benchmarks.base import Json
    from auto_research.comparison.plan import Plan
    from auto_research.evaluate import Evaluation

# What may be asked for of finished runs; every other option is about making them.
_SHOWN = ("--json", "--csv", "--markdown")
_OF_FINISHED = ("runs", "--baseline", "--unmatched", "--out", "--name", "--resume", *_SHOWN)
# By which file a directory is another command's.
_OWNERS = {
    "run.yaml": "a run",
    "evolve.yaml": "a search",
    "ablation.yaml": "an ablation",
    "dispatch.json": "a dispatch",
    "job.json": "a job",
}


def compare(
    ctx: typer.Context,
    runs: Annotated[
        list[Path] | None, typer.Argument(help="Finished runs to compare, instead of --methods.")
    ] = None,
    methods: Annotated[
        str, typer.Option(help="Methods to run: names or YAML files, with commas between.")
    ] = "",
    benchmark: Annotated[str, typer.Option(help="A benchmark's name.")] = "planbench-mini",
    agent: Annotated[str, typer.Option(help="An agent's name.")] = "search",
    model: ModelName = None,
    base_url: BaseUrl = None,
    temperature: Temperature = None,
    max_tokens: MaxTokens = None,
    context_tokens: ContextTokens = None,
    record: RecordFile = None,
    replay: ReplayFile = None,
    checkpoint: CheckpointDir = None,
    device: Device = None,
    episodes: Annotated[int, typer.Option(help="Episodes of each test stream.")] = 120,
    seeds: Annotated[str, typer.Option(help="Test families: 1..5 or 1,2,3.")] = "1..5",
    train_seed: Annotated[int, typer.Option(help="Names the training family.")] = 0,
    train_scenarios: Annotated[
        int, typer.Option(help="Scenarios to train on; 0 is a cold start.")
    ] = 64,
    split: Annotated[str, typer.Option(help="test or validation.")] = "test",
    exclude: Annotated[
        list[str] | None, typer.Option(help="Leave a domain out of training (repeatable).")
    ] = None,
    data_dir: Annotated[Path | None, typer.Option(help="Data of a benchmark on disk.")] = None,
    units: Annotated[
        int | None, typer.Option(help="Budget of one episode in units (default: B).")
    ] = None,
    baseline: Annotated[
        str, typer.Option(help="What differences are taken to (default: react, else the first).")
    ] = "",
    unmatched: Annotated[
        bool, typer.Option("--unmatched", help="Show runs that do not match, with a warning.")
    ] = False,
    workers: Annotated[int, typer.Option(help="Chains run at once.")] = 1,
    out: Annotated[Path, typer.Option(help="The comparison goes under this one.")] = Path("runs"),
    name: Annotated[str, typer.Option(help="The comparison's name.")] = "",
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on with the newest comparison of this name.")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print what would be run and stop.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON and nothing else.")] = False,
    as_csv: Annotated[bool, typer.Option("--csv", help="Print the table as CSV.")] = False,
    as_markdown: Annotated[
        bool, typer.Option("--markdown", help="Print the table as Markdown.")
    ] = False,
) -> None:
    """Compare methods at one budget: run what is not finished, print one table, write a page."""
    if bool(runs) == bool(methods):
        raise UserError("give either --methods or the directories of finished runs, not both")
    forms = {"json": as_json, "csv": as_csv, "markdown": as_markdown}
    form, *others = [word for word, asked in forms.items() if asked] or ["table"]
    if others:
        raise UserError("--json, --csv and --markdown exclude each other")
    check_word("--split", split, ("test", "validation"))
    numbers = {
        "--episodes": episodes,
        "--train-seed": train_seed,
        "--train-scenarios": train_scenarios,
        "--units": units,
        "--workers": workers,
    }
    for option, number in numbers.items():
        check_number(option, number)

    from auto_research.comparison.plan import Plan, read_methods, read_seeds
    from auto_research.comparison.table import chosen_baseline
    from auto_research.furnishing import EvalRequest

    if runs:
        _refuse_needless(ctx)
        directory = _unowned(run_path(out, name or "compare", resume))
        _show(runs, directory, baseline, unmatched, form)
        return
    registry = installed(ctx)
    chosen = read_methods(methods, registry)
    chosen_baseline([method.name for method in chosen], baseline)
    request = EvalRequest(
        method=chosen[0],
        benchmark=benchmark,
        agent=agent,
        episodes=episodes,
        train_seed=train_seed,
        train_scenarios=train_scenarios,
        split="validation" if split == "validation" else "test",
        exclude=tuple(exclude or ()),
        data_dir=data_dir,
        units=units,
        agent_options=given(
            model=model,
            base_url=base_url,
            temperature=temperature,
            max_tokens=max_tokens,
            context_tokens=context_tokens,
            record=record,
            replay=replay,
            checkpoint=checkpoint,
            device=device,
        ),
    )
    directory = _unowned(run_path(out, name or f"compare-{benchmark}", resume))
    with Plan(request, chosen, read_seeds(seeds), directory, registry) as plan:
        if plan.reads_answers and not unmatched:
            raise UserError(
                f"the agent {agent!r} reads the answers: it checks a benchmark, no method",
                where="--agent",
                mend="choose another, or show it all the same with --unmatched",
            )
        if dry_run:
            print_json(plan.told())
            return
        done = _carry_out(plan, workers)
    _show(done, directory, baseline, unmatched, form)


def _refuse_needless(ctx: typer.Context) -> None:
    """Raises UserError for options that make runs: beside finished ones they would do nothing."""
    told = {
        param.opts[0]: ctx.get_parameter_source(str(param.name)) for param in ctx.command.params
    }
    given = [name for name, source in told.items() if source and source.name == "COMMANDLINE"]
    if given := [name for name in given if name not in _OF_FINISHED]:
        raise UserError(
            "finished runs are only shown, there is nothing to run",
            where=", ".join(given),
            mend="leave that out, or give --methods instead of runs",
        )


def _unowned(directory: Path) -> Path:
    """The directory, unless a run or something else than a comparison has it. Raises UserError."""
    for file, owner in _OWNERS.items():
        if (directory / file).exists():
            raise UserError(
                f"{owner} is there, which a comparison must not write into",
                where=str(directory),
                mend="choose another --name",
            )
    return directory


def _carry_out(plan: Plan, workers: int) -> list[Path]:
    """The directories of the plan's runs, all finished."""
    plan.begin()
    runs = list(plan.runs())
    try:
        for number, (method, seed, path) in enumerate(runs, start=1):
            print(f"[{number}/{len(runs)}] {path.name}", file=sys.stderr)
            _finish(plan, plan.prepared(method, seed), path, workers)
    except KeyboardInterrupt:
        kept = f"stopped; finished runs and episodes are kept in {plan.directory}"
        print(f"{kept}: {RESUME}", file=sys.stderr)
        raise typer.Exit(130) from None
    except EvaluatorError as error:
        raise UserError(str(error), where=str(plan.directory), mend=RESUME) from error
    return [path for _, _, path in runs]


def _finish(plan: Plan, evaluation: Evaluation, path: Path, workers: int) -> None:
    """Bring one run to its end, unless it is there already."""
    from auto_research.cli.progress import episode_bar
    from auto_research.comparison.plan import is_finished
    from auto_research.reporting.html import write_report

    if is_finished(evaluation, path):
        return
    planned: Any = evaluation.planned()["episodes"]
    with episode_bar(planned) as progressed:
        plan.carry_out(evaluation, path, workers=workers, progressed=progressed)
    write_report(path)


def _show(runs: Sequence[Path], directory: Path, baseline: str, unmatched: bool, form: str) -> None:
    """Compare finished runs: print the table, warnings on stderr, and write the page."""
    from auto_research.comparison.runs import read_runs
    from auto_research.comparison.table import checked_lines, chosen_baseline, compared
    from auto_research.reporting.comparison_html import write_comparison

    lines, warnings = checked_lines(read_runs(runs), unmatched=unmatched)
    base = chosen_baseline([line.label for line in lines], baseline)
    result = {"directory": str(directory), **compared(lines, base, warnings)}
    for warning in warnings:
        print(f"warning: {warning}", file=sys.stderr)
    page = write_comparison(directory, result, lines)
    print(f"page: {page}", file=sys.stderr)
    _print(result, form)


def _print(result: Mapping[str, Json], form: str) -> None:
    from auto_research.reporting.comparison_tables import as_csv, as_markdown, comparison_table

    if form == "json":
        print_json(result)
    elif form == "csv":
        print(as_csv(result), end="")
    elif form == "markdown":
        print(as_markdown(result), end="")
    else:
        from rich.console import Console

        # A pipe has no width; 80 columns would fold what a `grep` is looking for.
        console = Console(width=None if sys.stdout.isatty() else 200)
        console.print(comparison_table(result))
