"""A plain stream of train tasks: one chain a scenario, one sibling, the library carried along."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from pydantic import Field

from auto_research.agent_research.operators import Chain, Context, Progress, Rollout, Settings
from auto_research.benchmarks.base import Scenario


class StreamRollout(Rollout):
    """Each scenario once, its tasks in order: how libraries without training are filled."""

    name = "stream.scenarios"
    citation = "online stream: AWM 2409.07429, Memp, Voyager 2305.16291"
    summary = "train scenarios one after the other, one try a task, the library carried"

    class Options(Settings):
        groups_per_batch: int = Field(default=4, ge=1, json_schema_extra={"search": []})

    settings_type: ClassVar[type[Settings]] = Options
    settings: Options

    def next(self, pool: Sequence[Scenario], progress: Progress, ctx: Context) -> Sequence[Chain]:
        left = min(self.settings.groups_per_batch, progress.planned - progress.groups)
        return [
            Chain(scenario.id, scenario.tasks, 1, "carry")
            for number in range(progress.groups, progress.groups + max(0, left))
            for scenario in [pool[number % len(pool)]]
        ]
