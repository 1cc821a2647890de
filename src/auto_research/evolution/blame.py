"""Whose fault an error of an evaluation is: the method's, or that of what the method runs on.

What a method fails by is written down for good, so it must be the method's own. Whatever another
machine, or the same one tomorrow, would not do ends the search instead, which can be resumed.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable

from auto_research.agent_research import context
from auto_research.agent_research.operators import Operator
from auto_research.errors import EvaluatorError, UserError

OURS = "auto_research"
# A MemoryError may come from what an operator asks for. But trials have no share of the memory:
# how much there is depends on the machine and on the trials beside, and a line would be for good.
MACHINES_OWN = (OSError, MemoryError, sqlite3.Error)


def ends_search(error: BaseException, operators: Iterable[Operator]) -> str:
    """Why the search cannot go on after `error`; empty if one of the `operators` is to blame.

    A UserError or an OSError is a method's if an operator raised it or was told it for a wrong
    call. The others are of the model server, the disk, the lock, the data: of no method.
    """
    if isinstance(error, (UserError, OSError)) and _of_method(_raised_in(error), operators):
        return ""
    if isinstance(error, MACHINES_OWN):
        return " ".join(f"{type(error).__name__}: {error}".split()).rstrip(": ")
    return str(error) if isinstance(error, (EvaluatorError, UserError)) else ""


def _of_method(module: str, operators: Iterable[Operator]) -> bool:
    packages = {type(operator).__module__.partition(".")[0] for operator in operators} - {OURS}
    return module == context.__name__ or module.partition(".")[0] in packages


def _raised_in(error: BaseException) -> str:
    """The module whose line raised it."""
    trace, module = error.__traceback__, ""
    while trace is not None:
        module, trace = str(trace.tb_frame.f_globals.get("__name__", "")), trace.tb_next
    return module
