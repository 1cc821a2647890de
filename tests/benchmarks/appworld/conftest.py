"""AppWorld as it is set up on this machine; where it is not, these tests are skipped."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from appworld_cases import Errands

from auto_research.benchmarks.appworld.benchmark import AppWorldBenchmark
from auto_research.benchmarks.appworld.home import Home, default_home
from auto_research.benchmarks.appworld.setup import sources_hash
from auto_research.benchmarks.shared import SharedBenchmark


@pytest.fixture(scope="session")
def home() -> Home:
    found = Home(default_home())
    if not found.installed() or found.state().get("mini") != sources_hash():
        pytest.skip("AppWorld is not set up here, or of another version: make test-appworld")
    return found


@pytest.fixture(scope="session")
def mini(home: Home) -> Iterator[SharedBenchmark]:
    """appworld-mini for many runs, which share one server of worlds and one judge."""
    shared = SharedBenchmark(AppWorldBenchmark("appworld-mini"))
    yield shared
    shared.close()


@pytest.fixture(scope="session")
def errands(home: Home) -> Errands:
    return Errands(home.mini)
