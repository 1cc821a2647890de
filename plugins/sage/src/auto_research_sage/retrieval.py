"""SAGE's retrieval variants (arXiv 2512.17102, Table "retrieval"): whose skills does a task get."""

from __future__ import annotations

from typing import ClassVar

from pydantic import Field

from auto_research.agent_research.library import LibraryView
from auto_research.agent_research.operators import Choice, Context, RetrievalPolicy, Settings
from auto_research.agent_research.similarity import (
    embedding_similarity,
    ngram_similarity,
    query_text,
)
from auto_research.agent_research.skill import Skill
from auto_research.benchmarks.base import Task


class Similar(Settings):
    """`top_k` at most (skills, or earlier queries), from those at least `threshold` similar."""

    top_k: int = Field(default=2, ge=1)
    threshold: float = Field(default=0.0, ge=-1.0, le=1.0)


class ScenarioRetrieval(RetrievalPolicy):
    """The skills that earlier tasks of the same scenario wrote, newest first."""

    name = "sage.scenario"
    citation = "SAGE, arXiv 2512.17102, section 3: same-scenario retrieval"
    summary = "skills written in the task's own scenario"

    class Options(Settings):
        top_k: int = Field(default=6, ge=1)

    settings_type: ClassVar[type[Settings]] = Options
    settings: Options

    def choose(self, task: Task, library: LibraryView, ctx: Context) -> Choice:
        skills = library.active()
        ctx.spend("retrieve", len(skills))
        mine = [s.id for s in reversed(skills) if s.provenance.scenario == task.scenario]
        ranked = tuple(mine[: self.settings.top_k])
        return Choice(ranked, (1.0,) * len(ranked))


class SimilarRetrieval(RetrievalPolicy):
    """Base: rank the active skills by a similarity, ties by id; each one considered is charged."""

    settings_type: ClassVar[type[Settings]] = Similar
    settings: Similar

    def similarity(self, query: str, skill: Skill) -> float:
        """How alike a task's query and a skill are."""
        raise NotImplementedError

    def counted(self, skill: Skill) -> str:
        """What `top_k` counts."""
        return skill.id

    def choose(self, task: Task, library: LibraryView, ctx: Context) -> Choice:
        skills = library.active()
        ctx.spend("retrieve", len(skills))
        query = query_text(task)
        scored = sorted(((self.similarity(query, s), s) for s in skills), key=_nearest_first)
        near = [s for score, s in scored if score >= self.settings.threshold]
        kept = list(dict.fromkeys(map(self.counted, near)))[: self.settings.top_k]
        ranked = tuple(s.id for s in near if self.counted(s) in kept)
        return Choice(ranked, (1.0,) * len(ranked))


def _nearest_first(scored: tuple[float, Skill]) -> tuple[float, str]:
    score, skill = scored
    return -score, skill.id


class QueryRetrieval(SimilarRetrieval):
    """Base: the `top_k` nearest earlier queries, and all skills that were written for them."""

    def counted(self, skill: Skill) -> str:
        return skill.provenance.query


class QueryNgramRetrieval(QueryRetrieval):
    """Skills written for the queries with the most n-grams in common."""

    name = "sage.query-ngram"
    citation = "SAGE, arXiv 2512.17102: query n-gram retrieval (thresholds not published)"
    summary = "skills of the earlier queries with most n-grams in common"

    def similarity(self, query: str, skill: Skill) -> float:
        return ngram_similarity(query, skill.provenance.query)


class QueryEmbeddingRetrieval(QueryRetrieval):
    """Skills written for the queries with the nearest embedding."""

    name = "sage.query-embedding"
    citation = "SAGE, arXiv 2512.17102: query embedding retrieval; embedding model: ours"
    summary = "skills of the earlier queries nearest in embedding"

    def similarity(self, query: str, skill: Skill) -> float:
        return embedding_similarity(query, skill.provenance.query)


class SkillEmbeddingRetrieval(SimilarRetrieval):
    """Skills whose source has the nearest embedding to the query."""

    name = "sage.skill-embedding"
    citation = "SAGE, arXiv 2512.17102: skill embedding retrieval (top 6); embedding model: ours"
    summary = "skills whose source is nearest to the query in embedding"

    class Options(Similar):
        top_k: int = Field(default=6, ge=1)

    settings_type: ClassVar[type[Settings]] = Options

    def similarity(self, query: str, skill: Skill) -> float:
        return embedding_similarity(query, skill.source)
