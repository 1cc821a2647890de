"""JSON that a program wrote, read so that no number in it can bring a reader down.

Python alone takes NaN, infinities and whole numbers of any length, none of which is a figure.
"""

from __future__ import annotations

import json
from pathlib import Path

from auto_research.benchmarks.base import Json
from auto_research.errors import UserError

LARGEST = 2**63  # in amount; seeds end there too, and no sum or square of such is infinite


def loads(text: bytes | str) -> Json:
    """The plain data in `text`. Raises ValueError for anything else, however it is broken."""
    try:
        data: Json = json.loads(
            text, parse_int=_whole, parse_float=_finite, parse_constant=_refused
        )
    except RecursionError:
        raise ValueError("it is nested too deep") from None
    return data


def read(path: Path) -> Json:
    """The plain data in a file. Raises UserError if it is missing, unreadable or not JSON."""
    try:
        return loads(path.read_bytes())
    except OSError as error:
        raise UserError(f"cannot read file: {error.strerror}", where=str(path)) from None
    except ValueError as error:
        raise UserError(f"cannot be read: {error}", where=str(path)) from None


def _whole(digits: str) -> int:
    if len(digits) > len(str(-LARGEST)) or abs(number := int(digits)) > LARGEST:
        raise ValueError(f"{digits[:20]}... is too large a number")
    return number


def _finite(digits: str) -> float:
    number = float(digits)
    if abs(number) > LARGEST:
        raise ValueError(f"{digits[:20]} is too large a number")
    return number


def _refused(constant: str) -> None:
    raise ValueError(f"{constant} is no number")
