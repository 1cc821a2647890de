"""Runs the command line as a user's shell would see it: exit code, stdout, stderr."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import small_world
from comparing import GIVEN

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


@pytest.fixture
def compare(cli: Callable[..., Ended], tmp_path: Path) -> Callable[..., Ended]:
    """`compare("--seeds", "7")` on the benchmark `small`; later options win."""

    def run(*arguments: object, plugins: Any = ()) -> Any:
        given = [*GIVEN, "--out", tmp_path, *arguments]
        return cli("compare", *map(str, given), plugins=[small_world, *plugins])

    return run
