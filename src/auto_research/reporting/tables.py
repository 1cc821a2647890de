"""The result of a run as tables for the terminal; the HTML report tells the same figures."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.table import Table
from rich.text import Text

from auto_research.reporting.words import (
    METRICS,
    MODEL_METRICS,
    PHASE_NAMES,
    budget_line,
    count,
    counters,
    figure,
    interval,
    method_name,
    number,
    skills_written,
)


def headline_table(result: Mapping[str, Any]) -> Table:
    """The metrics with their 95 % intervals, from the `agent-eval --json` object."""
    title = Text(f"{method_name(result['method'])} on {result['benchmark']}", "bold")
    table = Table(title=title, title_justify="left", title_style="", box=None, pad_edge=False)
    table.add_column("metric")
    table.add_column("value", justify="right", style="bold")
    table.add_column("95 % interval", justify="right")
    asked = "generated_tokens" in result["metrics"]
    for key, label in ({**METRICS, **MODEL_METRICS} if asked else METRICS).items():
        metric = result["metrics"].get(key)
        if metric is not None:
            table.add_row(label, figure(key, metric.get("value")), interval(key, metric))
    if asked:
        written = number(skills_written(result["telemetry"]) / result["episodes"])
        table.add_row("Skills written a task", written, "–")
    table.caption = Text(
        f"{result['episodes']} episodes, seed {result['seed']}, train seed {result['train_seed']}\n"
        f"budget an episode: {budget_line(result['budget'])}"
    )
    table.caption_justify = "left"
    return table


def details_table(result: Mapping[str, Any]) -> Table:
    """What was spent and what the method did, a phase and in all; from the same object."""
    table = Table(box=None, pad_edge=False)
    table.add_column("")
    for name in PHASE_NAMES.values():
        table.add_column(name.lower(), justify="right")
    table.add_column("all", justify="right", style="bold")
    for counter in counters(result["telemetry"], result["spending"]):
        parts = [counter.phases.get(phase) for phase in PHASE_NAMES]
        cells = ["" if part is None else count(part) for part in parts]
        table.add_row(Text(counter.name), *cells, count(counter.total))
    share = result["spending"].get("total_units_per_test_episode")
    if share is not None:
        table.add_row("All units / test episodes", "", "", "", number(share))
    return table
