"""Groups of tasks whose queries are alike, for chains where tasks come without scenarios."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Literal

from auto_research.agent_research.similarity import (
    embedding_similarity,
    ngram_similarity,
    query_text,
)
from auto_research.benchmarks.base import Scenario

By = Literal["scenario", "ngrams", "embedding"]  # what makes the tasks of a chain similar
LIKENESS: Mapping[str, Callable[[str, str], float]] = MappingProxyType(
    {"ngrams": ngram_similarity, "embedding": embedding_similarity}
)


def alike(scenarios: Sequence[Scenario], length: int, by: By) -> list[Scenario]:
    """Groups of `length` tasks, each made of a task and those left that are most like it.

    The scenarios' own groups if `by` says so. Tasks are taken in stream order, ties too; those
    that fill no group are left out.
    """
    if by == "scenario":
        return list(scenarios)
    left = [task for scenario in scenarios for task in scenario.tasks]
    groups: list[Scenario] = []
    while len(left) >= length:
        first, *others = left
        query = query_text(first)
        near = sorted(others, key=lambda task: -LIKENESS[by](query, query_text(task)))
        tasks = (first, *near[: length - 1])
        groups.append(Scenario(f"alike-{len(groups)}", tasks))
        taken = {task.id for task in tasks}
        left = [task for task in left if task.id not in taken]
    return groups
