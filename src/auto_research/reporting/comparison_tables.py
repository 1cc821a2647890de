"""A comparison as tables: for the terminal, as CSV and as Markdown; the page tells the same."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rich.table import Table
from rich.text import Text

from auto_research.reporting.words import PHASE_NAMES, count, number, rate

Comparison = Mapping[str, Any]
Method = Mapping[str, Any]

NONE = "–"
# A method's figures: key, heading, and whether it is a share (four decimals) or an amount.
FIGURES = (
    ("joint", "joint", True),
    ("sgc", "SGC", True),
    ("cost", "cost at test", True),
    ("total_cost", "total cost", True),
    ("steps", "steps", False),
    ("tokens", "tokens", False),
)
DIFFERENCES = (("joint", "joint"), ("cost", "cost at test"), ("total_cost", "total cost"))


def comparison_table(told: Comparison) -> Table:
    """The table for the terminal, a method a block of lines, from the `--json` object."""
    title = Text(f"{len(told['methods'])} methods on {told['benchmark']}", "bold")
    table = Table(
        title=title,
        title_justify="left",
        title_style="",
        box=None,
        pad_edge=False,
        padding=(0, 1, 1, 0),  # an empty line after each method
    )
    less = f"less {told['baseline']}:"
    for heading in (
        "method",
        "joint\nSGC\nerrors / episodes",
        "cost at test\ntotal cost",
        "steps\ntokens",
        "units an episode:\ntraining\nprobes\ntest",
        f"{less}\njoint\ncost at test\ntotal cost",
        f"{less}\ngained, lost\nMcNemar p\np (Holm)",
    ):
        table.add_column(Text(heading), vertical="top")
    for method in told["methods"]:
        table.add_row(*(Text("\n".join(lines)) for lines in _block(method)))
    table.caption = Text("\n".join([*setting_lines(told), *_notes(told)]))
    table.caption_justify = "left"
    return table


def as_markdown(told: Comparison) -> str:
    """The table as Markdown, a line a method; warnings above it."""
    base = told["baseline"]
    headings = [
        "method",
        *(heading for _, heading, _ in FIGURES),
        *(f"units: {name.lower()}" for name in PHASE_NAMES.values()),
        *(f"{heading} less {base}" for _, heading in DIFFERENCES),
        "p (Holm)",
        "Pareto front",
        "same as",
        "errors",
    ]
    lines = [headings, ["---"] * len(headings)]
    lines += [list(cells(method)) for method in told["methods"]]
    grid = ["| " + " | ".join(c.replace("|", "\\|") for c in line) + " |" for line in lines]
    warned = [f"> **Warning**: {warning}\n" for warning in told["warnings"]]
    return "\n".join([*warned, *grid, "", *setting_lines(told), ""])


def cells(method: Method) -> Iterator[str]:
    """The cells of one method, in the order of the Markdown table."""
    yield method["method"]
    for key, _, share in FIGURES:
        yield interval_cell(method[key], share=share)
    for phase in PHASE_NAMES:
        yield interval_cell(method["units"][phase], share=False)
    difference = method["difference"]
    for key, _ in DIFFERENCES:
        yield interval_cell(difference[key], signed=True) if difference else NONE
    yield p_value(difference["p_holm"]) if difference else NONE
    yield "yes" if method["pareto"] else ""
    yield ", ".join(method["same_as"])
    yield count(method["errors"])


def as_csv(told: Comparison) -> str:
    """The table as CSV with a heading: each figure in three columns, plain numbers."""
    rows = [dict(_flat(told, method)) for method in told["methods"]]
    text = io.StringIO()
    writer = csv.DictWriter(text, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def setting_lines(told: Comparison) -> list[str]:
    """What all runs had in common, and what stands behind intervals and p, in words."""
    distinct, methods = told["distinct"], len(told["methods"])
    return [
        f"{told['split']} {_seeds(told['seeds'])}, train {_seeds(told['train_seeds'])}, "
        f"{told['train_scenarios']} train scenarios, "
        f"{told['episodes_per_run']} episodes a run, agent {told['agent']}, "
        f"{count(told['budget']['units'])} units an episode",
        f"intervals: 95 %, by scenario; differences to {told['baseline']} at "
        f"{100 * told['difference_level']:.2f} % each, so that all {told['comparisons']} hold "
        "together; p: McNemar's, exact, Holm-adjusted",
        f"{distinct} of {methods} methods differ in what they retrieved, called or handed in",
    ]


def interval_cell(
    figure: Mapping[str, float | None], *, share: bool = True, signed: bool = False
) -> str:
    """``value [low, high]``; without the brackets where there is no interval."""
    parts = [figure["value"], figure["low"], figure["high"]]
    value, low, high = (NONE if p is None else _shown(p, share, signed) for p in parts)
    return value if figure["low"] is None else f"{value} [{low}, {high}]"


def p_value(p: float) -> str:
    """Four decimals, or that it is smaller than they can show."""
    return "< 0.0001" if p < 0.0001 else rate(p)


def _shown(value: float, share: bool, signed: bool) -> str:
    text = rate(value) if share else number(value)
    return f"+{text}" if signed and value > 0 else text


def _block(method: Method) -> Iterator[list[str]]:
    """The lines of each column's cell."""
    shown = {key: interval_cell(method[key], share=share) for key, _, share in FIGURES}
    yield [
        method["method"],
        *(["Pareto front"] if method["pareto"] else []),
        *(f"= {other}" for other in method["same_as"]),
    ]
    yield [shown["joint"], shown["sgc"], f"{method['errors']} / {count(method['episodes'])}"]
    yield [shown["cost"], shown["total_cost"]]
    yield [shown["steps"], shown["tokens"]]
    yield [interval_cell(method["units"][phase], share=False) for phase in PHASE_NAMES]
    difference = method["difference"]
    if difference is None:
        yield from ([NONE], [NONE])
        return
    yield [interval_cell(difference[key], signed=True) for key, _ in DIFFERENCES]
    yield [
        f"+{difference['gained']}, -{difference['lost']} of {count(difference['pairs'])}",
        p_value(difference["p"]),
        p_value(difference["p_holm"]),
    ]


def _flat(told: Comparison, method: Method) -> Iterator[tuple[str, object]]:
    yield "method", method["method"]
    yield "seeds", " ".join(map(str, method["seeds"]))
    for key in ("episodes", "scenarios", "errors"):
        yield key, method[key]
    for key, _, _ in FIGURES:
        yield from _parts(key, method[key])
    for phase in PHASE_NAMES:
        yield from _parts(f"units_{phase}", method["units"][phase])
    difference = method["difference"] or {}
    yield "baseline", told["baseline"]
    yield "difference_level", told["difference_level"]
    for key, _ in DIFFERENCES:
        yield from _parts(f"difference_{key}", difference.get(key, {}))
    for key in ("pairs", "gained", "lost", "p", "p_holm"):
        yield key, difference.get(key, "")
    yield "pareto", str(method["pareto"]).lower()
    yield "same_as", " ".join(method["same_as"])
    yield "warnings", "; ".join(told["warnings"])


def _parts(name: str, figure: Mapping[str, float | None]) -> Iterator[tuple[str, object]]:
    for part in ("value", "low", "high"):
        value = figure.get(part)
        yield name if part == "value" else f"{name}_{part}", "" if value is None else value


def _notes(told: Comparison) -> list[str]:
    return [f"WARNING: {warning}" for warning in told["warnings"]]


def _seeds(numbers: Sequence[int]) -> str:
    """``seed 7`` or ``seeds 1-5, 9``, from numbers in ascending order."""
    return f"seed{'s' if len(numbers) > 1 else ''} {', '.join(ranges(numbers))}"


def ranges(numbers: Sequence[int]) -> list[str]:
    """Whole numbers in ascending order, those that follow each other as ``1-5``."""
    runs: list[list[int]] = []
    for n in numbers:
        if runs and runs[-1][-1] == n - 1:
            runs[-1].append(n)
        else:
            runs.append([n])
    return [f"{run[0]}-{run[-1]}" if len(run) > 1 else str(run[0]) for run in runs]
