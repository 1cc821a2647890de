"""`auto-research evolve`: search the combinations of installed operators in a stated direction."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from auto_research.cli.options import RESUME, run_path
from auto_research.cli.output import AsJson, print_json
from auto_research.cli.session import installed
from auto_research.errors import EvaluatorError, UserError

if TYPE_CHECKING:
    from auto_research.evolution.record import Trial

BOUNDS = {
    "--generations": (1, 1000),
    "--population": (2, 1000),
    "--seed": (0, 2**63),
    "--train-seed": (0, 2**63),
    "--episodes": (1, 100_000),
    "--train-scenarios": (0, 100_000),
    "--test-episodes": (1, 100_000),
    "--final-train-scenarios": (0, 100_000),
    "--max-units": (1, 10**15),
    "--max-seconds": (1, 10**6),
    "--workers": (1, 256),
}


def evolve(
    ctx: typer.Context,
    direction: Annotated[
        str, typer.Option(help="What to search, in words (Chinese or English).")
    ] = "",
    model: Annotated[
        str, typer.Option(help="What is evolved: agent, a method for an agent.")
    ] = "agent",
    dataset: Annotated[str, typer.Option(help="A benchmark's name.")] = "planbench-mini",
    agent: Annotated[str, typer.Option(help="An agent's name.")] = "search",
    generations: Annotated[int, typer.Option(help="Rounds of both arms.")] = 4,
    population: Annotated[int, typer.Option(help="Genomes a round and arm.")] = 8,
    seed: Annotated[int, typer.Option(help="Names the search and both families of tasks.")] = 42,
    train_seed: Annotated[int, typer.Option(help="Names the training family.")] = 0,
    episodes: Annotated[int, typer.Option(help="Validation episodes of a trial.")] = 30,
    train_scenarios: Annotated[int, typer.Option(help="Scenarios a trial trains on.")] = 3,
    test_episodes: Annotated[int, typer.Option(help="Test episodes of the champions.")] = 120,
    final_train_scenarios: Annotated[
        int, typer.Option(help="Scenarios the champions train on for the test.")
    ] = 64,
    data_dir: Annotated[Path | None, typer.Option(help="Data of a benchmark on disk.")] = None,
    agent_option: Annotated[
        list[str] | None,
        typer.Option(help="An option of the agent, as model=NAME or base_url=URL (repeatable)."),
    ] = None,
    max_units: Annotated[
        int | None, typer.Option(help="What one trial may spend (default: stated in the docs).")
    ] = None,
    max_seconds: Annotated[
        int, typer.Option(help="The safety net: a trial that takes longer has failed.")
    ] = 600,
    workers: Annotated[int, typer.Option(help="Trials run at once.")] = 2,
    out: Annotated[Path, typer.Option(help="The search's directory goes under this one.")] = Path(
        "runs"
    ),
    name: Annotated[str, typer.Option(help="The search's name (default: from the rest).")] = "",
    resume: Annotated[
        bool, typer.Option(help="Go on with the newest search of this name.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Evolve a method: search beside random search, then test both champions against sage."""
    sizes = (generations, population, seed, train_seed, episodes, train_scenarios, test_episodes)
    limits = (final_train_scenarios, max_units, max_seconds, workers)
    for option, number in zip(BOUNDS, (*sizes, *limits), strict=True):
        _check_number(option, number)
    if model != "agent":
        raise UserError(f"{model!r} cannot be evolved", where="--model", mend="known: agent")

    from auto_research.evolution.evolve import evolve as carry_out
    from auto_research.evolution.plan import EvolveRequest, plan
    from auto_research.reporting.evolution import write_evolution_report

    request = EvolveRequest(
        direction=direction,
        dataset=dataset,
        agent=agent,
        generations=generations,
        population=population,
        seed=seed,
        train_seed=train_seed,
        episodes=episodes,
        train_scenarios=train_scenarios,
        test_episodes=test_episodes,
        final_train_scenarios=final_train_scenarios,
        data_dir=data_dir,
        max_units=max_units,
        max_seconds=max_seconds,
        agent_options=dict(map(_pair, agent_option or ())),
    )
    path = run_path(out, name or f"evolve-{dataset}-seed{seed}", resume)
    try:
        planned = plan(request, installed(ctx))
        for line in (*planned.reading.lines(), _extent(planned)):
            print(line, file=sys.stderr if as_json else sys.stdout, flush=True)
        result = carry_out(planned, path, workers=workers, resume=resume, told=_told)
    except EvaluatorError as error:
        raise UserError(str(error), where=str(path), mend=RESUME) from error
    except KeyboardInterrupt:
        print(f"stopped; finished trials are kept in {path}: {RESUME}", file=sys.stderr)
        raise typer.Exit(130) from None
    print(f"report: {write_evolution_report(path)}", file=sys.stderr)
    if as_json:
        print_json(result)
    else:
        _show(result)


def _check_number(option: str, number: int | None) -> None:
    least, most = BOUNDS[option]
    if number is not None and not least <= number <= most:
        raise UserError(f"{number} is out of range", where=option, mend=f"from {least} to {most}")


def _pair(option: str) -> tuple[str, str]:
    name, sign, value = option.partition("=")
    if not (sign and name):
        raise UserError(f"{option!r} is not NAME=VALUE", where="--agent-option")
    return name.replace("-", "_"), value


def _extent(planned: Any) -> str:
    request, size = planned.request, planned.space.size
    how = (
        "all of them"
        if planned.enumerated
        else f"{request.generations} x {request.population} an arm"
    )
    return (
        f"space: {size:,} genomes, {how}; a trial: {request.train_scenarios} train scenarios, "
        f"{request.episodes} validation episodes"
    )


def _told(trials: Sequence[Trial]) -> None:
    """A generation on stderr."""
    generation = trials[0].place.generation
    for arm in ("evolution", "random"):
        mine = [trial for trial in trials if trial.place.arm == arm]
        able = [fitness for trial in mine if (fitness := trial.outcome.fitness) is not None]
        best = min((fitness.order for fitness in able), default=None)
        said = "none worked" if best is None else f"best {-best[0]:.4f} at cost {best[1]:.4f}"
        failed = f", {len(mine) - len(able)} failed" if len(mine) > len(able) else ""
        print(f"generation {generation}, {arm}: {said}{failed}", file=sys.stderr, flush=True)


def _show(result: dict[str, Any]) -> None:
    from rich.console import Console

    from auto_research.reporting.evolution import champions_table, claims_table

    # A pipe has no width; 80 columns would fold the intervals.
    console = Console(width=None if sys.stdout.isatty() else 200)
    console.print(champions_table(result))
    console.print(claims_table(result))
    for line in result["verdict"]:
        console.print(line, markup=False, highlight=False)
    console.print(f"champion: {result['run_dir']}/champion.yaml", soft_wrap=True)
