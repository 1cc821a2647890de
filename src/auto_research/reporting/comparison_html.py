"""A comparison as one HTML file that opens from disk: the table, the Pareto plot, the tasks.

No script runs on it and nothing reaches the network; everything that a run wrote is escaped.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from markupsafe import Markup

from auto_research.agent_research.durable import write_atomic
from auto_research.comparison.figures import TaskDifference, task_differences
from auto_research.comparison.matching import Line
from auto_research.errors import UserError
from auto_research.reporting.comparison_figures import difference_figure, pareto_figure
from auto_research.reporting.comparison_tables import (
    DIFFERENCES,
    FIGURES,
    interval_cell,
    p_value,
    setting_lines,
)
from auto_research.reporting.page import csp_hash, environment, text_of
from auto_research.reporting.words import PHASE_NAMES

PAGE = "comparison.html"


def write_comparison(directory: Path, told: Mapping[str, Any], lines: Sequence[Line]) -> Path:
    """Write the page of a comparison, given as its `--json` object, and return its path.

    Raises UserError where it cannot be written.
    """
    base = next(line for line in lines if line.label == told["baseline"])
    tasks = {line.label: task_differences(line, base) for line in lines if line is not base}
    try:
        directory.mkdir(parents=True, exist_ok=True)
        page = build_comparison(told, tasks).encode("utf-8", "replace")
        write_atomic(directory / PAGE, page)
    except OSError as error:
        raise UserError(
            f"the page cannot be written: {error.strerror}", where=str(directory)
        ) from None
    return directory / PAGE


def build_comparison(told: Mapping[str, Any], tasks: Mapping[str, Sequence[TaskDifference]]) -> str:
    """The page as text. `tasks` has the differences of each method to the baseline, in order."""
    style = text_of("report.css") + text_of("comparison.css")
    shown = {label: found for label, found in tasks.items() if found}
    return (
        environment()
        .get_template("comparison.html.j2")
        .render(
            style=Markup(style),
            style_hash=csp_hash(style),
            told=told,
            setting=setting_lines(told),
            figures=FIGURES,
            differences=DIFFERENCES,
            phases=PHASE_NAMES,
            cell=interval_cell,
            p_value=p_value,
            pareto=pareto_figure(told["methods"]),
            charts={
                label: difference_figure(number, label, told["baseline"], found)
                for number, (label, found) in enumerate(shown.items(), start=1)
            },
        )
    )
