"""SkillApt (abstract only): contents stay fixed, only what is loaded is learned, by paired runs.

    D(s, x) = E[success | with s] - E[success | without] (- cost) ;  LOAD if D > 0, else ABSTAIN

With and without are run on the same task. A history of runs with the skill only would say nothing
of what it adds. The estimator is not specified in what we know of it.

Interpretation: D is a mean over paired train tasks, one for each skill and each way that it fits
(wholly or in part); the cost is `cost_weight` times the units, as a share of those of the dearer
of the two runs, so that a saving decides between equals; in training the skill with the fewest
pairs is loaded; without a pair, abstain. The fixed library is that of `written.first`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from pydantic import Field

from auto_research.agent_research.library import LibraryView
from auto_research.agent_research.operators import (
    Choice,
    Context,
    CreditedGroup,
    Episode,
    RetrievalPolicy,
    Settings,
)
from auto_research.benchmarks.base import Json, Task
from auto_research_operators.shared.paired import PairedEvidence, pairs
from auto_research_operators.shared.relevance import certain


class LoadOrAbstain(RetrievalPolicy):
    """The fitting skill with the largest D, if that is above zero; needs paired groups."""

    name = "skillapt.load-or-abstain"
    citation = "SkillApt (abstract): LOAD if D(s, x) > 0 else ABSTAIN; estimator: interpretation"
    summary = "loads the skill that paired runs show to help, else none"

    class Options(Settings):
        cost_weight: float = Field(default=0.1, ge=0, le=1)

    settings_type: ClassVar[type[Settings]] = Options
    settings: Options

    def __init__(self, settings: Options) -> None:
        super().__init__(settings)
        self.evidence = PairedEvidence()

    def state(self) -> Json:
        return self.evidence.state()

    def restore(self, state: Any) -> None:
        self.evidence.restore(state)

    def choose(self, task: Task, library: LibraryView, ctx: Context) -> Choice:
        skills = library.active()
        ctx.spend("retrieve", len(skills))
        keys = {s.id: _key(s.id, fit) for s in skills if (fit := ctx.fit(task, s)) > 0}
        if ctx.phase == "training":
            worth = {i: -float(self._pairs(key)) for i, key in keys.items()}
        else:
            known = {i: self.evidence.difference(key) for i, key in keys.items()}
            worth = {i: d for i, d in known.items() if d is not None and d > 0}
        best = min(worth, key=lambda i: (-worth[i], i), default=None)
        loaded = [s for s in skills if s.id == best]
        choice = certain(loaded)
        return Choice(choice.ranked, choice.propensities, [keys[s.id] for s in loaded])

    def learn(self, group: CreditedGroup, ctx: Context) -> None:
        for episode, bare in pairs(group):
            key = _loaded(episode)
            if key is not None:
                dearest = max(e.spending.units for e in (episode, *bare)) or 1
                self._add(key, True, [episode], dearest)
                self._add(key, False, bare, dearest)

    def _add(self, key: str, with_skill: bool, episodes: Sequence[Episode], dearest: int) -> None:
        weight = self.settings.cost_weight / dearest
        worth = [float(e.success) - weight * e.spending.units for e in episodes]
        mean = round(sum(worth) / len(worth), 9)
        self.evidence.add(key, with_skill=with_skill, success=mean)

    def _pairs(self, key: str) -> int:
        tally = self.evidence.tallies.get(key)
        return tally.with_trials if tally is not None else 0


def _key(skill_id: str, fit: float) -> str:
    return f"{skill_id} {'whole' if fit == 1.0 else 'part'}"


def _loaded(episode: Episode) -> str | None:
    """The key of the skill that was loaded, as the choice noted it."""
    trace = episode.choice.trace
    return str(trace[0]) if isinstance(trace, list | tuple) and trace else None
