"""SKILL0 (arXiv 2604.02268): skills are withdrawn under a budget that decays to nothing.

At step k, for each skill file:

    D = acc(with) - acc(without) ;  drop those with D < 0, sort by D, keep the top `budget`

with budget [6, 3, 0] over three phases of training, tested every 10 steps. It ends with no skill:
by then the weights have taken them in.

Interpretation: a step is a group; acc(with) and acc(without) are those of paired groups so far,
the skill counting as there when it ran; a skill without evidence ranks as D = 0. The skills are
given at the start in the paper: here they are written in the first phase (`written.first`), and
what was withdrawn is not written again. An agent without weights that learn is, at a last budget
of 0, left like `react`: the shipped method keeps a few skills and says so.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from pydantic import Field

from auto_research.agent_research.library import Change, LibraryView, Retire, apply_changes
from auto_research.agent_research.operators import (
    Context,
    CreditedGroup,
    LibraryUpdate,
    Settings,
)
from auto_research.benchmarks.base import Json
from auto_research_operators.shared.paired import PairedEvidence, pairs
from auto_research_operators.shared.relevance import ranked
from auto_research_operators.shared.written import episodes_of, first_of_kind


class DecayingBudget(LibraryUpdate):
    """Writes in the first phase; then keeps ever fewer skills, those that add most."""

    name = "skill0.budget"
    citation = "SKILL0, arXiv 2604.02268 (D = acc with - acc without; budget 6, 3, 0; every 10)"
    summary = "withdraws skills by with / without evidence under a decaying budget"

    class Options(Settings):
        budgets: tuple[int, ...] = Field(default=(6, 3, 0), min_length=1)
        every: int = Field(default=10, ge=1, description="groups between withdrawals")

    settings_type: ClassVar[type[Settings]] = Options
    settings: Options

    def __init__(self, settings: Options) -> None:
        super().__init__(settings)
        self.evidence = PairedEvidence()
        self.groups = 0

    def state(self) -> Json:
        return {"evidence": self.evidence.state(), "groups": self.groups}

    def restore(self, state: Any) -> None:
        self.evidence.restore(state["evidence"] if state else None)
        self.groups = int(state["groups"]) if state else 0

    def after_group(
        self, group: CreditedGroup, library: LibraryView, ctx: Context
    ) -> Sequence[Change]:
        if ctx.phase != "training":
            return ()
        self._take(group)
        planned = len({ref.scenario for ref in ctx.pool})
        before, now = self._phase(self.groups, planned), self._phase(self.groups + 1, planned)
        self.groups += 1
        made = first_of_kind(episodes_of(group), library, ctx) if before == 0 else []
        if now != before or self.groups % self.settings.every == 0:
            made += self._withdrawn(apply_changes(library, made), self.settings.budgets[now])
        return made

    def _phase(self, groups: int, planned: int) -> int:
        phases = len(self.settings.budgets)
        return min(phases - 1, groups * phases // max(1, planned))

    def _take(self, group: CreditedGroup) -> None:
        for episode, bare in pairs(group):
            without = sum(float(e.success) for e in bare) / len(bare)
            for use in episode.uses:
                if use.called:
                    self.evidence.add(use.skill, with_skill=True, success=float(episode.success))
                    self.evidence.add(use.skill, with_skill=False, success=without)

    def _withdrawn(self, library: LibraryView, budget: int) -> list[Change]:
        gain = {s.id: self.evidence.difference(s.id) or 0.0 for s in library.active()}
        best = ranked(library.active(), lambda s: gain[s.id])
        kept = [s.id for s in best if gain[s.id] >= 0][:budget]
        return [
            Retire(s.id, "harmful" if gain[s.id] < 0 else f"not among the best {budget}")
            for s in best
            if s.id not in kept
        ]
