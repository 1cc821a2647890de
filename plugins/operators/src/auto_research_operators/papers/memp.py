"""Memp (arXiv 2508.06433): procedural memory that is built, adjusted after failures, and retired.

    delete  iff  hits >= 3  and  successes / hits < 0.5

A hit is a retrieval, its success that of the task it was retrieved for. A failure leads to a
revision of what was retrieved. Retrieval is by embedding (`relevance.embedding`).

Interpretation: the revision takes in what the failed attempt still showed and what the nearest
skill that fits the task knows; a new version keeps the counts of its line.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from pydantic import Field

from auto_research.agent_research.library import (
    Change,
    Create,
    Fork,
    LibraryView,
    Retire,
    Revise,
    apply_changes,
)
from auto_research.agent_research.operators import (
    Context,
    CreditedGroup,
    EditRequest,
    Episode,
    LibraryUpdate,
    Settings,
)
from auto_research.agent_research.skill import Skill
from auto_research.benchmarks.base import Json
from auto_research_operators.shared.changes import best_chain, fitting
from auto_research_operators.shared.written import carried, episodes_of


class AdjustUpdate(LibraryUpdate):
    """Builds on success, revises on failure, retires by hits and rate; online, at test too."""

    name = "memp.adjust"
    citation = "Memp, arXiv 2508.06433 (code): delete if hits >= 3 and success / hit < 0.5"
    summary = "adds successes, revises after failures, retires what is retrieved in vain"

    class Options(Settings):
        min_hits: int = Field(default=3, ge=1)
        retire_below: float = Field(default=0.5, ge=0, le=1)

    settings_type: ClassVar[type[Settings]] = Options
    settings: Options

    def __init__(self, settings: Options) -> None:
        super().__init__(settings)
        self.hits: dict[str, list[int]] = {}  # by lineage: hits, successes

    def state(self) -> Json:
        return {line: list(counts) for line, counts in sorted(self.hits.items())}

    def restore(self, state: Any) -> None:
        self.hits = {str(line): [int(n) for n in counts] for line, counts in (state or {}).items()}

    def after_episode(
        self, episode: Episode, library: LibraryView, ctx: Context
    ) -> Sequence[Change]:
        if not episode.own_check:
            return self._adjusted(episode, library, ctx)
        if carried(episode, library):
            return ()
        written = ctx.write(EditRequest("create", episode=episode))
        return [Create(s, (episode.id,)) for s in written if library.get(s.id) is None]

    def _adjusted(self, episode: Episode, library: LibraryView, ctx: Context) -> list[Change]:
        ran = [s for u in episode.uses if u.called and (s := library.get(u.skill)) is not None]
        if not ran:
            return []
        kin = [s for s in library.active() if s.id != ran[0].id and ctx.fit(episode.task, s) > 0]
        nearest = sorted(kin, key=lambda s: (-s.usage.success_rate, s.id))[:1]
        request = EditRequest("revise", episode=episode, bases=(ran[0], *nearest))
        return [
            (Revise if s.interface == ran[0].interface else Fork)(ran[0].id, s, (episode.id,))
            for s in ctx.write(request)[:1]
            if library.get(s.id) is None
        ]

    def after_group(
        self, group: CreditedGroup, library: LibraryView, ctx: Context
    ) -> Sequence[Change]:
        taken = fitting(best_chain(group).changes, library)
        library = apply_changes(library, taken)
        for episode, skill in _retrievals(group, library):
            counts = self.hits.setdefault(skill.lineage, [0, 0])
            counts[0] += 1
            counts[1] += episode.success
        failing = [s for s in library.active() if self._fails(s)]
        return [*taken, *(Retire(s.id, "retrieved in vain") for s in failing)]

    def _fails(self, skill: Skill) -> bool:
        hits, successes = self.hits.get(skill.lineage, (0, 0))
        enough = hits >= self.settings.min_hits
        return enough and successes / hits < self.settings.retire_below


def _retrievals(group: CreditedGroup, library: LibraryView) -> list[tuple[Episode, Skill]]:
    return [
        (episode, skill)
        for episode in episodes_of(group)
        if not episode.error
        for i in episode.choice.ranked
        if (skill := library.get(i)) is not None
    ]
