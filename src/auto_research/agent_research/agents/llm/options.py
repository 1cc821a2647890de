"""How the agent `llm` is set up: what the command line says, checked, and the fixed numbers."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from auto_research.benchmarks.base import Json
from auto_research.errors import UserError

OPENAI = "https://api.openai.com/v1"


class Options(BaseModel):
    """What the user may choose. Lengths are in tokens; the defaults are those of SAGE's paper.

    `record` keeps every reply in a file, and takes from there what the file already answers;
    `replay` takes all of them from a file and asks no server.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    model: str = Field(min_length=1)
    base_url: str = OPENAI
    temperature: float = Field(default=0.0, ge=0.0, le=2.0)
    max_tokens: int = Field(default=1500, ge=1)  # of one reply
    context_tokens: int = Field(default=28_048, ge=256)  # of a request and its reply together
    record: Path | None = None
    replay: Path | None = None

    @field_validator("base_url")
    @classmethod
    def _is_url(cls, url: str) -> str:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError("a URL such as http://localhost:8000/v1 is wanted")
        return url

    @model_validator(mode="after")
    def _fits(self) -> Options:
        if self.record is not None and self.replay is not None:
            raise ValueError("--record and --replay cannot be used together")
        if self.max_tokens >= self.context_tokens:
            raise ValueError("--max-tokens leaves no room for the prompt in --context-tokens")
        return self

    def server(self) -> str:
        """Where replies come from, without user, password or query: those may be secret."""
        if self.replay is not None:
            return "replay"
        parts = urlsplit(self.base_url)
        host = parts.netloc.rpartition("@")[2]
        return urlunsplit((parts.scheme, host, parts.path, "", ""))


class Limits(BaseModel):
    """The fixed numbers of the agent. Lengths are in characters, times in seconds."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    interactions: int = 40  # SAGE: turns in one task
    output: int = 6_000  # what the model gets to read of one output
    code: int = 50_000  # of one block; a longer one is not run
    reply_bytes: int = 8_000_000  # of one HTTP reply; a longer one is a failed attempt


def read_options(given: Mapping[str, str]) -> Options:
    """The options by name, as texts. Raises UserError for the first that is wrong or missing."""
    try:
        return Options.model_validate(given)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = "".join(f"--{str(part).replace('_', '-')}" for part in first["loc"])
        if first["type"] == "missing":
            raise UserError("agent 'llm' needs a model's name", mend=f"give {place} NAME") from None
        what = str(first["msg"]).removeprefix("Value error, ")
        raise UserError(what, where=place or "--agent llm") from None


def described(options: Options, limits: Limits, prompts: str) -> dict[str, Json]:
    """What run.yaml says of the agent: all that can change a result, and no secret."""
    return {
        "model": options.model,
        "server": options.server(),
        "temperature": options.temperature,
        "max_tokens": options.max_tokens,
        "context_tokens": options.context_tokens,
        "limits": limits.model_dump(),
        "prompts": prompts,
    }
