"""SAGE as a plugin: its operators and the methods `sage` and `sage-paper`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from auto_research.agent_research.operators import Operator
from auto_research.hookspecs import MethodFile, hookimpl
from auto_research_sage.learned import LearnedRetrieval
from auto_research_sage.retrieval import (
    QueryEmbeddingRetrieval,
    QueryNgramRetrieval,
    ScenarioRetrieval,
    SkillEmbeddingRetrieval,
)
from auto_research_sage.reward import ChainReward, SkillIntegratedReward
from auto_research_sage.rollout import SequentialRollout
from auto_research_sage.update import EvolveUpdate, SaveUpdate


@hookimpl
def register_operators() -> Sequence[type[Operator]]:
    return (
        ScenarioRetrieval,
        QueryNgramRetrieval,
        QueryEmbeddingRetrieval,
        SkillEmbeddingRetrieval,
        LearnedRetrieval,
        SaveUpdate,
        EvolveUpdate,
        SkillIntegratedReward,
        ChainReward,
        SequentialRollout,
    )


@hookimpl
def register_methods() -> Sequence[MethodFile]:
    return sorted((Path(__file__).parent / "methods").glob("*.yaml"))
