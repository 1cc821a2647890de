"""Puts what the code itself says into the pages: help texts, tariff, sizes, operators, a skill.

    python docs/fill_facts.py           fill every block
    python docs/fill_facts.py --check   exit 1 if a block is out of date

A block stands between `<!-- code:NAME -->` and `<!-- /code -->`; the names are those of FACTS.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

os.environ |= {"TYPER_USE_RICH": "0", "NO_COLOR": "1", "COLUMNS": "80"}  # read when typer loads

import typer
from blocks import ROOT, run

from auto_research.agent_research.agents.search.agent import SearchAgent
from auto_research.agent_research.budget import TARIFF, Budget, Meter
from auto_research.agent_research.operators import SLOTS, Choice, EditRequest, Episode
from auto_research.benchmarks.appworld.inside.mini.scenarios import FAMILIES, SPLITS
from auto_research.benchmarks.base import Task
from auto_research.benchmarks.planbench.sizes import (
    DEFAULT_SCENARIOS,
    QUESTION_WALK,
    REPLANNING_WALK,
    SIZES,
    UNITS_PER_EPISODE,
    VERSION,
)
from auto_research.cli.main import app
from auto_research.plugins import load_plugins

OURS = ("builtin", "sage")  # the plugins that these pages describe
TARIFF_WORDS = {
    "ground": "an action instantiated for a search",
    "expand": "a state expanded by a search",
    "act": "an action simulated: while planning, answering, or cutting a plan down",
    "match": "a binding of a rule's variables considered",
    "rule": "a rule tried, or a subgoal opened",
    "bind": "an action schema held against another domain's",
    "retrieve": "a skill considered for retrieval",
    "load": "a skill loaded into the sandbox",
    "write": "a rule written into a skill (for a raw trace: a step)",
    "step": "a turn in a world: a piece of code handed to it, or a reply without any",
    "api-call": "a call of an app's API in a world",
    "generate": "a word that the agent `micro` writes",
}


def commands() -> str:
    """The help text of the program and of every command, under a heading each."""
    parts = []
    for words, command, ctx in _commands(typer.main.get_command(app), ("auto-research",), None):
        level = "##" if len(words) < 3 else "###"
        parts.append(f"{level} {' '.join(words)}\n\n```text\n{command.get_help(ctx)}\n```")
    return "\n\n".join(parts)


def _commands(command: Any, words: tuple[str, ...], parent: Any) -> Iterator[tuple[Any, ...]]:
    """Words, command and context of a command and of all below it."""
    ctx = command.context_class(command, info_name=words[-1], parent=parent)
    yield words, command, ctx
    for name, inner in getattr(command, "commands", {}).items():
        yield from _commands(inner, (*words, name), ctx)


def tariff() -> str:
    """What one of each kind costs."""
    rows = ((f"`{kind}`", units, TARIFF_WORDS[kind]) for kind, units in TARIFF.items())
    return _grid(("kind", "units", "what is counted"), rows)


def sizes() -> str:
    """How large the tasks of planbench-mini are."""
    rows = (
        (world, size, ", ".join(f"{name} {_span(span)}" for name, span in counts.items()))
        for world, by_size in SIZES.items()
        for size, counts in by_size.items()
    )
    return _grid(("world", "task", "drawn from"), rows)


def numbers() -> str:
    """The other numbers that define planbench-mini."""
    rows = (
        ("version", VERSION),
        ("B, units an episode", f"{UNITS_PER_EPISODE:,}"),
        ("scenarios", f"{DEFAULT_SCENARIOS} of three tasks, so {3 * DEFAULT_SCENARIOS} episodes"),
        ("actions walked before a replanning task", _span(REPLANNING_WALK)),
        ("actions in a question's plan", _span(QUESTION_WALK)),
    )
    return _grid(("number", "value"), rows)


def families() -> str:
    """The kinds of tasks of appworld-mini."""
    rows = (
        (
            f"`{family.name}`",
            family.difficulty,
            ", ".join(family.apps),
            (family.make.__doc__ or "").rstrip("."),
            ", ".join(split for split, names in SPLITS.items() if family.name in names),
        )
        for family in FAMILIES.values()
    )
    return _grid(("family", "difficulty", "apps", "what is asked", "splits"), rows)


def operators() -> str:
    """The operators of the built-ins and of plugins/sage."""
    registry = load_plugins()
    rows = (
        (slot, f"`{name}`", entry.value.summary, entry.value.citation)
        for slot in SLOTS
        for name, entry in sorted(registry.operators[slot].items())
        if entry.plugin in OURS
    )
    return _grid(("slot", "operator", "what it does", "source"), rows)


def methods() -> str:
    """The methods of the built-ins and of plugins/sage."""
    rows = []
    for name, entry in sorted(load_plugins().methods.items()):
        if entry.plugin in OURS:
            data = entry.value.data
            rows.append((f"`{name}`", *(f"`{_use(data[slot])}`" for slot in SLOTS)))
    return _grid(("method", *SLOTS), rows)


def _use(filled: object) -> object:
    return filled["use"] if isinstance(filled, Mapping) else filled


def skill() -> str:
    """The skill that the agent writes after it has solved fixtures/search/blocks by search."""
    folder = ROOT / "fixtures" / "search" / "blocks"
    seen = {name: (folder / f"{name}.pddl").read_text() for name in ("domain", "problem")}
    task = Task("blocks_1", "blocks", 0, "pddl", "", seen)
    agent, meter = SearchAgent(), Meter(Budget())
    session = agent.session(task, meter)
    attempt = session.attempt(())
    episode = Episode(
        id="docs",
        task=task,
        position=0,
        choice=Choice(),
        uses=attempt.uses,
        own_check=attempt.own_check,
        verdict=None,
        has_submission=True,
        spending=meter.spending(),
        evidence=attempt.evidence,
    )
    (written,) = session.write(EditRequest("create", episode=episode))
    agent.close()
    plan = "\n".join(" ".join(step) for step in attempt.submission.plan or ())
    return f"The plan:\n\n```text\n{plan}\n```\n\nThe skill:\n\n{_as_written(written.source)}"


def executor() -> str:
    """The part of every skill run that is the same for all: the executor."""
    from auto_research.agent_research.agents.search.agent import EXECUTOR

    return _as_written(EXECUTOR)


def _as_written(source: str) -> str:
    """Python that no formatter of the pages may touch."""
    return f"<!-- fmt: off -->\n\n```python\n{source}```\n\n<!-- fmt: on -->"


def _span(span: tuple[int, int]) -> str:
    low, high = span
    return str(low) if low == high else f"{low}-{high}"


def _grid(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    lines = [columns, ["---"] * len(columns), *rows]
    cells = [[str(cell).replace("|", "\\|") for cell in line] for line in lines]
    return "\n".join("| " + " | ".join(line) + " |" for line in cells)


FACTS: dict[str, Callable[[], str]] = {
    "commands": commands,
    "tariff": tariff,
    "sizes": sizes,
    "numbers": numbers,
    "families": families,
    "operators": operators,
    "methods": methods,
    "skill": skill,
    "executor": executor,
}


if __name__ == "__main__":
    raise SystemExit(run("code", lambda name: FACTS[name]()))
