"""Learned retrieval: s* = argmax over S of q_phi(s | x), phi trained to maximise E[R].

Not in the paper, which retrieves by scenario or similarity: this is the harness's default reading
of a policy that is trained on the skill-integrated reward (interpretation). q_phi is a softmax
over the library and the choice "none"; phi takes group-relative policy gradient steps:

    phi <- phi + lr / G * sum_i A_i * grad log q_phi(s_i | x_i)

with A_i = R_i - mean(R) of the group at the same chain position. With `top_k` above 1 the later
picks are spares, drawn from the same q_phi without replacement until "none" is drawn; the reward
is credited to the first pick alone (interpretation).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, ClassVar

from pydantic import Field

from auto_research.agent_research.library import LibraryView
from auto_research.agent_research.operators import (
    Choice,
    Context,
    CreditedGroup,
    RetrievalPolicy,
    Settings,
)
from auto_research.agent_research.similarity import ngram_similarity, query_text
from auto_research.agent_research.skill import Skill
from auto_research.benchmarks.base import Json, Task
from auto_research.errors import UserError

FEATURES = ("some skill", "same scenario", "n-grams", "fit", "success rate", "failing streak")
NONE = -1  # the index of the choice "no skill"


def features(task: Task, skill: Skill, fit: float) -> list[float]:
    """What q_phi sees of a skill and a task, each in [0, 1]; in the order of FEATURES."""
    return [
        1.0,
        float(skill.provenance.scenario == task.scenario),
        round(ngram_similarity(query_text(task), skill.provenance.query), 6),
        fit,
        round(skill.usage.success_rate, 6),
        min(skill.usage.streak, 3) / 3,
    ]


def softmax(logits: Sequence[float]) -> list[float]:
    """Probabilities of a softmax; empty for no logits."""
    if not logits:
        return []
    top = max(logits)
    weights = [math.exp(x - top) for x in logits]
    total = math.fsum(weights)
    return [w / total for w in weights]


class LearnedRetrieval(RetrievalPolicy):
    """q_phi over the active skills; drawn in training, the best at test."""

    name = "sage.learned"
    citation = "interpretation; trained on the reward of SAGE, arXiv 2512.17102, eq. R1, R2"
    summary = "q_phi(s | x), trained by group-relative policy gradient"

    class Options(Settings):
        top_k: int = Field(default=3, ge=1)
        learning_rate: float = Field(default=1.0, gt=0)

    settings_type: ClassVar[type[Settings]] = Options
    settings: Options

    def __init__(self, settings: Settings) -> None:
        super().__init__(settings)
        self.phi = [0.0] * len(FEATURES)

    def state(self) -> Json:
        return {"phi": list(self.phi)}

    def restore(self, state: Json) -> None:
        if isinstance(state, dict) and isinstance(state.get("phi"), (list, tuple)):
            phi: Any = state["phi"]
            if len(phi) != len(FEATURES):
                raise UserError(f"q_phi has {len(FEATURES)} weights, the saved one {len(phi)}")
            self.phi = [float(w) for w in phi]

    def choose(self, task: Task, library: LibraryView, ctx: Context) -> Choice:
        skills = sorted(library.active(), key=lambda s: s.id)
        if not skills:
            return Choice()
        ctx.spend("retrieve", len(skills))
        rows = [features(task, s, ctx.fit(task, s)) for s in skills]
        logits = [math.fsum(w * x for w, x in zip(self.phi, row, strict=True)) for row in rows]
        picked, chances = self._ranked(logits, ctx)
        first = picked[0] if picked else NONE
        return Choice(
            tuple(skills[i].id for i in picked),
            tuple(round(c, 6) for c in chances),
            trace={"rows": rows, "first": first},
        )

    def _ranked(self, logits: list[float], ctx: Context) -> tuple[list[int], list[float]]:
        """Indices of the chosen skills, best first, and the probability of each draw.

        It is conditional on the draws before it; 1 where nothing is drawn but the best is taken.
        """
        left, picked, chances = list(range(len(logits))), list[int](), list[float]()
        drawn = ctx.phase == "training"
        while left and len(picked) < self.settings.top_k:
            p = softmax([*(logits[i] for i in left), 0.0])
            if drawn:
                spot = ctx.rng.choices(range(len(p)), p)[0]
            else:
                spot = max(range(len(p)), key=lambda i: (p[i], -i))
            if spot == len(left):
                break
            picked.append(left.pop(spot))
            chances.append(p[spot] if drawn else 1.0)
        return picked, chances

    def learn(self, group: CreditedGroup, ctx: Context) -> None:
        gradient = policy_gradient(self.phi, group)
        rate = self.settings.learning_rate / len(group.chains)
        self.phi = [round(w + rate * g, 9) for w, g in zip(self.phi, gradient, strict=True)]


def policy_gradient(phi: Sequence[float], group: CreditedGroup) -> list[float]:
    """Sum over chains i, positions k of A_i^k * grad log q_phi(first choice); len(phi) numbers."""
    total = [0.0] * len(phi)
    for chain, advantages in zip(group.chains, group.advantages, strict=True):
        for episode, advantage in zip(chain.episodes, advantages, strict=True):
            trace = episode.choice.trace
            if not isinstance(trace, dict) or advantage == 0.0:
                continue
            rows: Any = trace["rows"]
            first: Any = trace["first"]
            logits = [math.fsum(w * x for w, x in zip(phi, row, strict=True)) for row in rows]
            p = softmax([*logits, 0.0])
            for j in range(len(phi)):
                mean = math.fsum(chance * row[j] for chance, row in zip(p, rows, strict=False))
                chosen = rows[first][j] if first != NONE else 0.0
                total[j] += advantage * (chosen - mean)
    return total
