"""Groups of siblings that try the same tasks, each sibling in an arm of its own.

An arm hides nothing here: its label tells the other operators which of several ways to try.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Literal

from pydantic import Field

from auto_research.agent_research.operators import (
    Arm,
    Chain,
    Context,
    Progress,
    Rollout,
    Settings,
)
from auto_research.agent_research.similarity import query_text
from auto_research.benchmarks.base import Scenario, Task


class SiblingRollout(Rollout):
    """One scenario a group, its first `chain_length` tasks; sibling i has label i of `arms`.

    Labels begin again where there are more siblings than labels. `order` easy-first sorts the
    tasks by the length of what they show, which grows with the number of objects and goals
    (interpretation).
    """

    name = "groups.siblings"
    citation = "groups: SAPO 2606.08755, ReSkill 2606.01619; easy to hard: SkillRise 2607.26784"
    summary = "groups of chains over the same tasks, one way of doing things a sibling"

    class Options(Settings):
        chain_length: int = Field(default=3, ge=1)
        siblings: int = Field(default=3, ge=1)
        arms: tuple[str, ...] = ()
        start: Literal["empty", "carry", "frozen"] = "frozen"
        order: Literal["given", "easy-first"] = "given"
        groups_per_batch: int = Field(default=4, ge=1, json_schema_extra={"search": []})

    settings_type: ClassVar[type[Settings]] = Options
    settings: Options

    def next(self, pool: Sequence[Scenario], progress: Progress, ctx: Context) -> Sequence[Chain]:
        left = min(self.settings.groups_per_batch, progress.planned - progress.groups)
        return [
            Chain(
                scenario.id,
                self._tasks(scenario),
                self.settings.siblings,
                self.settings.start,
                labelled(self.settings.arms, self.settings.siblings),
            )
            for number in range(progress.groups, progress.groups + max(0, left))
            for scenario in [pool[number % len(pool)]]
        ]

    def _tasks(self, scenario: Scenario) -> tuple[Task, ...]:
        tasks = list(scenario.tasks)
        if self.settings.order == "easy-first":
            tasks.sort(key=lambda task: (len(query_text(task)), task.position))
        return tuple(tasks[: self.settings.chain_length])


def labelled(labels: Sequence[str], siblings: int) -> tuple[Arm, ...]:
    """One arm a sibling, labels in turn; none where there are no labels."""
    return tuple(Arm(label=labels[i % len(labels)]) for i in range(siblings)) if labels else ()
