"""The hand-worked cases of fixtures/sage, read strictly into plain values and run for real."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

from auto_research_sage.plugin import register_operators
from pydantic import BaseModel, ConfigDict
from sage_desk import FIXTURES, episode, group

from auto_research import strict_yaml
from auto_research.agent_research.agents.search.agent import SearchAgent
from auto_research.agent_research.budget import Budget, Meter, Phase
from auto_research.agent_research.context import HarnessContext
from auto_research.agent_research.library import (
    Change,
    LibraryView,
    Retire,
    apply_changes,
    bases_of,
    record_usage,
    view_of,
)
from auto_research.agent_research.normal_form import parse
from auto_research.agent_research.operators import (
    Arm,
    ChainResult,
    EditRequest,
    Episode,
    LibraryUpdate,
    Operator,
)
from auto_research.agent_research.skill import Skill, Usage
from auto_research.benchmarks.base import Task
from auto_research.rng import derive

OPERATORS: dict[str, type[Operator]] = {op.name: op for op in register_operators()}
CaseT = TypeVar("CaseT", bound="Case")


class Case(BaseModel):
    """Base: a key that a case does not know is a mistake in the fixture."""

    model_config = ConfigDict(extra="forbid", frozen=True)


def cases(folder: str) -> list[Path]:
    """The cases of a folder of fixtures/sage."""
    return sorted((FIXTURES / folder).glob("*.yaml"))


def read(kind: type[CaseT], path: Path) -> CaseT:
    """One case. Raises ValidationError naming the key that is wrong."""
    return kind.model_validate(strict_yaml.read(path))


def operator(name: str, settings: dict[str, Any]) -> Any:
    """The registered operator of that name."""
    kind = OPERATORS[name]
    return kind(kind.settings_type(**settings))


class Attempted(Case):
    """One task of a chain: its verdict, and which skills it wrote, used, or ran in vain."""

    success: bool | None
    submitted: bool = True
    writes: list[str] = []
    uses: list[str] = []
    ran: list[str] = []


class RewardCase(Case):
    """A group of chains, and what each task must earn; advantages have the same shape."""

    operator: str = "sage.skill-integrated"
    settings: dict[str, Any] = {}
    chains: list[list[Attempted]]
    rewards: list[list[float | None]]
    advantages: list[list[float]]
    informative: list[bool]


class Shown(Case):
    """A task as retrieval sees it."""

    scenario: str = ""
    query: str = ""


class Kept(Case):
    """A skill of the library: what it was written for, how it fits the case's task, its record."""

    name: str
    scenario: str = ""
    query: str = ""
    body: str | None = None
    fit: float = 0.0
    usage: dict[str, int] = {}


class Pick(Case):
    """What one policy must choose, by name and best first."""

    policy: str
    settings: dict[str, Any] = {}
    chosen: list[str]


class RetrievalCase(Case):
    """One library, one task, and what each policy makes of it; all pay the same `units`."""

    task: Shown
    library: list[Kept]
    picks: list[Pick]
    units: int


class LearningCase(Case):
    """One step of q_phi: features by skill, the choice of each sibling, and the step they give."""

    settings: dict[str, Any] = {}
    task: Shown
    library: list[Kept]
    phi: list[float]
    features: dict[str, list[float]]
    chosen: list[str | None]
    advantages: list[float]
    gradient: list[float]
    phi_after: list[float]


class Changed(Case):
    """A change, its skills told by the rules that they know."""

    op: str
    knows: list[str] = []
    base: list[str] = []


class Tried(Case):
    """One real episode of the search agent on a problem of fixtures/sage/doors.

    `alone`: retrieval chose no skill.
    """

    problem: str
    alone: bool = False
    changes: list[Changed] = []


class Sibling(Case):
    reward: float = 0.0
    episodes: list[Tried]


class Group(Case):
    siblings: list[Sibling]
    commits: list[Changed] = []


class Version(Case):
    knows: list[str]
    version: int = 1
    status: str = "active"


class Written(Case):
    """A skill as the agent writes it after solving `problem`, with a usage record."""

    problem: str
    usage: dict[str, int] = {}


class UpdateCase(Case):
    """A batch of groups that start from one library; each commits in turn, as in a run."""

    operator: str = "sage.evolve"
    settings: dict[str, Any] = {}
    phase: Phase = "training"
    library: list[Written] = []
    groups: list[Group]
    after: list[Version]


def doors(problem: str) -> Task:
    """A problem of fixtures/sage/doors as a task; `renamed-` and `drifted-` have their domains."""
    folder = FIXTURES / "doors"
    first = problem.split("-")[0]
    domain = first if first in ("renamed", "drifted") else "domain"
    observation = {
        "domain": (folder / f"{domain}.pddl").read_text(),
        "problem": (folder / f"{problem}.pddl").read_text(),
    }
    return Task(problem, domain, 0, "pddl", "reach the goal", observation)


def knows(skill: Skill) -> list[str]:
    """The names of a skill's rules: its functions but for the one that is called."""
    names = [getattr(node, "name", "") for node in parse(skill.source).body]
    return sorted(name for name in names if name and name != skill.name)


def told(changes: Sequence[Change], library: LibraryView) -> list[Changed]:
    """Changes as a case tells them; `library` is the one they are made to."""
    found: list[Changed] = []
    for change in changes:
        bases = [s for i in bases_of(change) if (s := library.get(i)) is not None]
        found.append(
            Changed(
                op=type(change).__name__.lower(),
                knows=[] if isinstance(change, Retire) else knows(change.skill),
                base=[rule for s in bases for rule in knows(s)],
            )
        )
        library = apply_changes(library, [change])
    return found


@dataclass
class Workshop:
    """Runs chains of real episodes with an update operator, as a run does, without a judge."""

    agent: SearchAgent
    update: LibraryUpdate
    phase: Phase = "training"

    def written(self, spec: Written) -> Skill:
        """The skill that the agent writes after solving a problem unaided."""
        ctx = self.context(doors(spec.problem))
        solved = self.attempt("before", spec.problem, 0, (), ctx)
        (skill,) = ctx.write(EditRequest("create", episode=solved))
        return replace(skill, usage=Usage(**spec.usage))

    def attempt(
        self, name: str, problem: str, position: int, skills: Sequence[Skill], ctx: HarnessContext
    ) -> Episode:
        """One real attempt with those skills."""
        task = doors(problem)
        made = ctx._session(task).attempt(skills)
        return episode(
            None,
            name=name,
            at=task,
            position=position,
            uses=made.uses,
            submitted=made.submission.plan is not None,
            own_check=made.own_check,
            evidence=made.evidence,
        )

    def chain(
        self, name: str, problems: Sequence[str], start: LibraryView, alone: Collection[int] = ()
    ) -> ChainResult:
        """One sibling: its episodes in turn, each retrieving every active skill, newest first.

        Those at the positions in `alone` retrieve none.
        """
        library, changes, origins = start, list[Change](), dict[str, int]()
        episodes: list[Episode] = []
        for position, problem in enumerate(problems):
            ctx = self.context(doors(problem))
            skills = () if position in alone else tuple(reversed(library.active()))
            done = self.attempt(f"{name}-{position}", problem, position, skills, ctx)
            made = self.update.after_episode(done, library, ctx)
            used = {
                u.skill: library.skills[u.skill].usage.after(called=u.called, helped=u.helped)
                for u in done.uses
            }
            known = set(library.skills)
            library = apply_changes(record_usage(library, used), made)
            origins |= {i: position for i in library.skills if i not in known}
            changes += made
            episodes.append(done)
        return ChainResult(tuple(episodes), library, tuple(changes), origins)

    def commit(
        self, chains: Sequence[ChainResult], rewards: Sequence[float], library: LibraryView
    ) -> Sequence[Change]:
        """What the group changes in the run's library; each chain's reward is paid at its end."""
        paid = [(0.0,) * (len(c.episodes) - 1) + (r,) for c, r in zip(chains, rewards, strict=True)]
        ctx = self.context(chains[0].episodes[0].task)
        return self.update.after_group(group(chains, paid), library, ctx)

    def context(self, home: Task) -> HarnessContext:
        """The harness's own context with a meter of its own."""
        meter = Meter(Budget(units=5000))
        return HarnessContext(
            rng=derive(0, "workshop"),
            phase=self.phase,
            step=0,
            arm=Arm(),
            pool=(),
            home=home,
            _meter=meter,
            _open=lambda task: self.agent.session(task, meter),
        )


def play(case: UpdateCase, agent: SearchAgent) -> LibraryView:
    """Run a case and hold every change against what it says; returns the run's library at the end.

    Raises AssertionError at the first difference.
    """
    shop = Workshop(agent, operator(case.operator, case.settings), case.phase)
    start = view_of([shop.written(spec) for spec in case.library])
    library = start
    for number, batch in enumerate(case.groups):
        chains = []
        for s, sibling in enumerate(batch.siblings):
            tried = sibling.episodes
            alone = {position for position, e in enumerate(tried) if e.alone}
            chain = shop.chain(f"{number}-{s}", [e.problem for e in tried], start, alone)
            expected = [c for e in tried for c in e.changes]
            assert told(chain.changes, start) == expected, f"group {number}, sibling {s}"
            chains.append(chain)
        commits = shop.commit(chains, [s.reward for s in batch.siblings], library)
        assert told(commits, library) == batch.commits, f"group {number}"
        library = apply_changes(library, commits)
    return library


def versions(library: LibraryView) -> list[Version]:
    """Every version in the library, as a case tells them."""
    return [
        Version(knows=knows(s), version=s.version, status=s.status) for s in library.skills.values()
    ]
