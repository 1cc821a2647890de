"""An ablation as tables for the terminal: the paper's figures beside ours, and the plan."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from rich.table import Table
from rich.text import Text

from auto_research.reporting.comparison_tables import NONE, ranges
from auto_research.reporting.words import count, number

Told = Mapping[str, Any]

# A figure's heading, and whether it is a share (three decimals) or an amount.
FIGURES: Mapping[str, tuple[str, bool]] = {
    "tgc": ("TGC", True),
    "sgc": ("SGC", True),
    "steps": ("steps", False),
    "actions": ("actions", False),
    "tokens": ("tokens", False),
    "use": ("use", True),
}
PAPER = ("tgc", "sgc", "steps", "tokens")  # what the paper reports
COMPARED = ("sgc", "tgc", "tokens")
NO_FIGURE = "paper has no figure"


def ablation_table(told: Told) -> Table:
    """The table for the terminal, an arm a block of lines, from the `--json` object."""
    table = _table(f"{told['paper']['title']} ({told['paper']['citation']}): {told['benchmark']}")
    less = f"{told['reference']} less it"
    for heading in (
        "arm",
        "TGC\nSGC\nuse",
        "steps\nactions\ntokens",
        "the paper's rows",
        f"{less}:\nSGC\nTGC\ntokens",
        "scenarios only",
        "in the paper:\nSGC\nTGC\ntokens",
        "agreement",
    ):
        table.add_column(Text(heading), vertical="top")
    for arm in told["arms"]:
        table.add_row(*(Text("\n".join(lines)) for lines in _block(arm)))
    table.caption = Text("\n".join(notes(told)))
    table.caption_justify = "left"
    return table


def _block(arm: Told) -> Iterator[list[str]]:
    """The lines of each column's cell."""
    figures, difference, rows = arm["figures"], arm["difference"], arm["paper"]
    yield [arm["arm"], seeds_of(len(arm["seeds"])), *(f"FAILED {n}" for n in arm["failed"])]
    for names in (("tgc", "sgc", "use"), ("steps", "actions", "tokens")):
        yield [cell(name, figures[name]) for name in names] if figures else [NONE]
    yield [line for row in rows for line in _paper_lines(row)] or [NONE]
    if not difference:
        yield from ([NONE], [NONE], [NONE], [NONE])
        return
    yield [cell(name, difference[name], signed=True) for name in COMPARED]
    yield [interval(name, difference[name]["scenarios"], signed=True) for name in COMPARED]
    yield [amount(n, row["difference"][n], signed=True) for row in rows for n in COMPARED] or [NONE]
    yield [row["agreement"][name] for row in rows for name in COMPARED] or [NO_FIGURE]


def seeds_of(number: int) -> str:
    """How many seeds, in words."""
    return f"{number} seed{'' if number == 1 else 's'}"


def _paper_lines(row: Told) -> list[str]:
    tgc, sgc, steps, tokens = (amount(name, row[name]) for name in PAPER)
    return [row["row"], f"TGC {tgc}, SGC {sgc}", f"steps {steps}, tokens {tokens}"]


def notes(told: Told) -> Iterator[str]:
    """What stands behind the figures, a sentence each."""
    seeds, test, budget = told["seeds"], told["test"], told["budget"]
    yield (
        f"training seeds {', '.join(ranges(seeds))}, first stage too; {test['split']} seed "
        f"{test['seed']}, {count(test['episodes'])} episodes a run"
    )
    if budget:
        yield (
            f"second stage of every arm that has one: {count(budget['rollouts'])} rollouts, "
            f"{count(budget['optimizer_steps'])} optimizer steps, {count(budget['max_tokens'])} "
            "tokens at most"
        )
    yield (
        f"[low, high]: {100 * told['level']:g} % over training seeds and test scenarios; "
        "scenarios only: the trainings taken as given"
    )
    yield "a call is one step, whatever its body does; actions are those in the world"
    yield from taught(told)
    yield "the paper's figures are of another world, model and size: directions may be compared"


def taught(told: Told) -> Iterator[str]:
    """What of the use of skills comes from the first stage, a sentence each."""
    by_name = {arm["arm"]: arm for arm in told["arms"]}
    reference = by_name.get(told["reference"])
    for name in told["before_rl"]:
        if by_name[name]["figures"]:
            after = ""
            if reference and reference["figures"]:
                after = f"; after RL ({reference['arm']}) {_use(reference)}"
            yield (
                f"taught by the first stage: before any RL ({name}) "
                f"{_use(by_name[name])} of the tasks after a scenario's first "
                f"call an earlier task's skill{after}"
            )


def _use(arm: Told) -> str:
    return cell("use", arm["figures"]["use"])


def plan_table(told: Told) -> Table:
    """What would be run, an arm a line, from the object of `--dry-run --json`."""
    seeds = told["seeds"]
    table = _table(f"{told['paper']} on {told['benchmark']}, seeds {', '.join(ranges(seeds))}")
    table.add_column("arm", no_wrap=True)
    headings = ("SFT steps", "own steps", "rollouts", "optimizer steps", "tokens at most")
    for heading in (*headings, "test episodes"):
        table.add_column(heading, justify="right")
    table.add_column("what")
    for name, arm in told["arms"].items():
        keys = ("sft_steps", "own_steps", "rollouts", "optimizer_steps", "max_tokens")
        amounts = [count(arm[key]) for key in (*keys, "test_episodes")]
        table.add_row(name, *amounts, Text(arm["title"]))
    table.caption = Text(
        f"each arm with each of {len(seeds)} seeds; first stages are shared by the arms of a seed"
    )
    table.caption_justify = "left"
    return table


def cell(name: str, figure: Told, *, signed: bool = False) -> str:
    """``value [low, high]`` over seeds and scenarios; the value alone where there is one seed."""
    value = amount(name, figure["value"], signed=signed)
    return value if figure["low"] is None else f"{value} {interval(name, figure, signed=signed)}"


def interval(name: str, figure: Told, *, signed: bool = False) -> str:
    """``[low, high]``."""
    low, high = (amount(name, figure[end], signed=signed) for end in ("low", "high"))
    return f"[{low}, {high}]"


def amount(name: str, value: float | None, *, signed: bool = False) -> str:
    """A figure's value: three decimals of a share, one of an amount, a dash for none."""
    if value is None:
        return NONE
    text = f"{value:.3f}" if FIGURES[name][1] else number(value)
    return f"+{text}" if signed and value > 0 else text


def _table(title: str) -> Table:
    return Table(
        title=Text(title, "bold"),
        title_justify="left",
        title_style="",
        box=None,
        pad_edge=False,
        padding=(0, 1, 1, 0),
    )
