"""SAPO, Co-Evolving Skill Generation and Policy Optimization (arXiv 2606.08755).

A candidate s is worth what it adds in matched groups, on the same task x:

    u(x, s) = mean R(retrieved + s) - mean R(retrieved) ;  U_s = mean over x of u(x, s)

It waits in a temporary bank and moves to the long bank iff

    U_s > 0  and  s is in the top 20 %  and  its largest similarity to the long bank is < 0.8

K = 4 candidates; promotion every 5 epochs; at most 45 in the long bank; others are dropped.

Interpretation: an epoch is one group of siblings here; the trained generator is the agent's skill
writer; of the siblings of a group one goes without a candidate, the others put one candidate each
in front of what the long bank gives; similarity is the cosine of the sources' embeddings; skill
likelihood, by which retrieval is reranked and the bank pruned, is the smoothed success rate;
candidates that were not tried yet wait on.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from pydantic import Field

from auto_research.agent_research.library import Change, Create, LibraryView, Retire
from auto_research.agent_research.operators import (
    Choice,
    Context,
    CreditedGroup,
    EditRequest,
    LibraryUpdate,
    RetrievalPolicy,
    Settings,
)
from auto_research.agent_research.similarity import embedding_similarity
from auto_research.agent_research.skill import Skill
from auto_research.benchmarks.base import Json, Task
from auto_research_operators.shared.changes import is_active
from auto_research_operators.shared.relevance import ranked

WITHOUT = "without"  # the arm that goes without a candidate


class BankSettings(Settings):
    """When a candidate is promoted; retrieval and update both keep the banks, by the same rule."""

    every: int = Field(default=5, ge=1, description="groups between promotions")
    top_share: float = Field(default=0.2, gt=0, le=1)
    max_similarity: float = Field(default=0.8, ge=-1, le=1)
    max_bank: int = Field(default=45, ge=1)


class Banks:
    """What the candidates added so far, and which skills are in the long bank."""

    def __init__(self, settings: BankSettings) -> None:
        self.settings = settings
        self.groups = 0
        self.long: list[str] = []
        self.dropped: list[str] = []
        self.gains: dict[str, list[float]] = {}  # a candidate's u, task by task

    def take(self, group: CreditedGroup) -> None:
        """One epoch: measure the candidates of `group`; promote and drop where it is time."""
        self.groups += 1
        for candidate, gain in gains(group):
            if candidate not in self.long and candidate not in self.dropped:
                self.gains.setdefault(candidate, []).append(gain)
        if self.groups % self.settings.every == 0:
            self._promote(group.chains[0].library)

    def utility(self, candidate: str) -> float:
        """U_s; 0 for one that was not tried."""
        tried = self.gains.get(candidate, [])
        return math.fsum(tried) / len(tried) if tried else 0.0

    def _promote(self, library: LibraryView) -> None:
        tried = sorted(self.gains, key=lambda s: (-self.utility(s), s))
        for candidate in tried[: math.ceil(self.settings.top_share * len(tried))]:
            skill = library.get(candidate)
            if skill is not None and self.utility(candidate) > 0 and self._is_new(skill, library):
                self.long.append(candidate)
        self.dropped += [s for s in tried if s not in self.long]
        self.gains = {}
        while len(self.long) > self.settings.max_bank:
            worst = min(self.long, key=lambda s: (_likelihood(library.get(s)), s))
            self.long.remove(worst)
            self.dropped.append(worst)

    def _is_new(self, skill: Skill, library: LibraryView) -> bool:
        others = [o for i in self.long if (o := library.get(i)) is not None]
        limit = self.settings.max_similarity
        return all(embedding_similarity(skill.source, o.source) < limit for o in others)

    def state(self) -> Json:
        return {
            "groups": self.groups,
            "long": list(self.long),
            "dropped": list(self.dropped),
            "gains": {s: list(gains) for s, gains in sorted(self.gains.items())},
        }

    def restore(self, state: Any) -> None:
        if state is not None:
            self.groups = int(state["groups"])
            self.long, self.dropped = list(state["long"]), list(state["dropped"])
            self.gains = {s: [float(u) for u in gains] for s, gains in state["gains"].items()}


def gains(group: CreditedGroup) -> list[tuple[str, float]]:
    """u(x, s) of each candidate and task that the group holds with and without it."""
    without: dict[str, list[float]] = {}
    with_it: dict[tuple[str, str], list[float]] = {}
    for chain, rewards in zip(group.chains, group.rewards, strict=True):
        for e, reward in zip(chain.episodes, rewards, strict=True):
            trace = e.choice.trace
            if reward is None:
                continue
            if e.arm.label == WITHOUT:
                without.setdefault(e.task.id, []).append(reward)
            elif isinstance(trace, Mapping):
                with_it.setdefault((e.task.id, str(trace["candidate"])), []).append(reward)
    return [
        (candidate, _mean(earned) - _mean(without[task]))
        for (task, candidate), earned in with_it.items()
        if task in without
    ]


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values)


def _likelihood(skill: Skill | None) -> float:
    return skill.usage.success_rate if skill else 0.0


class LikelihoodRetrieval(RetrievalPolicy):
    """The fitting skills of the long bank by fit and likelihood; in training one candidate ahead.

    Sibling `with-1` tries the candidate that was tried least, `with-2` the one after it.
    """

    name = "sapo.likelihood"
    citation = "SAPO, arXiv 2606.08755 (reranked with skill likelihood; form: interpretation)"
    summary = "the long bank by fit and likelihood, with a candidate in front while training"

    class Options(BankSettings):
        top_k: int = Field(default=3, ge=1)

    settings_type: ClassVar[type[Settings]] = Options
    settings: Options

    def __init__(self, settings: Options) -> None:
        super().__init__(settings)
        self.banks = Banks(settings)

    def state(self) -> Json:
        return self.banks.state()

    def restore(self, state: Any) -> None:
        self.banks.restore(state)

    def choose(self, task: Task, library: LibraryView, ctx: Context) -> Choice:
        skills = library.active()
        ctx.spend("retrieve", len(skills))
        fit = {s.id: ctx.fit(task, s) for s in skills}
        fitting = [s for s in skills if fit[s.id] > 0]
        bank = [s for s in fitting if s.id in self.banks.long]
        best = ranked(bank, lambda s: fit[s.id] + s.usage.success_rate / 2)[: self.settings.top_k]
        waiting = [s for s in fitting if s.id not in self.banks.long]
        candidate = self._candidate(waiting, fit, ctx) if ctx.phase == "training" else None
        shown = [*([candidate] if candidate else []), *best]
        trace: Json = {"candidate": candidate.id} if candidate else None
        return Choice(tuple(s.id for s in shown), (1.0,) * len(shown), trace)

    def _candidate(
        self, waiting: Sequence[Skill], fit: Mapping[str, float], ctx: Context
    ) -> Skill | None:
        label, _, number = ctx.arm.label.partition("-")
        if label != "with" or not waiting:
            return None
        tried = self.banks.gains
        order = sorted(waiting, key=lambda s: (-fit[s.id], len(tried.get(s.id, ())), s.id))
        nth = int(number) if number.isdecimal() else 1  # others' rollouts say plain "with"
        return order[(nth - 1) % len(order)]

    def learn(self, group: CreditedGroup, ctx: Context) -> None:
        self.banks.take(group)


class PromotionUpdate(LibraryUpdate):
    """Fills the temporary bank with what the writer makes of each group; drops what lost.

    At most K candidates for one kind of world wait at a time: made from unaided successes, and
    from what an episode showed beyond the skill that ran in it.
    """

    name = "sapo.promotion"
    citation = "SAPO, arXiv 2606.08755 (U_s > 0, top 20 %, similarity < 0.8; K = 4; bank of 45)"
    summary = "promotes candidates that add reward in matched groups and are unlike the others"

    class Options(BankSettings):
        candidates: int = Field(default=4, ge=1)

    settings_type: ClassVar[type[Settings]] = Options
    settings: Options

    def __init__(self, settings: Options) -> None:
        super().__init__(settings)
        self.banks = Banks(settings)

    def state(self) -> Json:
        return self.banks.state()

    def restore(self, state: Any) -> None:
        self.banks.restore(state)

    def after_group(
        self, group: CreditedGroup, library: LibraryView, ctx: Context
    ) -> Sequence[Change]:
        if ctx.phase != "training":
            return ()
        self.banks.take(group)
        dropped: list[Change] = [
            Retire(s, "not promoted: no gain, not among the best, or too similar")
            for s in self.banks.dropped
            if is_active(s, library)
        ]
        return [*dropped, *self._candidates(group, library, ctx)]

    def _candidates(self, group: CreditedGroup, library: LibraryView, ctx: Context) -> list[Change]:
        task = group.chains[0].episodes[0].task
        gone = {*self.banks.long, *self.banks.dropped}
        waiting = [s for s in library.active() if s.id not in gone and ctx.fit(task, s) == 1.0]
        found: dict[str, Create] = {}
        for e in (e for chain in group.chains for e in chain.episodes):
            if len(waiting) + len(found) >= self.settings.candidates:
                break
            ran = [s for u in e.uses if u.called and (s := library.get(u.skill)) is not None]
            if ran:
                request = EditRequest("revise", episode=e, bases=(ran[0],))
            elif e.success:
                request = EditRequest("create", episode=e)
            else:
                continue
            for skill in ctx.write(request):
                if library.get(skill.id) is None:
                    found.setdefault(skill.id, Create(skill, (e.id,)))
        return list(found.values())
