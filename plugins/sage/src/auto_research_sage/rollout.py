"""Sequential Rollout (SAGE, arXiv 2512.17102, section 3.2): groups of chains of similar tasks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Literal

from pydantic import Field

from auto_research.agent_research.alike import By, alike
from auto_research.agent_research.operators import (
    Chain,
    Context,
    Progress,
    Rollout,
    Settings,
)
from auto_research.benchmarks.base import Scenario


class SequentialRollout(Rollout):
    """One scenario a group; `chain_length` of its tasks drawn at random and kept in drawn order.

    All siblings of a group run the same tasks, each with a library of its own. `start` is what
    the library holds at chain start: `empty` as in the paper, or `carry` the run's library.

    `by` says what makes tasks similar: the benchmark's scenarios, or the likeness of their queries
    (the paper's ablation; which likeness is an interpretation). Skills written in another scenario
    are then found by likeness alone, so the retrieval has to be one of those, such as
    ``sage.query-ngram``.
    """

    name = "sage.sequential"
    citation = "SAGE, arXiv 2512.17102, section 3.2 (G = 8, two of a scenario's three tasks)"
    summary = "chains of tasks of one scenario, G siblings a group"

    class Options(Settings):
        chain_length: int = Field(default=2, ge=1)
        siblings: int = Field(default=4, ge=2)
        start: Literal["empty", "carry"] = "carry"
        by: By = Field(default="scenario", json_schema_extra={"search": []})
        groups_per_batch: int = Field(default=4, ge=1, json_schema_extra={"search": []})

    settings_type: ClassVar[type[Settings]] = Options
    settings: Options

    def next(self, pool: Sequence[Scenario], progress: Progress, ctx: Context) -> Sequence[Chain]:
        pool = alike(pool, self.settings.chain_length, self.settings.by)
        left = min(self.settings.groups_per_batch, progress.planned - progress.groups)
        chains: list[Chain] = []
        for number in range(progress.groups, progress.groups + max(0, left)):
            if not pool:
                break
            scenario = pool[number % len(pool)]
            length = min(self.settings.chain_length, len(scenario.tasks))
            tasks = tuple(ctx.rng.sample(scenario.tasks, length))
            chains.append(Chain(scenario.id, tasks, self.settings.siblings, self.settings.start))
        return chains
