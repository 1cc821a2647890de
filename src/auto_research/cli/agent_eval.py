"""`auto-research agent-eval`: evaluate one method on one benchmark."""

from __future__ import annotations

import sys
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
from auto_research.cli.options import (
    BOUNDS,
    RESUME,
    check_number,
    check_word,
    run_path,
)
from auto_research.cli.output import AsJson, print_json
from auto_research.cli.session import installed
from auto_research.errors import EvaluatorError, UserError

if TYPE_CHECKING:
    from auto_research.evaluate import Evaluation


def agent_eval(
    ctx: typer.Context,
    method: Annotated[str, typer.Option(help="A method's name, or a YAML file.")] = "sage",
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
    episodes: Annotated[int, typer.Option(help="Episodes of the test stream.")] = 120,
    seed: Annotated[int, typer.Option(help="Names the test family.")] = 42,
    train_seed: Annotated[int, typer.Option(help="Names the training family.")] = 0,
    train_scenarios: Annotated[
        int, typer.Option(help="Scenarios to train on; 0 is a cold start.")
    ] = 64,
    split: Annotated[str, typer.Option(help="test or validation.")] = "test",
    set_: Annotated[
        list[str] | None, typer.Option("--set", help="Change the method: retrieval.top_k=3.")
    ] = None,
    exclude: Annotated[
        list[str] | None, typer.Option(help="Leave a domain out of training (repeatable).")
    ] = None,
    data_dir: Annotated[Path | None, typer.Option(help="Data of a benchmark on disk.")] = None,
    units: Annotated[
        int | None, typer.Option(help="Budget of one episode in units (default: B).")
    ] = None,
    max_units: Annotated[int | None, typer.Option(help="Budget of the whole run in units.")] = None,
    frozen: Annotated[bool, typer.Option(help="Leave the library as it is at test.")] = False,
    test_feedback: Annotated[
        str, typer.Option(help="What operators see at test: own (check) or verdict.")
    ] = "own",
    unsafe_worlds: Annotated[
        bool,
        typer.Option("--unsafe-worlds", help="Accept worlds whose code could read the answers."),
    ] = False,
    workers: Annotated[int, typer.Option(help="Chains run at once.")] = 1,
    limit: Annotated[int | None, typer.Option(help="Only the first N episodes.")] = None,
    out: Annotated[Path, typer.Option(help="The run's directory goes under this one.")] = Path(
        "runs"
    ),
    name: Annotated[
        str, typer.Option(help="The run's name (default: method, benchmark, seed).")
    ] = (""),
    resume: Annotated[bool, typer.Option(help="Go on with the newest run of this name.")] = False,
    dry_run: Annotated[bool, typer.Option(help="Print the planned budget and stop.")] = False,
    as_json: AsJson = False,
) -> None:
    """Evaluate a method: train it, run the test stream, print the figures and write a report."""
    numbers = (episodes, seed, train_seed, train_scenarios, units, max_units, workers, limit)
    for option, number in zip(BOUNDS, numbers, strict=True):
        check_number(option, number)
    check_word("--split", split, ("test", "validation"))
    check_word("--test-feedback", test_feedback, ("own", "verdict"))

    from auto_research.agent_research.method import load_method
    from auto_research.evaluate import prepare
    from auto_research.furnishing import EvalRequest

    registry = installed(ctx)
    request = EvalRequest(
        method=load_method(method, registry, set_ or ()),
        benchmark=benchmark,
        agent=agent,
        episodes=min(episodes, limit or episodes),
        seed=seed,
        train_seed=train_seed,
        train_scenarios=train_scenarios,
        split="validation" if split == "validation" else "test",
        exclude=tuple(exclude or ()),
        data_dir=data_dir,
        frozen=frozen,
        test_feedback="verdict" if test_feedback == "verdict" else "own",
        units=units,
        run_units=max_units,
        unsafe_worlds=unsafe_worlds,
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
    path = run_path(out, name or f"{request.method.name}-{benchmark}-seed{seed}", resume)
    try:
        evaluation = prepare(request, registry)
        if dry_run:
            print_json({"config": evaluation.config.to_json(), "planned": evaluation.planned()})
            return
        result = _carry_out(evaluation, path, workers, resume)
    except EvaluatorError as error:
        raise UserError(str(error), where=str(path), mend=RESUME) from error
    if as_json:
        print_json(result)
    else:
        _show(result)


def _carry_out(evaluation: Evaluation, path: Path, workers: int, resume: bool) -> dict[str, Any]:
    from auto_research.cli.progress import episode_bar
    from auto_research.reporting.html import write_report

    planned: Any = evaluation.planned()["episodes"]
    try:
        with episode_bar(planned) as progressed:
            metrics = evaluation.run(path, workers=workers, resume=resume, progressed=progressed)
    except KeyboardInterrupt:
        print(f"stopped; finished episodes are kept in {path}: {RESUME}", file=sys.stderr)
        raise typer.Exit(130) from None
    report = write_report(path)
    print(f"report: {report}", file=sys.stderr)
    config = evaluation.config
    return {
        "run_dir": str(path),
        "method": evaluation.request.method.name,
        "benchmark": config.benchmark,
        "seed": config.seed,
        "train_seed": config.train_seed,
        "episodes": config.episodes,
        "budget": {"units": config.budget_units, "run_units": config.run_units},
        **metrics.to_json(),
    }


def _show(result: dict[str, Any]) -> None:
    from rich.console import Console

    from auto_research.reporting.tables import details_table, headline_table

    console = Console()
    console.print(headline_table(result))
    console.print(details_table(result))
    console.print(f"run: {result['run_dir']}", soft_wrap=True)
