"""Reads `trials.jsonl`, and refuses a line that no search can have written.

What a line tells decides who is champion and is not run again. So it must not contradict itself;
one that was forged to agree with itself cannot be told from a true one.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from auto_research.benchmarks.base import Json
from auto_research.errors import UserError
from auto_research.evolution.genome import content_hash
from auto_research.evolution.trial import Outcome

OUTCOME_KEYS = tuple(Outcome.__dataclass_fields__)
Count = Annotated[int, Field(ge=0)]
CLOSE = 1e-9  # what two ways to write the same six digits may differ by


class _Line(BaseModel):
    """The type and range of each field."""

    model_config = ConfigDict(strict=True, extra="forbid", allow_inf_nan=False)

    trial: Count
    arm: Literal["evolution", "random"]
    generation: Count
    hash: str
    method: dict[str, dict[str, object]]
    parents: list[str]
    origins: dict[str, str]
    cached: bool
    status: Literal["done", "failed"]
    reason: str
    joint: Annotated[float, Field(ge=0, le=1)] | None
    cost: Annotated[float, Field(ge=0)] | None
    units: dict[str, Count]
    episodes: Annotated[str, Field(pattern="^[10e?]*$")]
    flags: list[str]


def read_lines(
    texts: Iterable[bytes], where: str, config: Mapping[str, Json]
) -> list[dict[str, Json]]:
    """The trials of a search with this config, as plain data.

    Raises UserError, naming the file and the line, for one that cannot be one of them.
    """
    found: list[dict[str, Json]] = []
    outcomes: dict[str, tuple[int, Outcome]] = {}
    for number, text in enumerate(texts, start=1):
        line, why = _read(text)
        why = why or _contradiction(line, number, config)
        if not why:
            outcome = outcome_of(line)
            first, known = outcomes.setdefault(str(line["hash"]), (number, outcome))
            why = "" if outcome == known else f"line {first} tells another outcome of its genome"
        if why:
            raise UserError(
                f"line {number} is no trial: {why}",
                where=where,
                mend="the file was changed or the disk damaged it; search again elsewhere",
            )
        found.append(line)
    return found


def outcome_of(line: Mapping[str, Json]) -> Outcome:
    """The outcome that a line of `trials.jsonl` tells."""
    values = {key: line[key] for key in OUTCOME_KEYS}
    flags = values["flags"]
    assert isinstance(flags, list)
    return Outcome(**{**values, "flags": tuple(map(str, flags))})  # type: ignore[arg-type]


def _read(text: bytes) -> tuple[dict[str, Json], str]:
    """The line, or why it is none."""
    try:
        line = json.loads(text)
        _Line.model_validate(line)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"]))[:60]
        return {}, f"{place}: {first['msg']}" if place else first["msg"]
    except (ValueError, RecursionError):
        return {}, "it is not JSON"
    return line, ""


def _contradiction(line: Mapping[str, Json], number: int, config: Mapping[str, Json]) -> str:
    """What in a line does not go with the rest of it, in words; empty if all does."""
    said = _Line.model_validate(line)
    budget = config["budget"]
    assert isinstance(budget, Mapping) and isinstance(budget["units"], int)
    if said.trial != number - 1:
        return f"it says that it is trial {said.trial}"
    if content_hash(said.method) != said.hash:  # type: ignore[arg-type]
        return "its hash is not its method's"
    if said.status != ("failed" if outcome_of(line).fitness is None else "done"):
        return f"its status is not {said.status!r}"
    if not said.reason and len(said.episodes) != config["episodes"]:
        return f"it has {len(said.episodes)} episodes, not {config['episodes']}"
    if said.joint is not None and not _is_share(said.joint, said.episodes):
        return f"its joint success {said.joint} is not that of its episodes"
    if said.cost is not None and not _is_cost(said.cost, said, budget["units"]):
        return f"its cost {said.cost} is not that of its units"
    return ""


def _is_share(joint: float, letters: str) -> bool:
    """Whether `joint` is the share of successes; an episode with an error may be one or not."""
    least = letters.count("1")
    most = least + letters.count("e")
    shares = (round(n / len(letters), 6) for n in range(least, most + 1) if letters)
    return any(abs(joint - share) < CLOSE for share in shares)


def _is_cost(cost: float, said: _Line, full: int) -> bool:
    """Whether `cost` is the units of all phases per episode, in full episodes."""
    total = sum(count for phase, count in said.units.items() if phase != "total")
    if not said.episodes or said.units.get("total") != total:
        return False
    return abs(cost - round(round(total / len(said.episodes), 6) / full, 6)) < CLOSE
