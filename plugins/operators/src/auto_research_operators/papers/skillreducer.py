"""SkillReducer (arXiv 2603.29919): the same skills in fewer words, as long as quality is kept.

    stage 1  drop the clauses of a skill's *description* one by one (delta debugging), as long as
             a simulated routing oracle still tells it from adversarial distractors
    stage 2  keep the core of the *body*; a faithfulness check with self-correction
    accept a shorter skill iff its quality is kept:  retention = quality after / quality before

Reported: descriptions -48 %, bodies -39 %, retention 0.965. Interpretation: a clause is a line of
a skill's name, docstring and query; the oracle is the nearest sentence embedding, and every other
description is a distractor; the body's parts are the pieces that the agent's writer can leave
out; quality is the number of tasks that succeed with the skill bringing them to their end. What
is compressed comes from successes that no skill brought about (the paper is given its skills).
Before, the batch's own attempts count: same skill, same task, same number for a deterministic
agent.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from pydantic import Field

from auto_research.agent_research.library import (
    Change,
    LibraryView,
    Revise,
    apply_changes,
)
from auto_research.agent_research.operators import (
    Choice,
    Context,
    CreditedGroup,
    EditRequest,
    Episode,
    RetrievalPolicy,
    Settings,
    TaskRef,
)
from auto_research.agent_research.similarity import embedding_similarity, query_text
from auto_research.agent_research.skill import Skill
from auto_research.benchmarks.base import Json, Task
from auto_research_operators.shared import gate
from auto_research_operators.shared.proposals import additions, unaided
from auto_research_operators.shared.relevance import certain, description, ranked


class RoutedRetrieval(RetrievalPolicy):
    """Routes a task by descriptions that hold only the clauses that routing needs (stage 1).

    The descriptions of a batch's library are compressed after the batch; every comparison is
    charged as a skill considered. Until then a skill has its whole description.
    """

    name = "skillreducer.routed"
    citation = "SkillReducer, arXiv 2603.29919, stage 1 (description against distractors)"
    summary = "nearest descriptions, cut down to the clauses that still route their own queries"

    class Options(Settings):
        top_k: int = Field(default=3, ge=1)

    settings_type: ClassVar[type[Settings]] = Options
    settings: Options

    def __init__(self, settings: Settings) -> None:
        super().__init__(settings)
        self.clauses: dict[str, list[str]] = {}

    def state(self) -> Json:
        return dict(sorted(self.clauses.items()))

    def restore(self, state: Any) -> None:
        self.clauses = {str(i): list(kept) for i, kept in (state or {}).items()}

    def choose(self, task: Task, library: LibraryView, ctx: Context) -> Choice:
        skills = library.active()
        ctx.spend("retrieve", len(skills))
        query = query_text(task)
        near = {s.id: embedding_similarity(query, self.shown(s)) for s in skills}
        return certain(ranked(skills, lambda s: near[s.id])[: self.settings.top_k])

    def learn(self, group: CreditedGroup, ctx: Context) -> None:
        skills = group.chains[0].library.active()
        for skill in skills:
            if skill.id not in self.clauses and skill.provenance.query:
                self.clauses[skill.id] = self._needed(skill, skills, ctx)

    def shown(self, skill: Skill) -> str:
        """The skill's description as it is routed by."""
        return "\n".join(self.clauses.get(skill.id) or _clauses(skill))

    def _needed(self, skill: Skill, skills: Sequence[Skill], ctx: Context) -> list[str]:
        """The clauses left when none more can go without a wrong route."""
        query = skill.provenance.query
        ctx.spend("retrieve", len(skills))
        rivals = [embedding_similarity(query, self.shown(s)) for s in skills if s.id != skill.id]
        bar = max(rivals, default=-1.0)
        kept = _clauses(skill)
        for clause in list(kept):
            less = [c for c in kept if c is not clause]
            ctx.spend("retrieve", 1)
            if less and embedding_similarity(query, "\n".join(less)) > bar:
                kept = less
        return kept


def _clauses(skill: Skill) -> list[str]:
    lines = [line.strip() for line in description(skill).splitlines()]
    return [line for line in lines if line]


class CompressUpdate(gate.GatedUpdate):
    """Adds unaided successes; after a batch compresses skills that have helped twice (stage 2).

    Pieces are dropped one after the other, each checked on up to `check_size` tasks that the skill
    brought to their end. Then as many others check what is left; where they keep less than
    `retention`, the piece dropped last comes back, up to `corrections` times.
    """

    name = "skillreducer.compress"
    citation = "SkillReducer, arXiv 2603.29919, stage 2 (body, faithfulness, self-correction)"
    summary = "leaves out of a skill what it can do without, if quality is kept"

    class Options(Settings):
        check_size: int = Field(default=3, ge=1)
        retention: float = Field(default=1.0, ge=0, le=1)
        corrections: int = Field(default=2, ge=0)
        max_pieces: int = Field(default=16, ge=1)
        skills_per_batch: int = Field(default=1, ge=1)

    settings_type: ClassVar[type[Settings]] = Options
    settings: Options

    def __init__(self, settings: Settings) -> None:
        super().__init__(settings)
        self.helped: dict[str, dict[str, str]] = {}  # skill: task brought to its end: episode
        self.done: set[str] = set()  # lineages

    def state(self) -> Json:
        helped: dict[str, Json] = {i: [*t.items()] for i, t in sorted(self.helped.items())}
        return {"helped": helped, "done": sorted(self.done)}

    def restore(self, state: Any) -> None:
        known = state or {}
        self.helped = {str(i): dict(tasks) for i, tasks in known.get("helped", {}).items()}
        self.done = set(known.get("done", ()))

    def edit(
        self, batch: Sequence[Episode], library: LibraryView, ctx: Context
    ) -> Sequence[Change]:
        for episode in batch:
            for skill_id in sorted(episode.used() if episode.success else ()):
                self.helped.setdefault(skill_id, {}).setdefault(episode.task.id, episode.id)
        changes: list[Change] = [p.change for p in additions(unaided(batch), library, ctx)]
        ready = [
            s
            for s in library.active()
            if s.lineage not in self.done and len(self.helped.get(s.id, ())) > 1
        ]
        for skill in ready[: self.settings.skills_per_batch]:
            self.done.add(skill.lineage)
            smaller = self._compressed(skill, library, ctx)
            if smaller.id != skill.id and library.get(smaller.id) is None:
                changes.append(Revise(skill.id, smaller, tuple(self.helped[skill.id].values())))
        return changes

    def _compressed(self, skill: Skill, library: LibraryView, ctx: Context) -> Skill:
        refs = {ref.task: ref for ref in ctx.pool}
        tasks = [refs[t] for t in self.helped[skill.id] if t in refs]
        size = min(self.settings.check_size, len(tasks) // 2)
        versions = self._dropped(skill, tasks[:size], library, ctx)
        others = tasks[size : 2 * size]
        for _ in range(self.settings.corrections + 1):
            smaller = versions[-1]
            if smaller.id == skill.id:
                return skill
            if _quality(skill, smaller, others, library, ctx) >= self.settings.retention:
                return smaller
            versions.pop()
        return skill

    def _dropped(
        self, skill: Skill, tasks: Sequence[TaskRef], library: LibraryView, ctx: Context
    ) -> list[Skill]:
        """The skill and each shorter version of it that kept all its quality on `tasks`."""
        versions, place = [skill], 0
        for _ in range(self.settings.max_pieces):
            parts = ctx.write(EditRequest("shrink", bases=(versions[-1],)))
            if place >= len(parts):
                break
            if _quality(skill, parts[place], tasks, library, ctx) >= 1.0:
                versions.append(parts[place])
            else:
                place += 1
        return versions


def _quality(
    skill: Skill, smaller: Skill, tasks: Sequence[TaskRef], library: LibraryView, ctx: Context
) -> float:
    """Retention: share of `tasks`, all brought to their end by `skill`, that `smaller` brings."""
    probes = ctx.probe(tasks, apply_changes(library, [Revise(skill.id, smaller)]))
    kept = sum(e.success and not e.error and smaller.id in e.used() for e in probes)
    return kept / len(probes) if probes else 0.0
