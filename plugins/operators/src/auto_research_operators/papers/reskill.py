"""ReSkill (arXiv 2606.01619): a bundle of edits is one new version, tested inside the groups.

Beta(1, 1) posteriors for the old and the new version; each rollout of a group runs the new one
with probability

    P_new = Pr(theta_new > theta_old)    (10,000 draws), clamped to [0.15, 0.85]

and each step discounts what came before it:

    w = M / (M + n) ;  alpha <- w alpha + m ;  beta <- w beta + (n - m)    m successes of n

M has the largest Beta-Binomial likelihood over 1..2000, once two tests are over (until then
nothing is forgotten). After >= 5 steps and >= 50 episodes: keep the new version iff its posterior
mean is the greater one, else restore the old one.

Interpretation, for want of result tables and prompts: a rollout counts if it was given one of the
edited skills, as the others say nothing about the edit; a skill triggers where it fits; what is
known of a kind of world for the first time has no older version and is added untested; losing a
test is the only way to be deleted. Until it is decided, each edit is a fork beside its base.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from pydantic import Field

from auto_research.agent_research.codec import skill_from_json, skill_to_json
from auto_research.agent_research.library import Change, Create, Fork, LibraryView, Retire
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
from auto_research.agent_research.skill import Skill
from auto_research.benchmarks.base import Json, Task
from auto_research_operators.shared.bandit import (
    Beta,
    fit_memory,
    posterior,
    probability_greater,
)
from auto_research_operators.shared.changes import is_active
from auto_research_operators.shared.relevance import ranked

TESTS_BEFORE_FORGETTING = 2


def under_test(library: LibraryView) -> dict[str, str]:
    """Each new version that is being tested, by id, with the older one that it is tested against.

    Both are active: a fork and its base.
    """
    return {
        s.id: s.parents[0]
        for s in library.active()
        if len(s.parents) == 1 and is_active(s.parents[0], library)
    }


@dataclass
class VersionTest:
    """The test that is running: successes and rollouts of both versions, step by step."""

    bundle: list[str] = field(default_factory=list)  # ids of the new versions
    old: list[tuple[int, int]] = field(default_factory=list)
    new: list[tuple[int, int]] = field(default_factory=list)
    finished: list[list[tuple[int, int]]] = field(default_factory=list)  # of both, test by test
    memory: float = 2000.0
    tests: int = 0

    def take(self, group: CreditedGroup) -> None:
        """One step: what the rollouts of `group` came to. A bundle not seen before opens a test."""
        seen = [(e.choice.trace, e) for chain in group.chains for e in chain.episodes]
        told = [(trace, e) for trace, e in seen if isinstance(trace, Mapping) and not e.error]
        if not told:
            return
        bundle = [str(i) for i in _list(told[0][0]["bundle"])]
        if bundle != self.bundle:
            self._close(bundle)
        for version, steps in (("old", self.old), ("new", self.new)):
            outcomes = [e.success for trace, e in told if trace["version"] == version]
            steps.append((sum(outcomes), len(outcomes)))

    def _close(self, bundle: list[str]) -> None:
        if self.bundle:
            self.finished += [self.old, self.new]
            self.tests += 1
        if self.tests >= TESTS_BEFORE_FORGETTING:
            self.memory = fit_memory(self.finished)
        self.bundle, self.old, self.new = bundle, [], []

    def posteriors(self) -> tuple[Beta, Beta]:
        """Of the old and the new version."""
        memory = self.memory if self.tests >= TESTS_BEFORE_FORGETTING else float("inf")
        return posterior(self.old, memory), posterior(self.new, memory)

    def better(self) -> bool:
        """Whether the new version's posterior mean is the greater one."""
        old, new = self.posteriors()
        return new.mean > old.mean

    def decided(self, steps: int, episodes: int) -> bool:
        """Whether there were at least that many steps and episodes."""
        run = sum(n for _, n in [*self.old, *self.new])
        return len(self.old) >= steps and run >= episodes

    def state(self) -> dict[str, Json]:
        return {
            "bundle": list(self.bundle),
            "old": [list(step) for step in self.old],
            "new": [list(step) for step in self.new],
            "finished": [[list(step) for step in steps] for steps in self.finished],
            "memory": self.memory,
            "tests": self.tests,
        }

    def restore(self, state: Any) -> None:
        self.bundle = list(state["bundle"])
        self.old, self.new = _steps(state["old"]), _steps(state["new"])
        self.finished = [_steps(steps) for steps in state["finished"]]
        self.memory, self.tests = float(state["memory"]), int(state["tests"])


def _list(value: Any) -> list[Any]:
    return list(value)


def _steps(rows: Any) -> list[tuple[int, int]]:
    return [(int(m), int(n)) for m, n in rows]


class ThompsonRetrieval(RetrievalPolicy):
    """The fitting skills of one of the two versions; which one is drawn anew for each rollout.

    After training nothing is drawn: a test still running is served by the better posterior mean.
    """

    name = "reskill.thompson"
    citation = "ReSkill, arXiv 2606.01619 (P_new clamped to [0.15, 0.85]; at most 8 skills)"
    summary = "skills of the old or the new version, drawn by the chance that new is better"

    class Options(Settings):
        max_skills: int = Field(default=8, ge=1)
        draws: int = Field(default=10_000, ge=1)
        p_least: float = Field(default=0.15, ge=0, le=0.5)
        p_most: float = Field(default=0.85, ge=0.5, le=1)

    settings_type: ClassVar[type[Settings]] = Options
    settings: Options

    def __init__(self, settings: Settings) -> None:
        super().__init__(settings)
        self.test = VersionTest()
        self.p_new = 0.5

    def state(self) -> Json:
        return {"test": self.test.state(), "p_new": self.p_new}

    def restore(self, state: Any) -> None:
        if state is not None:
            self.test.restore(state["test"])
            self.p_new = float(state["p_new"])

    def choose(self, task: Task, library: LibraryView, ctx: Context) -> Choice:
        skills = library.active()
        ctx.spend("retrieve", len(skills))
        fit = {s.id: ctx.fit(task, s) for s in skills}
        pairs = under_test(library)
        most = max(fit.values(), default=0.0)
        touched = any(fit[i] == most > 0 for pair in pairs.items() for i in pair)
        version, chance = self._version(sorted(pairs), ctx)
        hidden = set(pairs.values()) if version == "new" else set(pairs)
        shown = [s for s in skills if fit[s.id] > 0 and s.id not in hidden]
        best = ranked(shown, lambda s: fit[s.id] + s.usage.success_rate / 2)
        ids = tuple(s.id for s in best[: self.settings.max_skills])
        trace: Json = {"bundle": sorted(pairs), "version": version} if touched else None
        return Choice(ids, (chance if touched else 1.0,) * len(ids), trace)

    def _version(self, bundle: list[str], ctx: Context) -> tuple[str, float]:
        """The version to run and the chance that it had."""
        known = bundle == self.test.bundle
        if ctx.phase != "training":
            return ("new" if known and self.test.better() else "old"), 1.0
        p_new = self.p_new if known else 0.5
        return ("new", p_new) if ctx.rng.random() < p_new else ("old", round(1 - p_new, 6))

    def learn(self, group: CreditedGroup, ctx: Context) -> None:
        self.test.take(group)
        if not self.test.bundle:
            return
        old, new = self.test.posteriors()
        p = probability_greater(new, old, ctx.rng, self.settings.draws)
        self.p_new = min(max(p, self.settings.p_least), self.settings.p_most)


class BundleUpdate(LibraryUpdate):
    """Gathers edits into a bundle, puts it to the test as one version, keeps or takes back all.

    Each group drafts at most one edit a skill, by what an episode that ran it showed: the last
    failed one, else the last. Drafts build on one another until the bundle is opened.
    """

    name = "reskill.bundle"
    citation = "ReSkill, arXiv 2606.01619 (decide after >= 5 steps and >= 50 episodes)"
    summary = "tests a bundle of edits as one version; keeps it iff its posterior mean is greater"

    class Options(Settings):
        reservoir: int = Field(default=100, ge=0, description="episodes before a first bundle")
        min_edits: int = Field(default=2, ge=1, description="in a bundle: interpretation")
        min_steps: int = Field(default=5, ge=1)
        min_episodes: int = Field(default=50, ge=1)

    settings_type: ClassVar[type[Settings]] = Options
    settings: Options

    def __init__(self, settings: Settings) -> None:
        super().__init__(settings)
        self.test = VersionTest()
        self.episodes = 0
        self.drafts: dict[str, Skill] = {}  # by the id of the skill that they are to replace

    def state(self) -> Json:
        drafts: Json = {base: skill_to_json(s) for base, s in sorted(self.drafts.items())}
        return {"test": self.test.state(), "episodes": self.episodes, "drafts": drafts}

    def restore(self, state: Any) -> None:
        if state is not None:
            self.test.restore(state["test"])
            self.episodes = int(state["episodes"])
            self.drafts = {base: skill_from_json(s) for base, s in state["drafts"].items()}

    def after_group(
        self, group: CreditedGroup, library: LibraryView, ctx: Context
    ) -> Sequence[Change]:
        if ctx.phase != "training":
            return ()
        self.test.take(group)
        episodes = [e for chain in group.chains for e in chain.episodes if not e.error]
        self.episodes += len(episodes)
        changes = self._decided(library)
        lost = {change.base for change in changes}
        self.drafts = {base: s for base, s in self.drafts.items() if base not in lost}
        self._draft(episodes, library, ctx)
        if changes:
            return changes
        ready = self.episodes >= self.settings.reservoir
        if ready and len(self.drafts) >= self.settings.min_edits and not under_test(library):
            return self._opened(library) or self._added(episodes, library, ctx)
        return self._added(episodes, library, ctx)

    def _decided(self, library: LibraryView) -> list[Retire]:
        pairs = under_test(library)
        ready = self.test.decided(self.settings.min_steps, self.settings.min_episodes)
        if not pairs or sorted(pairs) != self.test.bundle or not ready:
            return []
        if self.test.better():
            return [Retire(base, "the new version won its test") for base in pairs.values()]
        return [Retire(new, "lost its test: the old version is restored") for new in pairs]

    def _draft(self, episodes: Sequence[Episode], library: LibraryView, ctx: Context) -> None:
        ran: dict[str, Episode] = {}
        for e in episodes:
            for use in e.uses:
                held = ran.get(use.skill)
                if use.called and (held is None or held.success >= e.success):
                    ran[use.skill] = e
        for base_id, e in ran.items():
            if not is_active(base_id, library):
                continue
            base = self.drafts.get(base_id) or library.skills[base_id]
            for skill in ctx.write(EditRequest("revise", episode=e, bases=(base,)))[:1]:
                if library.get(skill.id) is None and skill.interface == base.interface:
                    self.drafts[base_id] = skill

    def _opened(self, library: LibraryView) -> list[Change]:
        drafts = {b: s for b, s in sorted(self.drafts.items()) if is_active(b, library)}
        self.drafts = {}
        return [Fork(base, s) for base, s in drafts.items() if library.get(s.id) is None]

    def _added(
        self, episodes: Sequence[Episode], library: LibraryView, ctx: Context
    ) -> list[Change]:
        """A first skill for the kind of world of these tasks, if the library has none."""
        solved = [e for e in episodes if e.success and not e.used()]
        for e in solved[-1:]:
            if all(ctx.fit(e.task, s) < 1.0 for s in library.active()):
                written = ctx.write(EditRequest("create", episode=e))
                return [Create(s, (e.id,)) for s in written if library.get(s.id) is None]
        return []
