"""Runs to report on, written once for all tests of this folder, and a browser to read them in."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import browser
import example_run
import pytest


@pytest.fixture(scope="session")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return example_run.write_run(tmp_path_factory.mktemp("finished") / "run")


@pytest.fixture(scope="session")
def unfinished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return example_run.write_run(tmp_path_factory.mktemp("half") / "run", finished=False)


@pytest.fixture(scope="session")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return example_run.write_run(tmp_path_factory.mktemp("hostile") / "run", attack=True)


@pytest.fixture(scope="session")
def chromium(tmp_path_factory: pytest.TempPathFactory) -> Iterator[browser.Browser]:
    if reason := browser.missing():
        pytest.skip(reason)
    with browser.chromium(tmp_path_factory.mktemp("profile")) as window:
        yield window
