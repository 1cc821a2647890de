"""SkillAdam (arXiv 2609.08944): an edit budget out of how much the last edits made scores jump.

    d_i = score_after_i - score_before_i;  Vhat = var(d);  V <- b V + (1 - b) Vhat
    hunks = max(b_min, round(b_base * (1 - clip(V / V_max, 0, 1))))
    accept iff the main metric gains its threshold and no guarded metric falls past its limit

A memory of error patterns (pattern, status, attempts) is the first moment: it says where to edit
next. V is updated from every batch that was re-run, accepted or not.

Defaults of the thresholds are those given for spreadsheets (hard +0.06 or cell +0.03; largest
drops 0.08 and 0.06), with the share of passed checks for cells. Interpretation: b, b_base, b_min
and V_max (unknown); a hunk is one skill added, revised or removed; a score is a task's success;
before the edits the batch's own attempts count (the same library, so the same number for a
deterministic agent); a pattern is the skill that got stuck, "no skill" where none ran, and one
tried in vain `max_attempts` times is left alone.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from statistics import pvariance
from typing import Any, ClassVar

from pydantic import Field

from auto_research.agent_research.library import Change, LibraryView
from auto_research.agent_research.operators import Context, Episode, Settings
from auto_research.benchmarks.base import Json
from auto_research_operators.shared import gate
from auto_research_operators.shared.changes import fitting
from auto_research_operators.shared.proposals import Proposal, proposals, stuck_skill

NO_SKILL = "no skill"


class VolatilityUpdate(gate.GatedUpdate):
    """After a batch: the `hunks` most wanted edits at once, re-run on the batch, kept or dropped.

    State: V, and for each error pattern its status ("open", "improved") and its attempts in vain.
    """

    name = "skilladam.budgeted"
    citation = "SkillAdam, arXiv 2609.08944 (volatility budget, thresholds, error-pattern memory)"
    summary = "fewer edits at a time where edits make outcomes jump; kept by thresholds"

    class Options(Settings):
        decay: float = Field(default=0.5, ge=0, lt=1)
        base_hunks: int = Field(default=4, ge=1)
        min_hunks: int = Field(default=1, ge=1)
        max_volatility: float = Field(default=0.25, gt=0)
        hard_gain: float = Field(default=0.06, ge=0)
        part_gain: float = Field(default=0.03, ge=0)
        max_hard_drop: float = Field(default=0.08, ge=0)
        max_part_drop: float = Field(default=0.06, ge=0)
        max_attempts: int = Field(default=3, ge=1)

    settings_type: ClassVar[type[Settings]] = Options
    settings: Options

    def __init__(self, settings: Settings) -> None:
        super().__init__(settings)
        self.volatility = 0.0
        self.memory: dict[str, tuple[str, int]] = {}

    def state(self) -> Json:
        memory: dict[str, Json] = {
            key: [status, attempts] for key, (status, attempts) in sorted(self.memory.items())
        }
        return {"volatility": self.volatility, "memory": memory}

    def restore(self, state: Any) -> None:
        known = state or {}
        self.volatility = float(known.get("volatility", 0.0))
        self.memory = {p: (str(s), int(n)) for p, (s, n) in known.get("memory", {}).items()}

    def hunks(self) -> int:
        """How many edits the next patch may hold; halves are rounded up."""
        calm = 1 - min(max(self.volatility / self.settings.max_volatility, 0.0), 1.0)
        return max(self.settings.min_hunks, math.floor(self.settings.base_hunks * calm + 0.5))

    def edit(
        self, batch: Sequence[Episode], library: LibraryView, ctx: Context
    ) -> Sequence[Change]:
        before = gate.verdicts(batch)
        refs = {ref.task: ref for ref in ctx.pool}
        patch = self._patch(batch, library, ctx)
        changes = fitting([p.change for p in patch], library)
        if not changes:
            return ()
        tasks = [refs[t] for t in before.success if t in refs]
        after = gate.probe(tasks, library, changes, ctx)
        self._feel(before.success, after.success)
        accepted = self._accepts(before, after)
        self._remember(patch, library, accepted)
        return changes if accepted else ()

    def _patch(
        self, batch: Sequence[Episode], library: LibraryView, ctx: Context
    ) -> list[Proposal]:
        """As many edits as the budget allows, for the patterns tried least often in vain first."""
        found = [
            (self._attempts(p, library), p)
            for p in proposals(batch, library, ctx)
            if self._attempts(p, library) < self.settings.max_attempts
        ]
        found.sort(key=lambda pair: pair[0])
        return [p for _, p in found[: self.hunks()]]

    def _attempts(self, proposal: Proposal, library: LibraryView) -> int:
        return self.memory.get(pattern(proposal, library), ("open", 0))[1]

    def _feel(self, before: Mapping[str, bool], after: Mapping[str, bool]) -> None:
        deltas = [float(after[t]) - float(before[t]) for t in sorted(before.keys() & after.keys())]
        if deltas:
            seen = pvariance(deltas)
            b = self.settings.decay
            self.volatility = round(b * self.volatility + (1 - b) * seen, 12)

    def _accepts(self, before: gate.Verdicts, after: gate.Verdicts) -> bool:
        hard = after.accuracy - before.accuracy
        parts = after.part_accuracy - before.part_accuracy
        gains = hard >= self.settings.hard_gain or parts >= self.settings.part_gain
        holds = hard >= -self.settings.max_hard_drop and parts >= -self.settings.max_part_drop
        return gains and holds

    def _remember(self, patch: Sequence[Proposal], library: LibraryView, accepted: bool) -> None:
        for key in sorted({pattern(p, library) for p in patch}):
            in_vain = 0 if accepted else self.memory.get(key, ("open", 0))[1] + 1
            self.memory[key] = ("improved" if accepted else "open", in_vain)


def pattern(proposal: Proposal, library: LibraryView) -> str:
    """The error pattern that an edit is for: the line of the skill that got stuck, or none ran."""
    stuck = [s for e in proposal.sources if (s := stuck_skill(e, library)) is not None]
    return stuck[0].lineage if stuck else NO_SKILL
