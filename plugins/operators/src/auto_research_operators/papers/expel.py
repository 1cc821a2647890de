"""ExpeL (arXiv 2308.10144): rules in words, kept by counters, and the nearest successes as shots.

Experience is gathered first: tasks are tried again after a failure. From pairs of a success and a
failure, and from successes alone, a model edits a list of rules:

    ADD: count = 2 ;  AGREE, EDIT: count + 1 ;  REMOVE: count - 1 ;  dropped at count = 0

At the end a task is given all rules, and the nearest successful attempts as examples.

Interpretation: a group is asked once, a success against a failure of the same task where there is
one. The agent's skill writer says what it shows, and what it hands back tells the operation: a rule
that stands in the list already is an AGREE, a new version of the rule for the same kind of world an
EDIT, anything else an ADD. Each failed attempt in which a rule had a say is a REMOVE. A try again
is a second sibling. For `search` a rule is a typed action preference, and a shot the function that
was written from a success.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from pydantic import Field

from auto_research.agent_research.library import (
    Change,
    Create,
    LibraryView,
    Retire,
    Revise,
    apply_changes,
)
from auto_research.agent_research.operators import (
    Choice,
    Context,
    CreditedGroup,
    EditRequest,
    Episode,
    LibraryUpdate,
    RetrievalPolicy,
    Settings,
)
from auto_research.agent_research.similarity import embedding_similarity, query_text
from auto_research.agent_research.skill import Skill
from auto_research.benchmarks.base import Json, Task
from auto_research_operators.shared.changes import is_active
from auto_research_operators.shared.relevance import certain, description, ranked
from auto_research_operators.shared.written import carried, contrast, episodes_of


class RulesAndShots(RetrievalPolicy):
    """Every rule, and the `shots` functions with the nearest descriptions; each is charged."""

    name = "expel.rules-and-shots"
    citation = "ExpeL, arXiv 2308.10144 (nearest successes by embedding, the whole rule list)"
    summary = "all text rules, and the nearest successful skills as shots"

    class Options(Settings):
        shots: int = Field(default=2, ge=0, description="number of shots: interpretation")

    settings_type: ClassVar[type[Settings]] = Options
    settings: Options

    def choose(self, task: Task, library: LibraryView, ctx: Context) -> Choice:
        skills = library.active()
        ctx.spend("retrieve", len(skills))
        query = query_text(task)
        functions = [s for s in skills if s.kind == "function"]
        near = ranked(functions, lambda s: embedding_similarity(query, description(s)))
        return certain([*near[: self.settings.shots], *(s for s in skills if s.kind == "text")])


class RuleCounters(LibraryUpdate):
    """Edits the rule list by what each group shows, in training alone; every success is a shot."""

    name = "expel.counters"
    citation = "ExpeL, arXiv 2308.10144 (ADD / EDIT / AGREE / REMOVE; dropped at zero)"
    summary = "text rules with counters, from successes and success-failure pairs"

    class Options(Settings):
        first_count: int = Field(default=2, ge=1)

    settings_type: ClassVar[type[Settings]] = Options
    settings: Options

    def __init__(self, settings: Options) -> None:
        super().__init__(settings)
        self.counts: dict[str, int] = {}  # by lineage

    def state(self) -> Json:
        return dict(sorted(self.counts.items()))

    def restore(self, state: Any) -> None:
        self.counts = {str(rule): int(count) for rule, count in (state or {}).items()}

    def after_group(
        self, group: CreditedGroup, library: LibraryView, ctx: Context
    ) -> Sequence[Change]:
        if ctx.phase != "training":
            return ()
        episodes = [e for e in episodes_of(group) if not e.error]
        made: list[Change] = []
        for episode in episodes:
            step = self._shots if episode.success else self._downvoted
            made += step(episode, apply_changes(library, made), ctx)
        found = contrast(episodes)
        if found is not None:
            made += self._edited(*found, apply_changes(library, made), ctx)
        return made

    def _shots(self, episode: Episode, library: LibraryView, ctx: Context) -> list[Change]:
        if carried(episode, library):
            return []
        written = ctx.write(EditRequest("create", episode=episode))
        return [Create(s, (episode.id,)) for s in written if library.get(s.id) is None]

    def _edited(
        self, episode: Episode, against: Episode | None, library: LibraryView, ctx: Context
    ) -> list[Change]:
        """ADD, AGREE or EDIT, by what the writer makes of the success."""
        rules = [s for s in library.active() if s.kind == "text"]
        same = [s for s in rules if ctx.fit(episode.task, s) == 1.0]
        bases = tuple(ranked(same, lambda s: self.counts.get(s.lineage, 0))[:1])
        request = EditRequest("rule", episode=episode, against=against, bases=bases)
        made: list[Change] = []
        for rule in ctx.write(request)[:1]:
            known = library.get(rule.id)
            if known is not None and known.status == "active":
                self._count(known, 1)
            elif known is None and bases and rule.interface == bases[0].interface:
                self._count(bases[0], 1)
                made.append(Revise(bases[0].id, rule, (episode.id,)))
            elif known is None:
                self.counts[rule.id] = self.settings.first_count
                made.append(Create(rule, (episode.id,)))
        return made

    def _downvoted(self, episode: Episode, library: LibraryView, ctx: Context) -> list[Change]:
        """REMOVE for each rule that had a say in a failure; those at zero are dropped."""
        dropped: list[Change] = []
        for use in episode.uses:
            rule = library.get(use.skill)
            if not use.called or rule is None or rule.kind != "text":
                continue
            if is_active(rule.id, library) and self._count(rule, -1) <= 0:
                del self.counts[rule.lineage]
                dropped.append(Retire(rule.id, "its count is zero", (episode.id,)))
        return dropped

    def _count(self, rule: Skill, change: int) -> int:
        count = self.counts.get(rule.lineage, self.settings.first_count) + change
        self.counts[rule.lineage] = count
        return count
