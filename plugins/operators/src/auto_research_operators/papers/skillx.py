"""SkillX (arXiv 2604.04804): three tiers of skills from successes, clustered, merged, filtered.

plan (a whole task), functional (several actions), atomic (one action). Skills of a tier with

    cosine >= 0.90        (DBSCAN, eps = 0.10)

are merged; what is not general enough, or does not fit the tool schema, is filtered out.
Retrieval takes what is at least 0.45 similar; the plan is rewritten for the task, with the other
skills injected.

Interpretation: plan, functional and atomic skills are written from a whole success, from its
commonest pair of neighbouring actions, and from each single action. A span is general once it
was seen in two successes. The writer's adaptation to the task stands for rewriting and injecting.
Embeddings are those that ship with the harness, not Qwen3-Embedding-8B. Left out: exploration of
little-used tools (a rollout does not see the library), and the <= 3 rounds of refinement.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any, ClassVar, Literal, get_args

from pydantic import Field

from auto_research.agent_research.library import (
    Change,
    Create,
    LibraryView,
    Merge,
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
from auto_research_operators.shared.relevance import certain, description, ranked

Tier = Literal["plan", "functional", "atomic"]
TIERS: tuple[Tier, ...] = get_args(Tier)
Span = tuple[str, ...]


def tier_of(skill: Skill) -> Tier:
    """The tier that the skill's description begins with; plan if it names none."""
    word = skill.docstring.partition(":")[0]
    return next((tier for tier in TIERS if tier == word), "plan")


def _tiered(skill: Skill, tier: Tier) -> Skill:
    return replace(skill, docstring=f"{tier}: {skill.docstring}")


class TierRetrieval(RetrievalPolicy):
    """The most similar skills of each tier, rewritten into one skill for the task.

    Where nothing of them can be rewritten, they are given as they are.
    """

    name = "skillx.tiers"
    citation = "SkillX, arXiv 2604.04804 (threshold 0.45; plan retrieved, rewritten, injected)"
    summary = "similar plans, functional and atomic skills, rewritten into one for the task"

    class Options(Settings):
        threshold: float = Field(default=0.45, ge=-1, le=1)
        plan: int = Field(default=2, ge=0)
        functional: int = Field(default=2, ge=0)
        atomic: int = Field(default=4, ge=0)

    settings_type: ClassVar[type[Settings]] = Options
    settings: Options

    def choose(self, task: Task, library: LibraryView, ctx: Context) -> Choice:
        skills = library.active()
        ctx.spend("retrieve", len(skills))
        query = query_text(task)
        score = {s.id: embedding_similarity(query, description(s)) for s in skills}
        near = ranked(
            [s for s in skills if score[s.id] >= self.settings.threshold], lambda s: score[s.id]
        )
        counts = {"plan": self.settings.plan, "functional": self.settings.functional}
        counts["atomic"] = self.settings.atomic
        shown = [s for t in TIERS for s in [x for x in near if tier_of(x) == t][: counts[t]]]
        if not shown:
            return Choice()
        adapted = ctx.write(EditRequest("adapt", task=task, bases=tuple(shown)))
        return certain(adapted or shown)


class TierUpdate(LibraryUpdate):
    """Writes the three tiers of each success that no skill brought about; merges what is alike."""

    name = "skillx.tiers"
    citation = "SkillX, arXiv 2604.04804 (three tiers; DBSCAN at cosine >= 0.90; spans: ours)"
    summary = "writes plan, functional and atomic skills from successes and merges clusters"

    class Options(Settings):
        merge_at: float = Field(default=0.90, ge=-1, le=1)
        generality: int = Field(default=2, ge=1, description="successes that must show a span")

    settings_type: ClassVar[type[Settings]] = Options
    settings: Options

    def __init__(self, settings: Settings) -> None:
        super().__init__(settings)
        self.shown: Counter[Span] = Counter()  # successes in which a span was seen

    def state(self) -> Json:
        return [[list(span), count] for span, count in sorted(self.shown.items())]

    def restore(self, state: Any) -> None:
        self.shown = Counter({tuple(span): count for span, count in state or ()})

    def after_group(
        self, group: CreditedGroup, library: LibraryView, ctx: Context
    ) -> Sequence[Change]:
        if ctx.phase != "training":
            return ()
        solved = [e for chain in group.chains for e in chain.episodes if e.success and e.actions]
        for e in solved:
            self.shown.update({*((a,) for a in e.actions), *pairwise(e.actions)})
        changes: list[Change] = []
        for e in solved:
            for tier, span in self._spans(e):
                for skill in ctx.write(EditRequest("create", episode=e, span=span)):
                    change = self._placed(_tiered(skill, tier), e, library, ctx)
                    if change is not None:
                        changes.append(change)
                        library = apply_changes(library, [change])
        return changes

    def _spans(self, e: Episode) -> Iterator[tuple[Tier, Span]]:
        """What to write of a success: tier and span (empty: all of it); general ones only."""
        yield "plan", ()
        pairs = Counter(pair for pair in pairwise(e.actions) if pair[0] != pair[1])
        common = sorted(pairs, key=lambda pair: (-pairs[pair], pair))[:1]
        for span in [*common, *((action,) for action in sorted(set(e.actions)))]:
            if self.shown[span] >= self.settings.generality:
                yield ("functional" if len(span) > 1 else "atomic"), span

    def _placed(
        self, skill: Skill, e: Episode, library: LibraryView, ctx: Context
    ) -> Change | None:
        """Add it, merge it into its cluster, or keep the library as it is."""
        if library.get(skill.id) is not None or ctx.fit(e.task, skill) < 1.0:
            return None
        tier, cause = tier_of(skill), (e.id,)
        cluster = [
            s
            for s in library.active()
            if tier_of(s) == tier
            and embedding_similarity(s.source, skill.source) >= self.settings.merge_at
            and ctx.fit(e.task, s) == 1.0
        ]
        if not cluster:
            return Create(skill, cause)
        request = EditRequest("merge", task=e.task, bases=(*cluster, skill))
        for merged in ctx.write(request):
            if library.get(merged.id) is None:
                return Merge(tuple(s.id for s in cluster), _tiered(merged, tier), cause)
        return None
