"""The report of a search, finished or not, as one HTML file; and its table for the terminal.

Reads what `evolve` left in its directory and nothing else. Transcripts stay packed until a reader
opens a trial, so a search of hundreds of genomes still makes a page of a few megabytes.
"""

from __future__ import annotations

import base64
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml
from markupsafe import Markup
from rich.table import Table
from rich.text import Text

from auto_research.agent_research.durable import write_atomic
from auto_research.errors import UserError
from auto_research.reporting.evolution_files import SearchFiles, read_search
from auto_research.reporting.front import Dot, front_figure, fronts
from auto_research.reporting.page import csp_hash, environment, text_of
from auto_research.reporting.words import count, rate

SIDES = {"champion": "Champion", "random_champion": "Random search's champion", "sage": "sage"}
GAPS = {
    "champion_minus_sage": "Champion minus sage",
    "random_champion_minus_sage": "Random search's champion minus sage",
    "champion_minus_random_champion": "Champion minus random search's",
}
SLOTS = ("retrieval", "update", "reward", "rollout")
CELLS = {"1": ("success", "✓"), "0": ("failure", "✗"), "e": ("error", "!"), "?": ("none", "?")}


def write_evolution_report(folder: Path) -> Path:
    """Write `report.html` of a search and return its path.

    Raises UserError if none is there, a file of it is damaged, or the page cannot be written.
    """
    files = read_search(folder)
    try:
        page = _page(folder, files).encode("utf-8", "replace")
        write_atomic(folder / "report.html", page)
    except OSError as error:
        raise UserError(
            f"the page cannot be written: {error.strerror}", where=str(folder)
        ) from None
    return folder / "report.html"


def _page(folder: Path, files: SearchFiles) -> str:
    config, trials, result = files.config, files.trials, files.result
    style = text_of("report.css") + text_of("evolution.css")
    script = text_of("evolution.js")
    templates = environment()
    templates.filters.update(
        rate=_rate, gap=_gap, cell=lambda letter: CELLS.get(letter, CELLS["?"])
    )
    dots, claim = list(_dots(trials)), result.get("claim", {})
    return templates.get_template("evolution.html.j2").render(
        style=Markup(style),
        script=Markup(script),
        style_hash=csp_hash(style),
        script_hash=csp_hash(script),
        config=config,
        config_text=yaml.safe_dump(config, sort_keys=False, allow_unicode=True),
        trials=trials,
        result=result,
        sides=[(label, result["test"][side]) for side, label in SIDES.items()] if result else [],
        gaps=[(label, gap) for key, label in GAPS.items() if (gap := claim.get(key))],
        champions=result.get("champions", {}),
        front=front_figure(dots) if dots else "",
        fronts=fronts(dots),
        generations=sorted({trial["generation"] for trial in trials}),
        frequencies=list(_frequencies(trials)),
        ancestors=list(_ancestors(files.ancestry)),
        blocks=dict(_blocks(folder, trials)),
        slots=SLOTS,
    )


def champions_table(result: Mapping[str, Any]) -> Table:
    """The champions and sage on test, from the `evolve --json` object."""
    table = _table(f"{result['benchmark']}, seed {result['seed']}: on test")
    for column in ("joint success", "average cost", "total cost", "joint on validation"):
        table.add_column(column, justify="right")
    for side, label in SIDES.items():
        run, seen = result["test"][side], result["champions"].get(side)
        figures = [_rate(run.get(key)) for key in ("joint_success", "average_cost", "total_cost")]
        table.add_row(label, *figures, _rate(seen["validation"]["joint_success"] if seen else None))
    evaluated = result["evaluations"]
    table.caption = Text(
        f"{evaluated['distinct']} genomes evaluated, {evaluated['failed']} failed; "
        f"{count(evaluated['units'])} units spent by trials"
    )
    table.caption_justify = "left"
    return table


def claims_table(result: Mapping[str, Any]) -> Table:
    """The differences on test with their 95 % intervals, from the same object."""
    table = _table("")
    for column in ("joint success", "cost at test", "total cost"):
        table.add_column(column, justify="right")
    for key, label in GAPS.items():
        if gap := result["claim"].get(key):
            cells = [_gap(gap[name]) for name in ("joint_success", "average_cost")]
            table.add_row(label, *cells, f"{gap['total_cost']:+.4f}")
    return table


def _table(title: str) -> Table:
    styled = Text(title, "bold") if title else None
    table = Table(title=styled, title_justify="left", title_style="", box=None, pad_edge=False)
    table.add_column("", no_wrap=True)
    return table


def _gap(interval: Mapping[str, float]) -> str:
    return f"{interval['value']:+.4f} [{interval['low']:+.4f}, {interval['high']:+.4f}]"


def _rate(value: object) -> str:
    return rate(value) if isinstance(value, int | float) else "–"


def _dots(trials: Iterable[Mapping[str, Any]]) -> Iterator[Dot]:
    for trial in trials:
        if trial["status"] == "done":
            random = trial["arm"] == "random"
            yield Dot(trial["cost"], trial["joint"], trial["generation"], random)


def _frequencies(trials: Sequence[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    """For each operator that evolution tried: how often in each generation."""
    mine = [trial for trial in trials if trial["arm"] == "evolution"]
    generations = sorted({trial["generation"] for trial in mine})
    for slot in SLOTS:
        counts: Counter[tuple[str, int]] = Counter(
            (trial["method"][slot]["use"], trial["generation"]) for trial in mine
        )
        totals: Counter[str] = Counter(trial["method"][slot]["use"] for trial in mine)
        for use, total in sorted(totals.items(), key=lambda item: (-item[1], item[0])):
            yield {
                "slot": slot,
                "use": use,
                "counts": [counts[use, generation] for generation in generations],
                "total": total,
            }


def _ancestors(ancestry: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """The champion and all it came from, nearest first."""
    genomes = {genome["hash"]: genome for genome in ancestry.get("genomes", ())}
    return (genomes[known] for known in ancestry.get("ancestors", ()))


def _blocks(folder: Path, trials: Iterable[Mapping[str, Any]]) -> Iterator[tuple[str, Markup]]:
    """The packed transcripts there are, each genome's once."""
    for genome in dict.fromkeys(trial["hash"] for trial in trials):
        path = folder / "transcripts" / f"{genome[:16]}.json.z"
        if path.is_file():
            yield genome, Markup(base64.b64encode(path.read_bytes()).decode("ascii"))
