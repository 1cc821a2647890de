"""AppWorld as it is set up on this machine; where it is not, these tests are skipped."""

from __future__ import annotations

import pytest

from auto_research.benchmarks.appworld.home import Home, default_home
from auto_research.benchmarks.appworld.setup import sources_hash


@pytest.fixture(scope="session")
def home() -> Home:
    found = Home(default_home())
    if not found.installed() or found.state().get("mini") != sources_hash():
        pytest.skip("AppWorld is not set up here, or of another version: make test-appworld")
    return found
