"""Put what `auto-research compare --json` printed into docs/results.json as a table.

auto-research compare --methods ... --seeds 1..5 --json > comparison.json
python experiments/comparison.py comparison.json
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).resolve().parent.parent / "docs" / "results.json"
COLUMNS = [
    "method",
    "joint success",
    "SGC",
    "cost at test",
    "total cost",
    "joint: it less the baseline",
    "p (McNemar, Holm)",
    "on the Pareto front",
]


def row(method: Mapping[str, Any]) -> list[Any]:
    """One method's line; the baseline has no difference."""
    difference = method["difference"]
    twins = ", ".join(method["same_as"])
    return [
        method["method"] + (f" (same as {twins})" if twins else ""),
        *(method[name] for name in ("joint", "sgc", "cost", "total_cost")),
        difference["joint"] if difference else None,
        _p(difference["p_holm"]) if difference else None,
        "yes" if method["pareto"] else "",
    ]


def _p(value: float) -> str:
    return "< 0.0001" if value < 0.0001 else f"{value:.4f}"


def table(compared: Mapping[str, Any], command: str) -> dict[str, Any]:
    """The comparison as a table of docs/results.json, best joint success first."""
    methods = sorted(compared["methods"], key=lambda m: (-m["joint"]["value"], m["method"]))
    return {
        "id": "comparison",
        "title": f"{len(methods)} methods at one budget, {compared['distinct']} distinct",
        "note": f"`{command}`. Differences are to {compared['baseline']}, their intervals hold "
        "together at 95 % (Bonferroni). Total cost is (training + probes + test) units an "
        "episode, as a share of B.",
        "columns": COLUMNS,
        "rows": [row(method) for method in methods],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("comparison", type=Path)
    parser.add_argument("--command", required=True, help="the command that made it")
    given = parser.parse_args()
    made = table(json.loads(given.comparison.read_text()), given.command)
    results = json.loads(RESULTS.read_text())
    others = [t for t in results["tables"] if t["id"] != made["id"]]
    results["tables"] = [*others, made]
    RESULTS.write_text(json.dumps(results, indent=1, sort_keys=True) + "\n")


if __name__ == "__main__":
    main()
