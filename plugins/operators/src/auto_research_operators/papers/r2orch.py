"""R^2Orch (abstract only): from a failure to a skill to the parameters, then the skill goes.

A skill is withdrawn once a controlled evaluation without it is at least as good as with it:

    withdraw s  iff  acc(library - s) >= acc(library)   on the same tasks

A proposer is paid for tasks whose rollouts keep differing while skills are withdrawn.

Interpretation: a skill is written only where rollouts of a scenario differ, from a success beside a
failure; the controlled evaluation re-runs the train tasks on which the skill ran last, with and
without it, by charged probes; each skill has it once it has run on `tasks` of them, and again
after as many more. As there are no parameters to take a skill in, what withdraws it is that the
agent's own search does as well.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from pydantic import Field

from auto_research.agent_research.library import Change, LibraryView, Retire, apply_changes
from auto_research.agent_research.operators import (
    Context,
    CreditedGroup,
    Episode,
    LibraryUpdate,
    Settings,
    TaskRef,
)
from auto_research.benchmarks.base import Json
from auto_research_operators.shared.gate import probe
from auto_research_operators.shared.written import episodes_of, first_of_kind


class WithdrawUpdate(LibraryUpdate):
    """Writes where rollouts differ; withdraws what a controlled evaluation can spare."""

    name = "r2orch.withdraw"
    citation = "R^2Orch (abstract): withdrawn once as good without; all else: interpretation"
    summary = "skills from failures, withdrawn once probes without them are at least as good"

    class Options(Settings):
        tasks: int = Field(default=4, ge=1, description="tasks of one controlled evaluation")

    settings_type: ClassVar[type[Settings]] = Options
    settings: Options

    def __init__(self, settings: Options) -> None:
        super().__init__(settings)
        self.ran: dict[str, list[str]] = {}  # by skill: the tasks it ran on since the last look

    def state(self) -> Json:
        return {skill: list(tasks) for skill, tasks in sorted(self.ran.items())}

    def restore(self, state: Any) -> None:
        self.ran = {str(skill): [str(t) for t in tasks] for skill, tasks in (state or {}).items()}

    def after_group(
        self, group: CreditedGroup, library: LibraryView, ctx: Context
    ) -> Sequence[Change]:
        if ctx.phase != "training":
            return ()
        episodes = [e for e in episodes_of(group) if not e.error]
        made: list[Change] = []
        if len({e.success for e in episodes}) > 1:
            made = first_of_kind(episodes, library, ctx)
        self._note(episodes)
        after = apply_changes(library, made)
        for skill in after.active():
            if len(self.ran.get(skill.id, ())) >= self.settings.tasks:
                step = self._looked_at(skill.id, after, ctx)
                after = apply_changes(after, step)
                made += step
        return made

    def _note(self, episodes: Sequence[Episode]) -> None:
        for episode in episodes:
            for use in episode.uses:
                tasks = self.ran.setdefault(use.skill, [])
                if use.called and episode.task.id not in tasks:
                    tasks.append(episode.task.id)

    def _looked_at(self, skill: str, library: LibraryView, ctx: Context) -> list[Change]:
        """The controlled evaluation; a withdrawal, or nothing."""
        wanted = self.ran.pop(skill)[-self.settings.tasks :]
        tasks: list[TaskRef] = [ref for ref in ctx.pool if ref.task in wanted]
        gone = Retire(skill, "as good without it")
        kept = probe(tasks, library, (), ctx).accuracy
        return [gone] if probe(tasks, library, (gone,), ctx).accuracy >= kept else []
