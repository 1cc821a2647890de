"""SkillProx (arXiv 2608.07449): a gated forward patch, then a proximal step that makes it smaller.

    minimise  task loss + lambda * complexity(skill)
    forward:  patch from a batch, re-run the *same* batch; accept iff hard accuracy and unit
              accuracy are both not lower; else roll back and feed the rejection in (<= 3 tries)
    backward: U(u) = acc(s) - acc(s without u) on fixed validation tasks, for each knowledge unit u;
              units with negative U are candidates for removal; accept iff complexity is strictly
              lower, hard accuracy not lower, unit accuracy lower by at most 0.02, and all that was
              removed so far is at most 10 %

Interpretation: the library is the skill document, its skills are the sections and the pieces that
the agent's writer can leave out are the knowledge units; the unit accuracy is the share of the
verdict's named checks that passed; complexity is the length of the sources; one section is shrunk
a step, the longest not yet shrunk, on the validation tasks that it fits. Before the patch the
batch's own attempts count: they ran with the very library that the patch is made to, so for a
deterministic agent a re-run is the same number by construction. Feeding a rejection in means: the
next try does without the edits whose skills ran on what regressed, else without the last one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from pydantic import Field

from auto_research.agent_research.library import Change, LibraryView, Revise, apply_changes
from auto_research.agent_research.operators import (
    Context,
    EditRequest,
    Episode,
    Settings,
    TaskRef,
)
from auto_research.agent_research.skill import Skill
from auto_research.benchmarks.base import Json
from auto_research_operators.shared import gate
from auto_research_operators.shared.changes import fitting
from auto_research_operators.shared.proposals import Proposal, proposals


class ProximalUpdate(gate.GatedUpdate):
    """A forward step after each batch, a proximal step after each `shrink_every`-th.

    The shipped `candidates: negative` is the paper's; `not-positive` also takes the units that
    made no difference, which with yes-or-no outcomes on few tasks are most of them.
    """

    name = "skillprox.proximal"
    citation = "SkillProx, arXiv 2608.07449 (forward gate, leave-one-out shrink)"
    summary = "patches that do not hurt their own batch, then knowledge units left out again"

    class Options(Settings):
        tries: int = Field(default=3, ge=1)
        candidates: Literal["negative", "not-positive"] = "negative"
        max_part_drop: float = Field(default=0.02, ge=0)
        max_compression: float = Field(default=0.10, ge=0, le=1)
        validation_size: int = Field(default=20, ge=1)
        max_units: int = Field(default=20, ge=1)
        shrink_every: int = Field(default=1, ge=1)

    settings_type: ClassVar[type[Settings]] = Options
    settings: Options

    def __init__(self, settings: Settings) -> None:
        super().__init__(settings)
        self.batches = 0
        self.removed = 0  # characters left out so far
        self.trained: set[str] = set()  # tasks
        self.shrunk: set[str] = set()  # lineages

    def state(self) -> Json:
        return {
            "batches": self.batches,
            "removed": self.removed,
            "trained": sorted(self.trained),
            "shrunk": sorted(self.shrunk),
        }

    def restore(self, state: Any) -> None:
        known = state or {}
        self.batches = int(known.get("batches", 0))
        self.removed = int(known.get("removed", 0))
        self.trained = set(known.get("trained", ()))
        self.shrunk = set(known.get("shrunk", ()))

    def edit(
        self, batch: Sequence[Episode], library: LibraryView, ctx: Context
    ) -> Sequence[Change]:
        self.batches += 1
        self.trained |= {e.task.id for e in batch}
        changes = self._forward(batch, library, ctx)
        if self.batches % self.settings.shrink_every:
            return changes
        return [*changes, *self._backward(apply_changes(library, changes), ctx)]

    def _forward(
        self, batch: Sequence[Episode], library: LibraryView, ctx: Context
    ) -> list[Change]:
        before = gate.verdicts(batch)
        refs = {ref.task: ref for ref in ctx.pool}
        tasks = [refs[t] for t in before.success if t in refs]
        patch = proposals(batch, library, ctx)
        for _ in range(self.settings.tries):
            changes = fitting([p.change for p in patch], library)
            if not changes:
                break
            probes = ctx.probe(tasks, apply_changes(library, changes))
            after = gate.verdicts(probes)
            gained = after.accuracy - before.accuracy, after.part_accuracy - before.part_accuracy
            if min(gained) >= 0:
                return changes
            patch = without_blamed(patch, probes, before.success)
        return []

    def _backward(self, library: LibraryView, ctx: Context) -> list[Change]:
        tasks = gate.validation_tasks(self.settings.validation_size, self.trained, ctx)
        sections = [s for s in library.active() if s.lineage not in self.shrunk]
        if not tasks or not sections:
            return []
        whole = ctx.probe(tasks, library)
        ran = {use.skill for e in whole for use in e.uses if use.called}
        section = max(
            (s for s in sections if s.id in ran), key=lambda s: (len(s.source), s.id), default=None
        )
        if section is None:
            return []
        self.shrunk.add(section.lineage)
        scope = [e for e in whole if any(u.skill == section.id and u.called for u in e.uses)]
        inside = {e.task.id for e in scope}
        step = Shrinking(
            self.settings,
            section,
            [ref for ref in tasks if ref.task in inside],
            gate.verdicts(scope),
            library,
            self.removed,
            ctx,
        )
        smaller = step.smaller()
        if smaller is None:
            return []
        self.removed += len(section.source) - len(smaller.source)
        return [Revise(section.id, smaller, tuple(e.id for e in scope))]


@dataclass(frozen=True, slots=True)
class Shrinking:
    """One proximal step: a section, the validation tasks that it runs on, their outcomes with it.

    Elsewhere the section does not run, so what is left out of it can make no difference there.
    """

    settings: ProximalUpdate.Options
    section: Skill
    tasks: Sequence[TaskRef]
    whole: gate.Verdicts
    library: LibraryView
    removed: int  # characters, in earlier steps
    ctx: Context

    def smaller(self) -> Skill | None:
        """The section without its useless units; None if no smaller one is accepted."""
        units = self.ctx.write(EditRequest("shrink", bases=(self.section,)))
        units = units[: self.settings.max_units]
        left_out = [self._probe(skill) for skill in units]
        useless = self._useless([after.accuracy for after in left_out])
        together = self._within_bound(useless, units)
        if len(together) > 1:
            skill = self._without(together)
            if skill is not None and self._accepts(skill, self._probe(skill)):
                return skill
        for i in together[:1]:
            if self._accepts(units[i], left_out[i]):
                return units[i]
        return None

    def _probe(self, skill: Skill) -> gate.Verdicts:
        return gate.probe(self.tasks, self.library, [Revise(self.section.id, skill)], self.ctx)

    def _useless(self, without: Sequence[float]) -> list[int]:
        """Places of the units whose U(u) is low enough, the lowest first."""
        utility = [self.whole.accuracy - accuracy for accuracy in without]
        if self.settings.candidates == "negative":
            found = [i for i, u in enumerate(utility) if u < 0]
        else:
            found = [i for i, u in enumerate(utility) if u <= 0]
        return sorted(found, key=lambda i: (utility[i], i))

    def _within_bound(self, useless: Sequence[int], units: Sequence[Skill]) -> list[int]:
        """As many of the useless units, in order, as the bound on compression allows."""
        chosen: list[int] = []
        less = 0
        for i in useless:
            less += len(self.section.source) - len(units[i].source)
            if self._compression(less) > self.settings.max_compression:
                break
            chosen.append(i)
        return chosen

    def _without(self, places: Sequence[int]) -> Skill | None:
        """The section without all these units; the last is left out first, so places stand."""
        skill = self.section
        for place in sorted(places, reverse=True):
            parts = self.ctx.write(EditRequest("shrink", bases=(skill,)))
            if place >= len(parts):
                return None
            skill = parts[place]
        return skill

    def _accepts(self, skill: Skill, after: gate.Verdicts) -> bool:
        less = len(self.section.source) - len(skill.source)
        drop = self.whole.part_accuracy - after.part_accuracy
        return (
            less > 0
            and self.library.get(skill.id) is None
            and after.accuracy >= self.whole.accuracy
            and drop <= self.settings.max_part_drop
            and self._compression(less) <= self.settings.max_compression
        )

    def _compression(self, less: int) -> float:
        """Share of all that was ever in the library that is left out, with `less` more."""
        size = sum(len(s.source) for s in self.library.active()) + self.removed
        return (self.removed + less) / size


def without_blamed(
    patch: Sequence[Proposal], probes: Sequence[Episode], before: Mapping[str, bool]
) -> list[Proposal]:
    """The patch less the edits whose skills ran where a task regressed, else less its last."""
    worse = [e for e in probes if before[e.task.id] and not e.success]
    blamed = {use.skill for e in worse for use in e.uses if use.called}
    kept = [p for p in patch if p.skill.id not in blamed]
    return kept if len(kept) < len(patch) else kept[:-1]
