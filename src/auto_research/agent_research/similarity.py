"""How alike two texts are: character n-grams, and embeddings that ship with wordllama."""

from __future__ import annotations

import re
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

from auto_research.benchmarks.base import Task

_WORD = re.compile(r"[a-z][\w-]*")


def query_text(task: Task) -> str:
    """The task as a query: what it shows of its world and problem."""
    seen = task.observation
    return f"{seen['domain']}\n{seen['problem']}" if "problem" in seen else task.instruction


@lru_cache(maxsize=4096)
def ngrams(text: str, n: int = 3) -> frozenset[str]:
    """Character n-grams of the words of `text`, lower case."""
    words = set(_WORD.findall(text.lower()))
    return frozenset(w[i : i + n] for w in words for i in range(max(1, len(w) - n + 1)))


def ngram_similarity(one: str, other: str, n: int = 3) -> float:
    """Jaccard similarity of the n-gram sets, in [0, 1]."""
    a, b = ngrams(one, n), ngrams(other, n)
    union = len(a | b)
    return len(a & b) / union if union else 0.0


def embedding_similarity(one: str, other: str) -> float:
    """Cosine of the texts' sentence embeddings, rounded so that no platform changes an order."""
    a, b = _embedding(one), _embedding(other)
    return round(float(a @ b), 6)


@lru_cache(maxsize=4096)
def _embedding(text: str) -> Any:
    return _model().embed([text], norm=True)[0]


@cache
def _model() -> Any:
    import wordllama

    here = Path(wordllama.__file__).parent
    return wordllama.WordLlama.load(cache_dir=here, disable_download=True)
