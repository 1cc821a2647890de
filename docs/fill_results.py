"""Puts the measured figures of `docs/results.json` into the README and the pages.

    python docs/fill_results.py           fill every block
    python docs/fill_results.py --check   exit 1 if a block is out of date

A block `<!-- results:headline -->` ... `<!-- /results -->` holds the headline run; a block
`<!-- results:ID -->` holds the table with that id. The file:

    {"headline": {"command": str,          # what reproduces it, word for word
                  "split": str, "seed": int, "train_seed": int,
                  "runs": int,             # how often this seed was run (shown for test seeds)
                  "note": str,             # what a reader must know, may be empty
                  "metrics": {...}, "spending": {...}},   # as `agent-eval --json` prints them
     "tables": [{"id": str, "title": str, "note": str, "columns": [str, ...],
                 "rows": [[cell, ...], ...]}]}

A cell is a text, a number, an interval {"value", "low", "high"}, or null for "not measured".
Numbers with a fraction are shown with four digits after the point.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from blocks import run

RESULTS = Path(__file__).with_name("results.json")
HEADLINE = {
    "joint_success": "joint success (plan valid and answer right)",
    "average_cost": "average cost, mean of min(1, units / B)",
    "plan_success": "plan success",
    "answer_accuracy": "answer accuracy",
    "sgc": "scenarios with every task right (SGC)",
    "units": "units an episode, at test",
    "steps": "plan steps an episode",
}


def block(results: Mapping[str, Any], name: str) -> str:
    """The Markdown of one block. Raises KeyError for a name that the file does not have."""
    if name == "headline":
        return headline(results["headline"])
    tables = {table["id"]: table for table in results["tables"]}
    return table(tables[name])


def headline(told: Mapping[str, Any]) -> str:
    """The headline run as a table, with its command and how often its seed was run."""
    metrics, spending = told["metrics"], told["spending"]
    rows = [[label, metrics[name]] for name, label in HEADLINE.items()]
    rows.append(
        ["(training + probes + test units) / episodes", spending["total_units_per_test_episode"]]
    )
    times = "once" if told["runs"] == 1 else f"{told['runs']} times"
    run_often = f"; this seed was run {times}" if told["split"] == "test" else ""
    note = f" {told['note']}" if told["note"] else ""
    return (
        f"```\n{told['command']}\n```\n\n"
        f"{_grid(['figure', 'value [95 % interval]'], rows)}\n\n"
        f"{metrics['episodes']} episodes in {metrics['scenarios']} scenarios, split "
        f"{told['split']}, seed {told['seed']}, train seed {told['train_seed']}"
        f"{run_often}.{note}"
    )


def table(told: Mapping[str, Any]) -> str:
    """One table with its title and note."""
    note = f"\n\n{told['note']}" if told["note"] else ""
    return f"**{told['title']}**\n\n{_grid(told['columns'], told['rows'])}{note}"


def _grid(columns: list[str], rows: list[list[Any]]) -> str:
    for row in rows:
        if len(row) != len(columns):
            raise ValueError(f"{len(row)} cells for {len(columns)} columns: {row}")
    lines = [list(columns), ["---"] * len(columns), *([_cell(c) for c in row] for row in rows)]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def _cell(cell: Any) -> str:
    if cell is None:
        return "not measured"
    if isinstance(cell, Mapping):
        return f"{_cell(cell['value'])} [{_cell(cell['low'])}, {_cell(cell['high'])}]"
    if isinstance(cell, float):
        return f"{cell:,.4f}" if abs(cell) < 100 else f"{cell:,.1f}"
    return f"{cell:,}" if isinstance(cell, int) else str(cell)


def main() -> int:
    """Fill or check; the exit code."""
    results = json.loads(RESULTS.read_text(encoding="utf-8"))
    return run("results", lambda name: block(results, name))


if __name__ == "__main__":
    raise SystemExit(main())
