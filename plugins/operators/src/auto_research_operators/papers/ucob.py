"""UCOB (arXiv 2606.29502): skills chosen by an upper bound of what they add, in two pools.

    score = a * rel + (1 - a) * (util + c * sqrt(ln N / n))     a = 0.1, c = 0.1
    util <- 0.8 util + 0.2 D                                    D = success with - success without

Of the `shortlist` (10) most relevant skills with rel >= 0.4, the top 3 of each pool: task skills
and state skills. Groups mix rollouts with and without skills; reflection writes both kinds. D of a
task skill is the gap of the group's means, that of a state skill the success of the rollout less
the baseline: with one rollout on the skill's side they are the same number.

Interpretation: a task skill is a function, a state skill a text rule, which `search` consults at
every state; N counts all choices with a skill, n those of this one; what was never chosen comes
first in training and counts without a bonus at test. Distillation between weights is left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from pydantic import Field

from auto_research.agent_research.library import Change, Create, LibraryView
from auto_research.agent_research.operators import (
    Choice,
    Context,
    CreditedGroup,
    EditRequest,
    LibraryUpdate,
    RetrievalPolicy,
    Settings,
)
from auto_research.agent_research.similarity import embedding_similarity, query_text
from auto_research.agent_research.skill import Skill
from auto_research.benchmarks.base import Json, Task
from auto_research_operators.shared.bandit import upper_bound
from auto_research_operators.shared.paired import matched
from auto_research_operators.shared.relevance import certain, description, ranked
from auto_research_operators.shared.written import carried, contrast, episodes_of


class UpperBoundRetrieval(RetrievalPolicy):
    """The best of each pool by relevance and the upper bound of their utility."""

    name = "ucob.upper-bound"
    citation = "UCOB, arXiv 2606.29502 (score, EMA utility; a = c = 0.1, rel >= 0.4, top 3 of 10)"
    summary = "UCB over what skills add in paired rollouts, top 3 of task and of state skills"

    class Options(Settings):
        relevance_weight: float = Field(default=0.1, ge=0, le=1)
        exploration: float = Field(default=0.1, ge=0)
        min_relevance: float = Field(default=0.4, ge=-1, le=1)
        shortlist: int = Field(default=10, ge=1)
        top_k: int = Field(default=3, ge=1)
        step_size: float = Field(default=0.2, gt=0, le=1)

    settings_type: ClassVar[type[Settings]] = Options
    settings: Options

    def __init__(self, settings: Options) -> None:
        super().__init__(settings)
        self.utility: dict[str, float] = {}
        self.chosen: dict[str, int] = {}
        self.total = 0

    def state(self) -> Json:
        rows = {s: [self.utility[s], self.chosen[s]] for s in sorted(self.utility)}
        return {"skills": rows, "total": self.total}

    def restore(self, state: Any) -> None:
        rows = state["skills"] if state else {}
        self.utility = {str(s): float(row[0]) for s, row in rows.items()}
        self.chosen = {str(s): int(row[1]) for s, row in rows.items()}
        self.total = int(state["total"]) if state else 0

    def choose(self, task: Task, library: LibraryView, ctx: Context) -> Choice:
        skills = library.active()
        ctx.spend("retrieve", len(skills))
        query = query_text(task)
        relevance = {s.id: embedding_similarity(query, description(s)) for s in skills}
        chosen: list[Skill] = []
        for kind in ("function", "text"):
            near = [s for s in skills if s.kind == kind]
            near = [s for s in near if relevance[s.id] >= self.settings.min_relevance]
            listed = ranked(near, lambda s: relevance[s.id])[: self.settings.shortlist]
            best = ranked(listed, lambda s: self.score(s.id, relevance[s.id], ctx.phase))
            chosen += best[: self.settings.top_k]
        return certain(chosen)

    def score(self, skill: str, relevance: float, phase: str) -> float:
        """a * rel + (1 - a) * (util + c * sqrt(ln N / n))."""
        a, utility = self.settings.relevance_weight, self.utility.get(skill, 0.0)
        trials = self.chosen.get(skill, 0)
        if trials or phase == "training":
            utility = upper_bound(utility, self.total, trials, self.settings.exploration)
        return a * relevance + (1 - a) * utility

    def learn(self, group: CreditedGroup, ctx: Context) -> None:
        for episode, without in matched(group):
            gap = float(episode.success) - without
            for skill in episode.choice.ranked:
                old = self.utility.get(skill, 0.0)
                self.utility[skill] = round(old + self.settings.step_size * (gap - old), 9)
                self.chosen[skill] = self.chosen.get(skill, 0) + 1
                self.total += 1


class ReflectUpdate(LibraryUpdate):
    """Writes a skill of each kind from each group, in training alone; removes none."""

    name = "ucob.reflect"
    citation = "UCOB, arXiv 2606.29502 (reflection writes task and state skills)"
    summary = "a function and a text rule from a success of each group, held against a failure"

    def after_group(
        self, group: CreditedGroup, library: LibraryView, ctx: Context
    ) -> Sequence[Change]:
        if ctx.phase != "training":
            return ()
        found = contrast(episodes_of(group))
        if found is None:
            return ()
        success, failure = found
        written = list(ctx.write(EditRequest("rule", episode=success, against=failure)))
        if not carried(success, library):
            written += ctx.write(EditRequest("create", episode=success))
        return [Create(s, (success.id,)) for s in written if library.get(s.id) is None]
