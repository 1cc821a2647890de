"""Skill-alpha (arXiv 2608.01678): one edit at a time, undone if it makes its anchor worse.

    edits: create / modify / merge / delete / keep
    r(edit) = outcome(edited) - outcome(original) on the anchored query;  undone if r < 0

Separate target queries evaluate what is kept. The paper trains an 8B editor with this reward; here
the editor is a softmax over the five edits, taught by REINFORCE, and the agent's writer fills the
edit in (interpretation):

    p(a) = exp(theta_a) / sum over the edits that can be made at this anchor
    R = r + (acc(targets, edited) - acc(targets, original));  theta_b += rate * R * (1[b=a] - p(b))

`keep` has R = 0 and needs no baseline. Anchors are a batch's failures, then the successes that no
skill brought about. `create` at a failure starts from a success of the same kind in the batch.
`cold_start` stands for the editor's supervised stage. The outcome of the original is measured
anew once an edit of the batch was kept; before that the anchor's own attempt is it, the same
number for a deterministic agent.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from typing import Any, ClassVar, Literal

from pydantic import Field

from auto_research.agent_research.library import (
    Change,
    Create,
    LibraryView,
    Merge,
    Retire,
    apply_changes,
)
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
from auto_research_operators.shared.proposals import (
    Proposal,
    additions,
    modifications,
    stuck_skill,
    unaided,
)

Edit = Literal["create", "modify", "merge", "delete", "keep"]
EDITS: tuple[Edit, ...] = ("create", "modify", "merge", "delete", "keep")


class RollbackUpdate(gate.GatedUpdate):
    """After a batch: up to `anchors` anchored queries in turn, one edit each, rolled back if worse.

    State: the preferences theta, and the last outcomes, from which target queries are drawn (half
    failing, half passing, none of the batch's).
    """

    name = "skill-alpha.rollback"
    citation = "Skill-alpha, arXiv 2608.01678 (five edits, rollback reward)"
    summary = "one edit for one query at a time, undone if the query's outcome gets worse"

    class Options(Settings):
        anchors: int = Field(default=8, ge=1)
        targets: int = Field(default=4, ge=0)
        rate: float = Field(default=0.5, ge=0)
        cold_start: float = Field(default=2.0)

    settings_type: ClassVar[type[Settings]] = Options
    settings: Options

    def __init__(self, settings: Settings) -> None:
        super().__init__(settings)
        self.theta: dict[Edit, float] = dict.fromkeys(EDITS, 0.0)
        self.theta |= {"create": self.settings.cold_start, "modify": self.settings.cold_start}
        self.outcomes = gate.Outcomes()

    def state(self) -> Json:
        theta: dict[str, Json] = {edit: self.theta[edit] for edit in EDITS}
        return {"theta": theta, "outcomes": self.outcomes.state()}

    def restore(self, state: Any) -> None:
        known = state or {}
        self.theta |= {edit: float(known["theta"][edit]) for edit in EDITS if "theta" in known}
        self.outcomes.restore(known.get("outcomes"))

    def edit(
        self, batch: Sequence[Episode], library: LibraryView, ctx: Context
    ) -> Sequence[Change]:
        self.outcomes.note(gate.verdicts(batch))
        anchors = [e for e in batch if not e.success and not e.error]
        anchors += [e for e in batch if e.success and not e.error and not e.used()]
        new = additions(unaided(batch), library, ctx)
        refs = {ref.task: ref for ref in ctx.pool}
        targets = Targets(self.settings.targets, self.outcomes, {e.task.id for e in batch})
        kept: list[Change] = []
        for anchor in anchors[: self.settings.anchors]:
            now = apply_changes(library, kept)
            possible = edits_at(anchor, new, now, ctx)
            if not possible or anchor.task.id not in refs:
                continue
            p = self.policy(possible)
            names = list(p)
            chosen = ctx.rng.choices(names, [p[name] for name in names])[0]
            if chosen == "keep":
                continue
            change = possible[chosen]
            reward = self._reward(refs[anchor.task.id], anchor, change, now, bool(kept), ctx)
            if reward >= 0:
                reward += targets.gain(now, change, ctx)
                kept.append(change)
            self.learn_from(chosen, p, reward)
        return kept

    def policy(self, possible: Mapping[Edit, Change]) -> dict[Edit, float]:
        """Probability of each edit that can be made; to keep all as it is always can."""
        names = [e for e in EDITS if e == "keep" or e in possible]
        top = max(self.theta[e] for e in names)
        weights = {e: math.exp(self.theta[e] - top) for e in names}
        return {e: w / sum(weights.values()) for e, w in weights.items()}

    def learn_from(self, chosen: Edit, p: Mapping[Edit, float], reward: float) -> None:
        """One REINFORCE step: theta_b += rate * R * (1[b = chosen] - p(b))."""
        for edit, chance in p.items():
            step = self.settings.rate * reward * ((edit == chosen) - chance)
            self.theta[edit] = round(self.theta[edit] + step, 12)

    def _reward(
        self,
        ref: TaskRef,
        anchor: Episode,
        change: Change,
        now: LibraryView,
        moved: bool,
        ctx: Context,
    ) -> float:
        """r(edit) on the anchored query; `moved`: the library is not the anchor's any more."""
        original = gate.probe([ref], now, (), ctx).accuracy if moved else float(anchor.success)
        edited = gate.probe([ref], now, [change], ctx).accuracy
        return edited - original


class Targets:
    """A batch's target queries, drawn when first needed, and what they come to by library."""

    def __init__(self, size: int, outcomes: gate.Outcomes, batch: Collection[str]) -> None:
        self.size, self.outcomes, self.batch = size, outcomes, batch
        self.tasks: list[TaskRef] | None = None
        self.accuracy = 0.0  # of the library as it is

    def gain(self, now: LibraryView, change: Change, ctx: Context) -> float:
        """acc(targets, edited) - acc(targets, original); 0 without targets."""
        if self.tasks is None:
            self.tasks = self.outcomes.probe_set(self.size, self.batch, ctx)
            self.accuracy = gate.probe(self.tasks, now, (), ctx).accuracy if self.tasks else 0.0
        if not self.tasks:
            return 0.0
        seen = gate.probe(self.tasks, now, [change], ctx)
        self.outcomes.note(seen)
        before, self.accuracy = self.accuracy, seen.accuracy
        return self.accuracy - before


def edits_at(
    anchor: Episode, new: Sequence[Proposal], library: LibraryView, ctx: Context
) -> dict[Edit, Change]:
    """The edits that can be made for an anchored query, apart from keeping all as it is."""
    found: dict[Edit, Change] = {}
    fit = {s.id: ctx.fit(anchor.task, s) for s in library.active()}
    exact = [s for s in library.active() if fit[s.id] == 1.0]
    fresh = [p for p in new if library.get(p.skill.id) is None]
    if not exact:
        best = max(fresh, key=lambda p: ctx.fit(anchor.task, p.skill), default=None)
        if best is not None and ctx.fit(anchor.task, best.skill) > 0:
            found["create"] = Create(best.skill, (anchor.id, *(e.id for e in best.sources)))
    for proposal in modifications([anchor], library, ctx)[:1]:
        found["modify"] = proposal.change
    merged = _merged(exact, anchor, library, ctx)
    if merged is not None:
        found["merge"] = merged
    stuck = stuck_skill(anchor, library)
    if stuck is not None:
        found["delete"] = Retire(stuck.id, "got stuck at an anchored query", (anchor.id,))
    return found


def _merged(
    exact: Sequence[Skill], anchor: Episode, library: LibraryView, ctx: Context
) -> Merge | None:
    """One skill out of the first two that fit the query entirely."""
    bases = tuple(exact[:2])
    if len(bases) < 2:
        return None
    for skill in ctx.write(EditRequest("merge", task=anchor.task, bases=bases)):
        if library.get(skill.id) is None:
            return Merge(tuple(s.id for s in bases), skill, (anchor.id,))
    return None
