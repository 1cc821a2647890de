"""GRASP (arXiv 2605.29668): K proposals, a regression gate with a noise floor, at most ten skills.

    fixes, regr           = changes against the incumbent's outcomes, with the candidate
    base_fixes, base_regr = the same, re-running without the candidate (the noise floor)
    adj = (fixes - base_fixes) - (regr - base_regr) - (w - 1) * invalid_action_regr
    accept argmax adj  iff  adj > 0 and regr <= base_regr; else one contrastive narrowing revision

The incumbent's outcome of a task is the last one known, so the floor holds the agent's own noise
and what earlier edits have changed since; the re-run is really made, for a deterministic agent
too. A task never run before counts from the re-run on. Interpretation: a failure's mechanism is
which candidate skill would fit its task, and candidates that fit more of a batch's failures come
first; narrowing means less of what the source showed, and is tried only where some regressed.
Left out: collapse recovery and the best-validation checkpoint (a library is not turned back here).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from pydantic import Field

from auto_research.agent_research.library import (
    Change,
    Create,
    Fork,
    LibraryView,
    Retire,
    apply_changes,
    bases_of,
)
from auto_research.agent_research.operators import (
    Choice,
    Context,
    EditRequest,
    Episode,
    RetrievalPolicy,
    Settings,
    TaskRef,
)
from auto_research.agent_research.similarity import ngram_similarity, query_text
from auto_research.benchmarks.base import Json, Task
from auto_research_operators.shared import gate
from auto_research_operators.shared.proposals import Proposal, proposals, version, worst
from auto_research_operators.shared.relevance import certain, description, ranked


class RankedRetrieval(RetrievalPolicy):
    """At most `top_k` skills, by when to use them, then by name, description and query.

    Interpretation: "when to use" is how well the agent could apply the skill, and one that does
    not fit at all is left out; the words are compared by n-grams.
    """

    name = "grasp.ranked"
    citation = "GRASP, arXiv 2605.29668 (ranked on tags, name, description, when-to-use; at most 3)"
    summary = "the skills whose use and description match the task best, at most 3"

    class Options(Settings):
        top_k: int = Field(default=3, ge=1)

    settings_type: ClassVar[type[Settings]] = Options
    settings: Options

    def choose(self, task: Task, library: LibraryView, ctx: Context) -> Choice:
        skills = library.active()
        ctx.spend("retrieve", len(skills))
        fit = {s.id: ctx.fit(task, s) for s in skills}
        query = query_text(task)
        alike = {s.id: ngram_similarity(query, description(s)) for s in skills if fit[s.id] > 0}
        fitting = [s for s in skills if s.id in alike]
        # The fit leads: words add at most a part of what any two grades of fit differ by.
        best = ranked(fitting, lambda s: fit[s.id] + alike[s.id] / 4)
        return certain(best[: self.settings.top_k])


@dataclass(frozen=True, slots=True)
class Trial:
    """A candidate's changes, the probes that ran with them and their effect."""

    changes: tuple[Change, ...]
    probes: tuple[Episode, ...]
    effect: gate.Effect
    adjusted: float


@dataclass(frozen=True, slots=True)
class Bench:
    """One batch's probe set: what each task last came to, and the noise floor on it."""

    tasks: Sequence[TaskRef]
    incumbent: Mapping[str, bool]
    base: gate.Effect

    def passes(self, trial: Trial) -> bool:
        """adj > 0 and no more regressions than the floor has."""
        return trial.adjusted > 0 and trial.effect.regressions <= self.base.regressions


class RegressionGate(gate.GatedUpdate):
    """After a batch: probe up to `proposals` candidates, make the best if it passes the gate.

    `probe_size` tasks, half failing and half passing, none of which led to a candidate. Where the
    library would grow past `max_skills`, the skill with the poorest record is removed with it.
    """

    name = "grasp.gate"
    citation = "GRASP, arXiv 2605.29668, gate (K=4, w=2, N=20, cap 10)"
    summary = "of K proposals makes the one with the most adjusted fixes and no new regression"

    class Options(Settings):
        proposals: int = Field(default=4, ge=1)
        probe_size: int = Field(default=20, ge=2)
        invalid_weight: float = Field(default=2.0, ge=1)
        max_skills: int = Field(default=10, ge=1)
        narrowing: bool = True

    settings_type: ClassVar[type[Settings]] = Options
    settings: Options

    def __init__(self, settings: Settings) -> None:
        super().__init__(settings)
        self.outcomes = gate.Outcomes()

    def state(self) -> Json:
        return self.outcomes.state()

    def restore(self, state: Any) -> None:
        self.outcomes.restore(state)

    def edit(
        self, batch: Sequence[Episode], library: LibraryView, ctx: Context
    ) -> Sequence[Change]:
        self.outcomes.note(gate.verdicts(batch))
        candidates = proposals(batch, library, ctx)[: self.settings.proposals]
        sources = {task for p in candidates for task in p.tasks}
        tasks = self.outcomes.probe_set(self.settings.probe_size, sources, ctx)
        if not candidates or not tasks:
            return ()
        bench = self._bench(tasks, library, ctx)
        trials = [self._trial(p.change, bench, library, ctx) for p in candidates]
        best = max(range(len(trials)), key=lambda i: (trials[i].adjusted, -i))
        trial = trials[best]
        if not bench.passes(trial) and self.settings.narrowing:
            narrow = narrowed(candidates[best], trial, bench, library, ctx)
            trial = trial if narrow is None else self._trial(narrow, bench, library, ctx)
        if not bench.passes(trial):
            return ()
        self.outcomes.note(gate.verdicts(trial.probes))
        return trial.changes

    def _bench(self, tasks: Sequence[TaskRef], library: LibraryView, ctx: Context) -> Bench:
        rerun = gate.probe(tasks, library, (), ctx)
        incumbent = {t: self.outcomes.known.get(t, now) for t, now in rerun.success.items()}
        self.outcomes.note(rerun)
        return Bench(tasks, incumbent, gate.effect(incumbent, rerun))

    def _trial(self, change: Change, bench: Bench, library: LibraryView, ctx: Context) -> Trial:
        changes = (*self._removed_for(change, library), change)
        probes = tuple(ctx.probe(bench.tasks, apply_changes(library, changes)))
        seen = gate.effect(bench.incumbent, gate.verdicts(probes))
        weight = self.settings.invalid_weight
        return Trial(changes, probes, seen, adjusted(seen, bench.base, weight))

    def _removed_for(self, change: Change, library: LibraryView) -> tuple[Retire, ...]:
        """The paired REMOVE of a change that would bring one skill too many."""
        grows = isinstance(change, Create | Fork)
        if not grows or len(library) < self.settings.max_skills:
            return ()
        poorest = worst(library, but=bases_of(change))
        return () if poorest is None else (Retire(poorest.id, "makes room for a better skill"),)


def adjusted(seen: gate.Effect, base: gate.Effect, invalid_weight: float) -> float:
    """(fixes - base_fixes) - (regr - base_regr) - (w - 1) * invalid_action_regr."""
    gained, lost = seen.fixes - base.fixes, seen.regressions - base.regressions
    return gained - lost - (invalid_weight - 1) * seen.invalid_regressions


def narrowed(
    proposal: Proposal, trial: Trial, bench: Bench, library: LibraryView, ctx: Context
) -> Change | None:
    """The candidate with less in it, if its probes show a regression to set against the fixes.

    An ADD keeps what its first source showed, less the actions that only regressed probes did; a
    MODIFY takes in one piece of knowledge of its first source.
    """
    worse = [e for e in trial.probes if bench.incumbent[e.task.id] and not e.success]
    if not worse or proposal.kind == "remove":
        return None
    source, change = proposal.sources[0], proposal.change
    if isinstance(change, Create):
        blamed = {a for e in worse for a in e.actions}
        cleared = {a for e in trial.probes if e not in worse for a in e.actions}
        span = tuple(dict.fromkeys(a for a in source.actions if a not in blamed - cleared))
        request = EditRequest("create", episode=source, span=span)
    else:
        bases = tuple(s for b in bases_of(change) if (s := library.get(b)) is not None)
        request = EditRequest("revise", episode=source, bases=bases, limit=1)
    skill = next(iter(ctx.write(request)), None)
    if skill is None or skill.id == proposal.skill.id or library.get(skill.id) is not None:
        return None
    if isinstance(change, Create):
        return Create(skill, (source.id,))
    return version(bases[0], skill, (source.id,))
