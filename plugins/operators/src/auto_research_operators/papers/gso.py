"""GSO (arXiv 2609.39148): keep a writing guide, not skills; a skill is written for each task anew.

    s_x = C(m, x), discarded after the task;  edit one of the guide m's 6 parts
    accept iff  |repaired| - 2 * |broken| > 0  on validation tasks

Interpretation: the parts of the guide are up to six entries of the library, and C is the agent's
writer, asked to make one skill for the task out of whatever fits of them. A part is edited by what
attempts of its kind showed that the fresh skill did not carry; a kind without a part gets a free
one, or the one that fits the least of the batch. Validation tasks are those of the held-out
scenarios. What they came to under the guide as it stands is remembered from the last run of just
that guide, so for a deterministic agent a re-run is the same number by construction.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from pydantic import Field

from auto_research.agent_research.library import Change, Create, LibraryView, Revise, apply_changes
from auto_research.agent_research.operators import (
    Choice,
    Context,
    EditRequest,
    Episode,
    RetrievalPolicy,
    Settings,
)
from auto_research.agent_research.skill import Skill
from auto_research.benchmarks.base import Json, Task
from auto_research_operators.shared import gate
from auto_research_operators.shared.proposals import (
    Proposal,
    additions,
    by_need,
    modifications,
)


class FreshRetrieval(RetrievalPolicy):
    """One skill written for the task out of the guide; it never enters the library."""

    name = "gso.fresh"
    citation = "GSO, arXiv 2609.39148 (s_x = C(m, x), discarded)"
    summary = "a skill written afresh for each task from the guide, then discarded"

    def choose(self, task: Task, library: LibraryView, ctx: Context) -> Choice:
        guide = library.active()
        if not guide:
            return Choice()
        ctx.spend("retrieve", len(guide))
        written = ctx.write(EditRequest("adapt", task=task, bases=guide))
        return Choice(tuple(s.id for s in written), (1.0,) * len(written))


class GuideUpdate(gate.GatedUpdate):
    """After a batch: up to `candidates` edits of one part each, tried one after the other.

    State: the tasks trained on, and what the validation tasks come to with the guide as it is.
    """

    name = "gso.guide"
    citation = "GSO, arXiv 2609.39148 (6 parts; |repaired| - 2 |broken| > 0)"
    summary = "edits one part of the guide at a time if it repairs twice what it breaks"

    class Options(Settings):
        parts: int = Field(default=6, ge=1)
        broken_weight: float = Field(default=2.0, ge=0)
        candidates: int = Field(default=3, ge=1)
        validation_size: int = Field(default=20, ge=1)

    settings_type: ClassVar[type[Settings]] = Options
    settings: Options

    def __init__(self, settings: Settings) -> None:
        super().__init__(settings)
        self.trained: set[str] = set()
        self.outcomes: dict[str, bool] = {}

    def state(self) -> Json:
        return {"trained": sorted(self.trained), "outcomes": dict(sorted(self.outcomes.items()))}

    def restore(self, state: Any) -> None:
        known = state or {}
        self.trained = set(known.get("trained", ()))
        self.outcomes = dict(known.get("outcomes", {}))

    def edit(
        self, batch: Sequence[Episode], library: LibraryView, ctx: Context
    ) -> Sequence[Change]:
        self.trained |= {e.task.id for e in batch}
        tasks = gate.validation_tasks(self.settings.validation_size, self.trained, ctx)
        candidates = self._candidates(batch, library, ctx)[: self.settings.candidates]
        if not tasks or not candidates:
            return ()
        if not self.outcomes.keys() >= {ref.task for ref in tasks}:
            self.outcomes = dict(gate.probe(tasks, library, (), ctx).success)
        accepted: list[Change] = []
        for proposal in candidates:
            guide = apply_changes(library, accepted)
            change = self._edit(proposal, guide, batch, ctx)
            after = gate.probe(tasks, guide, [change], ctx)
            seen = gate.effect(self.outcomes, after)
            if seen.fixes - self.settings.broken_weight * seen.regressions > 0:
                accepted.append(change)
                self.outcomes = dict(after.success)
        return accepted

    def _candidates(
        self, batch: Sequence[Episode], library: LibraryView, ctx: Context
    ) -> list[Proposal]:
        """One edit a kind of task that the fresh skills did not carry, the most wanted first."""
        lessons = [e for e in batch if not e.error and not e.used()]
        of = {e.id: _part_for(e, library, ctx) for e in lessons}
        known = [e for e in lessons if of[e.id] is not None]
        new = [e for e in lessons if of[e.id] is None and e.success]
        found = [
            *modifications(known, library, ctx, base_of=lambda e, _: of[e.id]),
            *additions(new, library, ctx),
        ]
        return by_need(found, batch, ctx)

    def _edit(
        self, proposal: Proposal, guide: LibraryView, batch: Sequence[Episode], ctx: Context
    ) -> Change:
        """The proposal as an edit of one part: a free one while there is one, else the idlest."""
        change = proposal.change
        if not isinstance(change, Create) or len(guide) < self.settings.parts:
            return change
        use = {p.id: sum(ctx.fit(e.task, p) for e in batch) for p in guide.active()}
        idlest = min(use, key=lambda part: (use[part], part))
        return Revise(idlest, proposal.skill, change.cause)


def _part_for(episode: Episode, guide: LibraryView, ctx: Context) -> Skill | None:
    return next((p for p in guide.active() if ctx.fit(episode.task, p) == 1.0), None)
