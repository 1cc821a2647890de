"""`auto-research operators`: what can fill a slot, where it comes from, how it is set."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Annotated

import typer

from auto_research.benchmarks.base import Json
from auto_research.cli.output import AsJson, print_json, print_rows
from auto_research.cli.session import installed
from auto_research.errors import UserError, did_you_mean

if TYPE_CHECKING:
    from auto_research.agent_research.catalog import Entry
    from auto_research.agent_research.operators import Operator

operators_app = typer.Typer(no_args_is_help=True, help="Installed operators, by slot.")


@operators_app.command("list")
def list_operators(ctx: typer.Context, as_json: AsJson = False) -> None:
    """Every operator with its slot and citation."""
    rows = [
        _row(entry)
        for entries in installed(ctx).operators.values()
        for _, entry in sorted(entries.items())
    ]
    print_rows(rows, ("slot", "name", "citation", "summary", "plugin"), as_json=as_json)


@operators_app.command("show")
def show_operator(
    ctx: typer.Context,
    name: Annotated[str, typer.Argument(help="An operator's name.")],
    as_json: AsJson = False,
) -> None:
    """An operator's notes and settings; one block a slot if several slots have the name."""
    slots = installed(ctx).operators
    found = [entries[name] for entries in slots.values() if name in entries]
    if not found:
        known = {other for entries in slots.values() for other in entries}
        raise UserError(f"unknown operator {name!r}", mend=did_you_mean(name, known))
    shown: list[dict[str, Json]] = [
        {
            **_row(entry),
            "notes": inspect.getdoc(entry.value) or "",
            "settings": _settings(entry.value),
        }
        for entry in found
    ]
    if as_json:
        print_json(shown)
        return
    from auto_research import strict_yaml

    print("\n".join(map(strict_yaml.dump, shown)), end="")


def _row(entry: Entry[type[Operator]]) -> dict[str, Json]:
    operator = entry.value
    return {
        "slot": operator.slot,
        "name": operator.name,
        "citation": operator.citation,
        "summary": operator.summary,
        "plugin": entry.plugin,
    }


def _settings(operator: type[Operator]) -> dict[str, Json]:
    """The JSON schema of each setting, by name: type, default, bounds, description."""
    properties = operator.settings_type.model_json_schema()["properties"]
    return {
        name: {key: value for key, value in schema.items() if key != "title"}
        for name, schema in properties.items()
    }
