"""Runs the command line as a user's shell would see it: exit code, stdout, stderr."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import pytest

from auto_research.cli.main import main


class Ended(NamedTuple):
    code: int
    out: str
    err: str


@pytest.fixture
def cli(capsys: pytest.CaptureFixture[str]) -> Callable[..., Ended]:
    """`cli("methods", "list", plugins=[...])`; a bug's traceback goes through."""

    def run(*arguments: str, plugins: Sequence[object] = ()) -> Ended:
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            main(arguments, plugins)
        code = ended.value.code
        return Ended(code if isinstance(code, int) else 0, *capsys.readouterr())

    return run
