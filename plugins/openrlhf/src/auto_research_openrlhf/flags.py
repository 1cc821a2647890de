"""Flags of the pinned OpenRLHF release: exact names, right types, and the command line they make.

Its argument parser takes any unambiguous beginning of a name for the name, so a misspelt flag can
pass there and mean another. Here a name is right or it is refused.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal

from auto_research.benchmarks.base import Json
from auto_research.errors import UserError, did_you_mean
from auto_research_openrlhf import release

Program = Literal["train_ppo_ray", "train_sft"]
Flags = Mapping[str, Json]  # by name without dashes; true sets a flag that takes no value
_SNAPSHOT = Path(__file__).with_name("flags.json")
_TYPES: Mapping[str, tuple[type, ...]] = {
    "flag": (bool,),
    "int": (int,),
    "float": (int, float),
    "str": (str,),
}
_WORDS = {"flag": "true or false", "int": "a whole number", "float": "a number", "str": "text"}


@dataclass(frozen=True, slots=True)
class Option:
    """One option of a program. `nargs` as argparse has it; None for one value (or a flag)."""

    name: str
    type: Literal["flag", "int", "float", "str"]
    nargs: int | str | None
    choices: tuple[Json, ...] | None
    default: Json


@cache
def options(program: Program) -> Mapping[str, Option]:
    """The options of a program: of the installed release if that is the pinned one, else stored."""
    if release.installed() == release.VERSION:
        described = release.described(release.parser_of(program))
    else:
        described = _stored()[program]
    return {name: _option(name, told) for name, told in described.items()}


def _stored() -> Any:
    return json.loads(_SNAPSHOT.read_text(encoding="utf-8"))["programs"]


def _option(name: str, told: Mapping[str, Any]) -> Option:
    choices = None if told["choices"] is None else tuple(told["choices"])
    return Option(name, told["type"], told["nargs"], choices, told["default"])


def value_of(flags: Flags, name: str, program: Program = "train_ppo_ray") -> Any:
    """What a flag is at: as given, else its default. Raises KeyError for an unknown name."""
    return flags[name] if name in flags else options(program)[name].default


def check_flags(flags: Flags, program: Program, *, where: str) -> None:
    """Raises UserError for a name that the program does not have exactly, or a wrong value."""
    known = options(program)
    for name, value in flags.items():
        if name not in known:
            raise UserError(
                f"OpenRLHF {release.VERSION} has no flag --{name}",
                where=where,
                mend=did_you_mean(name, known),
            )
        _check_value(known[name], value, where)


def _check_value(option: Option, value: Any, where: str) -> None:
    values = _listed(value) if option.nargs is not None else [value]
    if isinstance(option.nargs, int) and len(values) != option.nargs:
        raise UserError(f"--{option.name} takes {option.nargs} values", where=where)
    for one in values:
        wrong_bool = isinstance(one, bool) and option.type != "flag"
        if wrong_bool or not isinstance(one, _TYPES[option.type]):
            raise UserError(
                f"--{option.name} is {one!r}", where=where, mend=f"give {_WORDS[option.type]}"
            )
        if option.choices is not None and one not in option.choices:
            raise UserError(
                f"--{option.name} is {one!r}",
                where=where,
                mend=f"one of {', '.join(map(str, option.choices))}",
            )


def arguments(flags: Flags, program: Program) -> list[str]:
    """The words of the command line, in the order of the names; a flag at false is left out."""
    words: list[str] = []
    for name in sorted(flags):
        value: Any = flags[name]
        if options(program)[name].type == "flag":
            words += [f"--{name}"] if value else []
        else:
            words += [f"--{name}", *map(_word, _listed(value))]
    return words


def _listed(value: Any) -> Sequence[Any]:
    return value if isinstance(value, list | tuple) else [value]


def _word(value: object) -> str:
    return format(value, ".12g") if isinstance(value, float) else str(value)
