"""The operators' work between episodes: what to run next, learning, library updates, probes.

All of it is metered. What a step after a group spends comes out of what the group's episodes left
of their budgets; probes have budgets of their own and are charged as probes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from auto_research.agent_research.absorb import charge_rows, credited_rows, spending_of
from auto_research.agent_research.agents.base import Agent
from auto_research.agent_research.budget import Budget, Meter, Phase, Spending
from auto_research.agent_research.chain import ChainJob, ChainOutcome
from auto_research.agent_research.checkpoint import Checkpoint, states_of
from auto_research.agent_research.codec import dumps
from auto_research.agent_research.config import RunConfig
from auto_research.agent_research.context import HarnessContext
from auto_research.agent_research.ledger import RunLedger
from auto_research.agent_research.library import Change, LibraryView
from auto_research.agent_research.method import Operators
from auto_research.agent_research.operators import (
    Arm,
    Chain,
    CreditedGroup,
    Episode,
    Progress,
    TaskRef,
)
from auto_research.agent_research.rows import EpisodeRow, TranscriptLine
from auto_research.agent_research.waves import units_left
from auto_research.agent_research.workers import Workers
from auto_research.benchmarks.base import Scenario, Task
from auto_research.errors import BudgetExceeded
from auto_research.rng import derive


@dataclass
class Between:
    """Serves the operators between episodes. `probed` are the rows of the probes not yet
    committed, `finished` is told of each of them.
    """

    config: RunConfig
    operators: Operators
    agent: Agent
    workers: Workers
    ledger: RunLedger
    at: Checkpoint
    train: Sequence[Scenario]
    finished: Callable[[ChainOutcome], None]
    probed: list[EpisodeRow] = field(default_factory=list)
    _steps: list[tuple[str, Phase, Meter]] = field(default_factory=list)  # not yet committed

    def __post_init__(self) -> None:
        self.pool = tuple(TaskRef(s.id, t.id) for s in self.train for t in s.tasks)
        self._tasks: dict[str, Task] = {t.id: t for s in self.train for t in s.tasks}

    def template(self, phase: Phase) -> ChainJob:
        """A job of this moment, but for its name, tasks and library."""
        return ChainJob(
            name="",
            seed=self._seed(phase),
            phase=phase,
            step=self.at.groups,
            group=None,
            sibling=0,
            tasks=(),
            library=(),
            states=states_of(self.operators),
            budget=Budget(units=self.config.budget_units),
            units_per_episode=self.config.units_per_episode,
            pool=self.pool,
        )

    def next_chains(self, ahead: int = 0) -> Sequence[Chain]:
        """What the rollout asks for next; its spending belongs to no episode.

        `ahead` is how many groups are waiting to be run already.
        """
        groups = self.at.groups + ahead
        name = f"rollout-{groups}"
        meter = self._meter(name, "training", self.config.budget_units)
        progress = Progress(groups, self.config.train_scenarios, tuple(self.at.mean_rewards))
        ctx = self._context(name, "training", meter, None)
        try:
            chains = self.operators.rollout.next(self.train, progress, ctx)
        except BudgetExceeded:
            chains = ()
        if meter.totals["units"]:
            self.at.outside.setdefault("training", Counter()).update(meter.units_by_kind)
            self.ledger.charge("training", meter.spending())
        return chains

    def after_group(
        self,
        name: str,
        outcomes: Sequence[ChainOutcome],
        group: CreditedGroup,
        library: LibraryView,
        phase: Phase,
    ) -> tuple[Sequence[Change], list[EpisodeRow]]:
        """Learn in training, and update: the changes, and the rows, which bear the cost."""
        cap = self.config.budget_units
        left = sum(max(0, cap - row.units) for outcome in outcomes for row in outcome.rows)
        meter = self._meter(name, phase, left)
        ctx = self._context(name, phase, meter, outcomes[0].episodes[0].task)
        changes: Sequence[Change] = ()
        told = ""
        try:
            if phase == "training":
                self._learn(group, ctx)
            changes = self.operators.update.after_group(group, library, ctx)
        except BudgetExceeded as error:
            told = f"the library is left as it is: {error}"
        self.ledger.charge(phase, meter.spending())
        rows = charge_rows(
            credited_rows(outcomes, group, changes),
            meter.spending(),
            cap=cap,
            full_cost=self.config.units_per_episode,
        )
        if told:
            line = TranscriptLine("update", told)
            rows[-1] = replace(rows[-1], transcript=(*rows[-1].transcript, line))
        return changes, rows

    def uncommitted(self) -> Iterator[tuple[str, Phase, Spending]]:
        """Name, phase and spending of all that was done here since the last commit."""
        for name, phase, meter in self._steps:
            yield name, phase, meter.spending()
        for row in self.probed:
            yield row.episode, row.phase, spending_of([row])

    def committed(self) -> None:
        """All that was done here has been committed."""
        self._steps.clear()
        self.probed.clear()

    def _learn(self, group: CreditedGroup, ctx: HarnessContext) -> None:
        policy = self.operators.retrieval
        before = dumps(policy.state())
        policy.learn(group, ctx)
        self.at.counters["policy_updates"] += dumps(policy.state()) != before

    def _probe(self, tasks: Sequence[TaskRef], library: LibraryView) -> Sequence[Episode]:
        """Train tasks with a given library, each a chain of one with a budget of its own."""
        template = self.template("probes")
        jobs = [
            replace(
                template,
                name=f"probe-{number:04d}",
                tasks=(self._tasks[task.task],),
                library=tuple(library.skills.values()),
                updates=False,
                verdicts_to_operators=True,
            )
            for number, task in enumerate(tasks, start=self.at.probes)
        ]
        share = Budget(units=self.config.budget_units * len(jobs))
        reservation = self.ledger.reserve(share, "probes")
        self.at.probes += len(jobs)
        outcomes: list[ChainOutcome] = []
        for outcome in self.workers.run(jobs):
            outcomes.append(outcome)
            self.probed += outcome.rows
            self.finished(outcome)
        self.ledger.settle(reservation, spending_of(r for o in outcomes for r in o.rows))
        return [episode for outcome in outcomes for episode in outcome.episodes]

    def _context(self, name: str, phase: Phase, meter: Meter, home: Task | None) -> HarnessContext:
        return HarnessContext(
            rng=derive(self._seed(phase), phase, name),
            phase=phase,
            step=self.at.groups,
            arm=Arm(),
            pool=self.pool,
            home=home,
            _meter=meter,
            _open=lambda task: self.agent.session(task, meter),
            _probe=self._probe,
        )

    def _meter(self, name: str, phase: Phase, cap: int) -> Meter:
        """A meter for one step, within `cap` and what the run has left."""
        left = units_left(self.ledger)
        budget = Budget(units=cap if left is None else min(cap, left))
        meter = Meter(budget, stream=f"{self._seed(phase)}/{phase}-{name}")
        self._steps.append((name, phase, meter))
        return meter

    def _seed(self, phase: Phase) -> int:
        return self.config.seed if phase == "test" else self.config.train_seed
