"""What the commands share: the global options, and the plugins, loaded when first asked for."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import typer

from auto_research.errors import UserError

if TYPE_CHECKING:
    from auto_research.plugins import Registry


@dataclass
class Session:
    """One call of the command line. `extra` are plugin objects given from Python, for tests."""

    strict: bool = False
    extra: Sequence[object] = ()

    @cached_property
    def registry(self) -> Registry:
        from auto_research.plugins import load_plugins  # heavy: `--help` must not wait for it

        registry = load_plugins(self.extra)
        for problem in registry.problems:
            print(f"warning: plugin {problem.plugin!r}: {problem.what}", file=sys.stderr)
        if registry.problems and self.strict:
            names = dict.fromkeys(problem.plugin for problem in registry.problems)
            raise UserError(
                f"plugins with problems: {', '.join(names)}",
                where="--strict",
                mend="mend or uninstall them, or leave out --strict",
            )
        return registry


def installed(ctx: typer.Context) -> Registry:
    """What is installed; problems are warned of on stderr. Raises UserError under ``--strict``."""
    session = ctx.find_root().obj
    if not isinstance(session, Session):
        raise TypeError("the command was not called through auto_research.cli.main")
    return session.registry
