"""Retrieval that several papers share: nearest descriptions, and skills whose scope fits."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar

from pydantic import Field

from auto_research.agent_research.library import LibraryView
from auto_research.agent_research.operators import Choice, Context, RetrievalPolicy, Settings
from auto_research.agent_research.similarity import embedding_similarity, query_text
from auto_research.agent_research.skill import Skill
from auto_research.benchmarks.base import Task


def ranked(skills: Sequence[Skill], score: Callable[[Skill], float]) -> list[Skill]:
    """Highest score first, ties by id."""
    return sorted(skills, key=lambda s: (-score(s), s.id))


def certain(skills: Sequence[Skill]) -> Choice:
    """A choice without chance: every skill's propensity is 1."""
    return Choice(tuple(s.id for s in skills), (1.0,) * len(skills))


def description(skill: Skill) -> str:
    """What a reader would look a skill up by."""
    return f"{skill.name} {skill.docstring}\n{skill.provenance.query}"


class EmbeddingRetrieval(RetrievalPolicy):
    """The `top_k` active skills whose descriptions are nearest to the task; each is charged."""

    name = "relevance.embedding"
    citation = "Voyager, arXiv 2305.16291, section 2.2 (embedded descriptions, top 5)"
    summary = "the skills with the nearest descriptions, by sentence embedding"

    class Options(Settings):
        top_k: int = Field(default=5, ge=1)
        threshold: float = Field(default=-1.0, ge=-1.0, le=1.0)

    settings_type: ClassVar[type[Settings]] = Options
    settings: Options

    def choose(self, task: Task, library: LibraryView, ctx: Context) -> Choice:
        skills = library.active()
        ctx.spend("retrieve", len(skills))
        query = query_text(task)
        score = {s.id: embedding_similarity(query, description(s)) for s in skills}
        near = [s for s in skills if score[s.id] >= self.settings.threshold]
        return certain(ranked(near, lambda s: score[s.id])[: self.settings.top_k])


class ScopeRetrieval(RetrievalPolicy):
    """The active skills that fit the task, best fit first, then best record; each is charged."""

    name = "relevance.scope"
    citation = "AWM, arXiv 2409.07429 (workflows of the same site); the order: interpretation"
    summary = "the skills in whose scope the task lies, best fit and best record first"

    class Options(Settings):
        top_k: int = Field(default=3, ge=1)

    settings_type: ClassVar[type[Settings]] = Options
    settings: Options

    def choose(self, task: Task, library: LibraryView, ctx: Context) -> Choice:
        skills = library.active()
        ctx.spend("retrieve", len(skills))
        fit = {s.id: ctx.fit(task, s) for s in skills}
        fitting = [s for s in skills if fit[s.id] > 0]
        best = ranked(fitting, lambda s: fit[s.id] + s.usage.success_rate / 2)
        return certain(best[: self.settings.top_k])
