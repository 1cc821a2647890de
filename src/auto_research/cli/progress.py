"""Progress on stderr: a bar a phase, on a terminal only."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from auto_research.agent_research.budget import Phase
from auto_research.agent_research.runner import Progressed


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
