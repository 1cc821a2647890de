"""An ablation as one HTML file that opens from disk: the tables and the learning curves.

No script runs on it and nothing reaches the network; everything that it shows is escaped.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from markupsafe import Markup

from auto_research.agent_research.durable import write_atomic
from auto_research.errors import UserError
from auto_research.reporting.page import csp_hash, environment, text_of
from auto_research.reporting.training_curves import curve_figures, key
from auto_research.reporting.training_tables import (
    COMPARED,
    FIGURES,
    NO_FIGURE,
    PAPER,
    amount,
    cell,
    interval,
    notes,
    seeds_of,
)

PAGE = "ablation.html"


def write_ablation(directory: Path, told: Mapping[str, Any]) -> Path:
    """Write the page of an ablation, given as its `--json` object, and return its path.

    Raises UserError where it cannot be written.
    """
    page = build_ablation(told).encode("utf-8", "replace")
    try:
        write_atomic(directory / PAGE, page)
    except OSError as error:
        why = f"the page cannot be written: {error.strerror}"
        raise UserError(why, where=str(directory)) from None
    return directory / PAGE


def build_ablation(told: Mapping[str, Any]) -> str:
    """The page as text."""
    style = "".join(map(text_of, ("report.css", "comparison.css", "training.css")))
    return (
        environment()
        .get_template("training.html.j2")
        .render(
            style=Markup(style),
            style_hash=csp_hash(style),
            told=told,
            notes=list(notes(told)),
            figures=FIGURES,
            reported=PAPER,
            compared=COMPARED,
            no_figure=NO_FIGURE,
            cell=cell,
            amount=amount,
            interval=interval,
            seeds_of=seeds_of,
            charts=list(curve_figures(told["curves"])),
            key=key(told["curves"]),
        )
    )
