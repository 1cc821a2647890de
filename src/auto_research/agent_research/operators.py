"""The four slots a method fills, and the plain values that pass between them and the harness."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Literal, Protocol

from pydantic import BaseModel, ConfigDict

from auto_research.agent_research.advantage import Advantages, group_advantages
from auto_research.agent_research.budget import Phase, Spending
from auto_research.agent_research.library import Change, LibraryView
from auto_research.agent_research.skill import Skill
from auto_research.benchmarks.base import Json, Scenario, Task, Verdict

Slot = Literal["retrieval", "update", "reward", "rollout"]
SLOTS: tuple[Slot, ...] = ("retrieval", "update", "reward", "rollout")
Start = Literal["empty", "carry", "frozen"]


class Settings(BaseModel):
    """Base of an operator's settings: typed, frozen, unknown keys refused."""

    model_config = ConfigDict(extra="forbid", frozen=True)


@dataclass(frozen=True, slots=True)
class TaskRef:
    """A train task by position; only the harness can turn it into an episode."""

    scenario: str
    task: str


@dataclass(frozen=True, slots=True)
class Choice:
    """A ranking of skill ids (may be empty) and, for each, the probability that it was drawn.

    `trace` is whatever the policy needs to learn from this choice later.
    """

    ranked: tuple[str, ...] = ()
    propensities: tuple[float, ...] = ()
    trace: Json = None


@dataclass(frozen=True, slots=True)
class Use:
    """One retrieved skill in one episode: was it run, and did the episode's own check pass with it.

    `sound` is False when its code failed (an error, a limit, an illegal action).
    `detail` is a short reason for the transcript.
    """

    skill: str
    called: bool
    helped: bool
    sound: bool = True
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Arm:
    """For paired rollouts: skills that this chain must go without, or all of them (`bare`)."""

    without: frozenset[str] = frozenset()
    label: str = ""
    bare: bool = False


@dataclass(frozen=True, slots=True)
class Episode:
    """One attempt at one task, as operators may see it.

    `own_check` is the agent's own belief of success; `verdict` is the sealed one, and None
    wherever operators must not see it. `evidence` is what the agent's skill writer needs
    to write from this attempt (opaque to operators).
    """

    id: str
    task: Task
    position: int
    choice: Choice
    uses: tuple[Use, ...]
    own_check: bool
    verdict: Verdict | None
    has_submission: bool
    spending: Spending
    written: tuple[str, ...] = ()  # ids of the skills written from this episode
    evidence: Json = None
    error: str = ""
    actions: tuple[str, ...] = ()  # what it did, step by step: ``verb<role,...>``, no objects
    arm: Arm = Arm()

    @property
    def success(self) -> bool:
        """The best an operator may know: the verdict where given, else the agent's own check."""
        return self.verdict.success if self.verdict is not None else self.own_check

    def used(self) -> frozenset[str]:
        """Ids of the skills whose code ran in this episode and carried it to its end."""
        return frozenset(use.skill for use in self.uses if use.called and use.helped)


@dataclass(frozen=True, slots=True)
class ChainResult:
    """One sibling: its episodes in order, and the library it ended with.

    `origins` maps each skill id to the position in this chain at which it was written;
    skills that were there before the chain began are absent.
    """

    episodes: tuple[Episode, ...]
    library: LibraryView
    changes: tuple[Change, ...]
    origins: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class CreditedGroup:
    """The siblings of one group with what each task of each chain earned.

    `rewards` and `advantages` have shape (siblings, chain length); a None reward is a task
    that could not be judged: advantage 0 and outside the baseline.
    """

    chains: tuple[ChainResult, ...]
    rewards: tuple[tuple[float | None, ...], ...]
    advantages: tuple[tuple[float, ...], ...]
    informative: tuple[bool, ...]  # a chain position: did its rewards differ


@dataclass(frozen=True, slots=True)
class EditRequest:
    """Ask the agent's skill writer for skills.

    create: new skills from a successful `episode`; with `span`, only what those of its actions
    show. revise: a new version of the first of `bases` that takes in what `episode` showed, at
    most `limit` new pieces of knowledge. merge: one skill out of `bases`. adapt: one skill for
    `task` out of what fits of `bases`. shrink: each way to leave one piece of knowledge out of
    the first of `bases`, in the order of the pieces. rule: texts on what sets `episode` apart
    from `against`, a failure; the next version of the first of `bases` where that is a text for
    the same kind of world. schemas / trace: the controls `all-schemas` and `raw-trace`.
    """

    kind: Literal["create", "revise", "merge", "adapt", "shrink", "rule", "schemas", "trace"]
    episode: Episode | None = None
    task: Task | None = None
    bases: tuple[Skill, ...] = ()
    against: Episode | None = None
    span: tuple[str, ...] = ()
    limit: int | None = None


@dataclass(frozen=True, slots=True)
class Chain:
    """A group to run: tasks in order, G siblings, how each sibling's library starts, arms.

    `arms`, when given, has one entry a sibling.
    """

    scenario: str
    tasks: tuple[Task, ...]
    siblings: int
    start: Start
    arms: tuple[Arm, ...] = ()


@dataclass(frozen=True, slots=True)
class Progress:
    """How far training has come: groups done, and the last rewards (mean a group)."""

    groups: int
    planned: int
    mean_rewards: tuple[float, ...] = ()


class Context(Protocol):
    """What the harness gives an operator with each call. Nothing here leads past ledger or seal."""

    @property
    def rng(self) -> random.Random:
        """The only source of chance."""

    @property
    def phase(self) -> Phase:
        """``training``, ``probes`` or ``test``."""

    @property
    def step(self) -> int:
        """Training groups done so far."""

    @property
    def arm(self) -> Arm:
        """The skills that the chain at hand must go without."""

    @property
    def pool(self) -> Sequence[TaskRef]:
        """The train tasks, in stream order: all that may be probed."""

    def spend(self, kind: str, amount: int = 1) -> None:
        """Charge the ledger. Raises BudgetExceeded."""

    def fit(self, task: Task, skill: Skill) -> float:
        """How well the agent could apply `skill` to `task`, in [0, 1], unrun (charged)."""

    def probe(self, tasks: Sequence[TaskRef], library: LibraryView) -> Sequence[Episode]:
        """Run train tasks with `library`, charged as probes. Raises UserError for other tasks."""

    def write(self, request: EditRequest) -> Sequence[Skill]:
        """Ask the agent's skill writer; charged. Empty when there is nothing to write."""


class Operator:
    """Base of every operator. Stateless ones need not override `state` and `restore`."""

    name: ClassVar[str]
    slot: ClassVar[Slot]
    citation: ClassVar[str]  # paper and equation, or "control"
    summary: ClassVar[str]
    settings_type: ClassVar[type[Settings]] = Settings

    def __init__(self, settings: Settings) -> None:
        self.settings = settings

    def state(self) -> Json:
        """Everything a resumed run or a sibling needs to go on exactly as this one would."""
        return None

    def restore(self, state: Json) -> None:
        """Take back what `state` gave."""


class RetrievalPolicy(Operator):
    """Slot 1: which skills a task gets."""

    slot: ClassVar[Slot] = "retrieval"

    def choose(self, task: Task, library: LibraryView, ctx: Context) -> Choice:
        """Ranked ids of active skills, best first; ties by id. Empty: go without."""
        raise NotImplementedError

    def learn(self, group: CreditedGroup, ctx: Context) -> None:
        """Take one policy step from a credited group (training only)."""


class LibraryUpdate(Operator):
    """Slot 2: how the library changes."""

    slot: ClassVar[Slot] = "update"

    def after_episode(
        self, episode: Episode, library: LibraryView, ctx: Context
    ) -> Sequence[Change]:
        """Changes to the chain's own library, after one of its episodes (verdict unseen)."""
        return ()

    def after_group(
        self, group: CreditedGroup, library: LibraryView, ctx: Context
    ) -> Sequence[Change]:
        """Changes to the run's library, once the whole group is credited."""
        return ()


class Reward(Operator):
    """Slot 3: what each task of each chain earned, and how that becomes an advantage."""

    slot: ClassVar[Slot] = "reward"

    def credit(self, group: Sequence[ChainResult]) -> Sequence[Sequence[float | None]]:
        """One number a task of each chain; shape (siblings, chain length)."""
        raise NotImplementedError

    def advantages(self, rewards: Sequence[Sequence[float | None]]) -> Advantages:
        """Rewards less the group's mean at each chain position, not divided by a deviation."""
        return group_advantages(rewards)


class Rollout(Operator):
    """Slot 4: which chains are run next in training."""

    slot: ClassVar[Slot] = "rollout"

    def next(self, pool: Sequence[Scenario], progress: Progress, ctx: Context) -> Sequence[Chain]:
        """The next batch of groups; empty ends the training phase."""
        return ()
