"""Runs to report on, written once for all tests of this folder."""

from __future__ import annotations

from pathlib import Path

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
