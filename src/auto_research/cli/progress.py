"""Progress on stderr: a bar a phase on a terminal; of a training also lines for a log."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

from rich.console import Console
from rich.live import Live
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from auto_research.agent_research.budget import Phase
from auto_research.agent_research.runner import Progressed

if TYPE_CHECKING:
    from auto_research.training.backends import Progress as Step
    from auto_research.training.backends import Told

_COLUMNS = 4


@contextmanager
def episode_bar(planned: Mapping[Phase, int]) -> Iterator[Progressed]:
    """A function to call with a phase and the number of episodes just finished in it."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield lambda phase, count: None
        return
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=console, transient=True) as progress:
        bars = {p: progress.add_task(p, total=n) for p, n in planned.items() if n}

        def advance(phase: Phase, count: int) -> None:
            if phase in bars:
                progress.advance(bars[phase], count)

        yield advance


@contextmanager
def training_figures() -> Iterator[Told]:
    """A function to call with each step: a table that changes on a terminal, else a line each."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield lambda step: print(step.line(), file=sys.stderr, flush=True)
        return
    with Live(console=console, transient=True, auto_refresh=False) as live:
        yield lambda step: live.update(_figures(step), refresh=True)


def _figures(step: Step) -> Table:
    """The figures of one step, in as many columns as keep it low."""
    count = f" {step.done} of {step.planned}" if step.planned else ""
    table = Table(title=f"{step.stage}{count}", title_justify="left", box=None, pad_edge=False)
    cells = [(name, f"{value:.4g}") for name, value in step.figures.items()]
    rows = -(-len(cells) // _COLUMNS)
    for _ in range(min(_COLUMNS, len(cells))):
        table.add_column()
        table.add_column(justify="right", style="bold")
    for row in range(rows):
        table.add_row(*(text for cell in cells[row::rows] for text in cell))
    return table
