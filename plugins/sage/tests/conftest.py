"""One search agent, with its sandbox process, for all tests that attempt tasks for real."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from auto_research.agent_research.agents.search.agent import SearchAgent


@pytest.fixture(scope="module")
def agent() -> Iterator[SearchAgent]:
    made = SearchAgent()
    yield made
    made.close()
