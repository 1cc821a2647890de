"""`auto-research methods`: the named choices of operators that can be evaluated."""

from __future__ import annotations

from typing import Annotated

import typer

from auto_research.benchmarks.base import Json
from auto_research.cli.output import AsJson, print_json, print_rows
from auto_research.cli.session import installed
from auto_research.errors import UserError

methods_app = typer.Typer(no_args_is_help=True, help="Installed methods.")

Set = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="SLOT[.SETTING]=VALUE", help="Change an operator or a setting."),
]


@methods_app.command("list")
def list_methods(ctx: typer.Context, as_json: AsJson = False) -> None:
    """Every method with its four operators and citation."""
    from auto_research.agent_research.method import resolve_method
    from auto_research.agent_research.operators import SLOTS

    registry = installed(ctx)
    rows: list[dict[str, Json]] = []
    for name, entry in sorted(registry.methods.items()):
        row: dict[str, Json] = dict.fromkeys(("name", *SLOTS, "citation", "summary"))
        row |= {"name": name, "plugin": entry.plugin, "problem": ""}
        try:
            method = resolve_method(entry.value, registry)
        except UserError as error:
            row["problem"] = str(error)
        else:
            row |= {"summary": method.summary, "citation": method.citation}
            row |= {slot: filled.use for slot, filled in method.slots().items()}
        rows.append(row)
    columns = ("name", *SLOTS, "citation", "summary", "plugin")
    if any(row["problem"] for row in rows):
        columns = (*columns, "problem")
    print_rows(rows, columns, as_json=as_json)


@methods_app.command("show")
def show_method(
    ctx: typer.Context,
    method: Annotated[str, typer.Argument(metavar="NAME|FILE", help="A method, or its file.")],
    overrides: Set = None,
    as_json: AsJson = False,
) -> None:
    """A method with every setting, as YAML that `--method FILE` reads back."""
    from auto_research import strict_yaml
    from auto_research.agent_research.method import load_method

    shown = load_method(method, installed(ctx), overrides or ()).to_dict()
    if as_json:
        print_json(shown)
    else:
        print(strict_yaml.dump(shown), end="")
