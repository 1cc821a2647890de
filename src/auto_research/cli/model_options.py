"""The options of the agents that have a model: `llm` and `micro`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

ModelName = Annotated[
    str | None, typer.Option("--model", help="Agent llm: the model's name at the server.")
]
BaseUrl = Annotated[
    str | None,
    typer.Option(
        "--base-url",
        help="Agent llm: an OpenAI-compatible server; its key is in OPENAI_API_KEY.",
    ),
]
Temperature = Annotated[
    float | None, typer.Option(help="Agents llm and micro: of what the model says (default 0).")
]
MaxTokens = Annotated[
    int | None, typer.Option("--max-tokens", help="Agent llm: of one reply (default 1500).")
]
ContextTokens = Annotated[
    int | None,
    typer.Option(
        "--context-tokens", help="Agent llm: of prompt and reply together (default 28048)."
    ),
]
RecordFile = Annotated[
    Path | None, typer.Option("--record", help="Agent llm: keep every reply in this file.")
]
ReplayFile = Annotated[
    Path | None, typer.Option("--replay", help="Agent llm: take every reply from this file.")
]
CheckpointDir = Annotated[
    Path | None, typer.Option("--checkpoint", help="Agent micro: the folder of its trained model.")
]
Device = Annotated[
    str | None, typer.Option("--device", help="Agent micro: where it runs, cpu (default) or cuda.")
]


def given(**options: str | float | Path | None) -> dict[str, str]:
    """The options that were given, as texts by name."""
    return {name: str(value) for name, value in options.items() if value is not None}
