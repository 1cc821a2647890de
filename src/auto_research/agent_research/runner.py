"""Run a method on a benchmark: train, then the test stream; every batch is committed whole.

A batch is a fixed number of groups (training) or scenarios (test). Its chains start from the
library and operator states of the last commit and may run anywhere, in any order; credit,
learning and the commit happen here, in stream order. So neither worker count nor a kill changes
a byte of the result.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from auto_research.agent_research.agents.base import Agent
from auto_research.agent_research.budget import Budget, Meter, Phase, Spending
from auto_research.agent_research.chain import ChainJob, ChainOutcome, run_chain
from auto_research.agent_research.chain_codec import outcome_from_json, outcome_to_json
from auto_research.agent_research.config import RunConfig
from auto_research.agent_research.context import HarnessContext
from auto_research.agent_research.ledger import RunLedger
from auto_research.agent_research.library import Change, LibraryView, apply_changes, record_usage
from auto_research.agent_research.method import Operators
from auto_research.agent_research.operators import (
    Arm,
    Chain,
    ChainResult,
    CreditedGroup,
    Episode,
    Progress,
    TaskRef,
)
from auto_research.agent_research.rows import EpisodeRow, change_row
from auto_research.agent_research.run import RunDir
from auto_research.agent_research.skill import Skill, Usage
from auto_research.agent_research.store import SkillStore
from auto_research.agent_research.workers import Workers
from auto_research.benchmarks.base import Evaluator, Json, Scenario, Task
from auto_research.errors import BudgetExceeded
from auto_research.rng import derive

TEST_BATCH = 8  # scenarios whose library changes are committed together

Progressed = Callable[[Phase, int], None]  # phase, episodes finished in it


@dataclass
class Checkpoint:
    """What a resumed run needs besides the library: saved with every commit, in one transaction."""

    states: dict[str, Json] = field(default_factory=dict)
    groups: int = 0
    mean_rewards: list[float] = field(default_factory=list)
    scenarios: int = 0
    rows: int = 0
    counters: Counter[str] = field(default_factory=Counter)
    outside: dict[Phase, Counter[str]] = field(default_factory=dict)
    indices: Counter[str] = field(default_factory=Counter)
    flags: list[str] = field(default_factory=list)
    trained: bool = False

    def to_json(self) -> Json:
        return {
            "states": self.states,
            "groups": self.groups,
            "mean_rewards": list(self.mean_rewards),
            "scenarios": self.scenarios,
            "rows": self.rows,
            "counters": dict(self.counters),
            "outside": {phase: dict(kinds) for phase, kinds in self.outside.items()},
            "indices": dict(self.indices),
            "flags": list(self.flags),
            "trained": self.trained,
        }

    @classmethod
    def from_json(cls, data: Json) -> Checkpoint:
        """The checkpoint that `to_json` gave; a fresh one for None."""
        if not isinstance(data, dict):
            return cls()
        return cls(
            states=dict(data["states"]),
            groups=data["groups"],
            mean_rewards=list(data["mean_rewards"]),
            scenarios=data["scenarios"],
            rows=data["rows"],
            counters=Counter(data["counters"]),
            outside={phase: Counter(kinds) for phase, kinds in data["outside"].items()},
            indices=Counter(data["indices"]),
            flags=list(data["flags"]),
            trained=data["trained"],
        )


@dataclass
class Runner:
    """One run in progress. `notify` gets each finished row; `progressed` each finished count."""

    config: RunConfig
    operators: Operators
    agent: Agent
    workers: Workers
    evaluators: Callable[[Phase], Evaluator]
    store: SkillStore
    run_dir: RunDir
    train: Sequence[Scenario]
    test: Sequence[Scenario]
    progressed: Progressed = lambda phase, count: None
    notify: Callable[[EpisodeRow], None] = lambda row: None

    def __post_init__(self) -> None:
        self.pool = tuple(TaskRef(s.id, t.id) for s in self.train for t in s.tasks)
        self._tasks: dict[str, Task] = {t.id: t for s in self.train for t in s.tasks}
        self.ledger = RunLedger(Budget(units=self.config.run_units))
        self.at = Checkpoint.from_json(self.store.state())
        self.run_dir.truncate_rows(self.at.rows)
        for row in self.run_dir.rows():
            self.ledger.charge(row.phase, _spending(row))
        for slot, operator in self.operators.by_slot().items():
            if slot in self.at.states:
                operator.restore(self.at.states[slot])

    def run(self) -> Checkpoint:
        """Train, then test, from wherever the last commit left off."""
        while not self.at.trained:
            self._training_step()
        while self.at.scenarios < len(self.test):
            self._test_step()
        return self.at

    # Training

    def _training_step(self) -> None:
        progress = Progress(
            self.at.groups, self.config.train_scenarios, tuple(self.at.mean_rewards)
        )
        meter = Meter(Budget())
        ctx = self._context("training", "rollout", meter, None)
        chains = self.operators.rollout.next(self.train, progress, ctx)
        if not chains:
            self.at.trained = True
            self._commit((), {}, [])
            return
        view = self.store.view()
        jobs = [job for group, chain in enumerate(chains) for job in self._jobs(chain, group, view)]
        outcomes = self._outcomes(jobs)
        self._absorb(chains, jobs, outcomes, view, "training", meter)

    def _jobs(self, chain: Chain, group: int, view: LibraryView) -> Iterator[ChainJob]:
        number = self.at.groups + group
        for sibling in range(chain.siblings):
            arm = chain.arms[sibling] if sibling < len(chain.arms) else Arm()
            yield self._job(
                f"train-{number:04d}-{sibling}",
                "training",
                chain.tasks,
                () if chain.start == "empty" else tuple(view.skills.values()),
                group=number,
                sibling=sibling,
                arm=arm,
                updates=chain.start != "frozen",
                shown=True,
            )

    # Test

    def _test_step(self) -> None:
        view = self.store.view()
        batch = self.test[self.at.scenarios : self.at.scenarios + TEST_BATCH]
        chains = [Chain(s.id, s.tasks, 1, "carry") for s in batch]
        jobs = [
            self._job(
                f"test-{self.at.scenarios + i:04d}",
                "test",
                scenario.tasks,
                tuple(view.skills.values()),
                updates=not self.config.frozen,
                shown=self.config.test_feedback == "verdict",
            )
            for i, scenario in enumerate(batch)
        ]
        self._absorb(chains, jobs, self._outcomes(jobs), view, "test", Meter(Budget()))

    # Both

    def _job(
        self,
        name: str,
        phase: Phase,
        tasks: tuple[Task, ...],
        library: tuple[Skill, ...],
        *,
        updates: bool,
        shown: bool,
        group: int | None = None,
        sibling: int = 0,
        arm: Arm | None = None,
    ) -> ChainJob:
        return ChainJob(
            name=name,
            seed=self.config.train_seed if phase == "training" else self.config.seed,
            phase=phase,
            step=self.at.groups,
            group=group,
            sibling=sibling,
            tasks=tasks,
            library=library,
            states={slot: op.state() for slot, op in self.operators.by_slot().items()},
            budget=Budget(units=self.config.budget_units),
            units_per_episode=self.config.units_per_episode,
            pool=self.pool,
            arm=arm or Arm(),
            updates=updates,
            verdicts_to_operators=shown,
        )

    def _outcomes(self, jobs: Sequence[ChainJob]) -> list[ChainOutcome]:
        """The outcomes of the jobs, those that a killed run had finished taken from its journal."""
        number = self.store.last_batch() + 1
        done = self.store.journalled(number)
        left = [self._afforded(job) for i, job in enumerate(jobs) if i not in done]
        fresh = self.workers.run(left)
        outcomes: list[ChainOutcome] = []
        for index, job in enumerate(jobs):
            if index in done:
                outcome = outcome_from_json(done[index], job)
            else:
                outcome = next(fresh)
                self.store.journal(number, index, outcome_to_json(outcome))
            outcomes.append(outcome)
            self.progressed(job.phase, len(outcome.rows))
        return outcomes

    def _afforded(self, job: ChainJob) -> ChainJob:
        """The job, or the same job without a unit to spend where the run's budget is used up.

        Reserved a batch ahead in stream order, so that worker count does not matter.
        """
        share = Budget(units=self.config.budget_units * len(job.tasks))
        if self.ledger.try_reserve(share, job.phase) is None:
            return replace(job, budget=Budget(units=0))
        return job

    def _absorb(
        self,
        chains: Sequence[Chain],
        jobs: Sequence[ChainJob],
        outcomes: Sequence[ChainOutcome],
        view: LibraryView,
        phase: Phase,
        meter: Meter,
    ) -> None:
        """Credit, learn and commit one batch, group by group in stream order."""
        rows: list[EpisodeRow] = []
        all_changes: list[Change] = []
        usage: dict[str, Usage] = {}
        library, first = view, 0
        for chain in chains:
            mine = outcomes[first : first + chain.siblings]
            starts = [LibraryView() if chain.start == "empty" else view] * len(mine)
            group = self._credited([o.result(s) for o, s in zip(mine, starts, strict=True)], phase)
            changes, made = self._after_group(group, library, phase, meter)
            library = apply_changes(library, changes)
            usage |= _added_usage(view, library, mine, usage)
            library = record_usage(library, usage)
            all_changes += changes
            rows += _credited_rows(mine, group, made)
            first += chain.siblings
            self.at.mean_rewards.append(_mean(group.rewards))
            self.at.flags = sorted({*self.at.flags, *(f for o in mine for f in o.flags)})
        if phase == "training":
            self.at.groups += len(chains)
        else:
            self.at.scenarios += len(chains)
        self._book(phase, meter)
        self._commit(all_changes, usage, rows)

    def _credited(self, chains: Sequence[ChainResult], phase: Phase) -> CreditedGroup:
        rewards = self.operators.reward.credit(chains)
        advantages = self.operators.reward.advantages(rewards)
        if phase == "training":
            flat = sum(not i for i in advantages.informative)
            self.at.counters["uninformative_groups"] += flat
        return CreditedGroup(
            tuple(chains),
            tuple(tuple(row) for row in rewards),
            advantages.values,
            advantages.informative,
        )

    def _after_group(
        self, group: CreditedGroup, library: LibraryView, phase: Phase, meter: Meter
    ) -> tuple[Sequence[Change], Sequence[Change]]:
        """What the group changes in the run's library, and which of it no episode's row shows."""
        tasks = [e.task for e in group.chains[0].episodes]
        ctx = self._context(phase, f"group-{len(self.at.mean_rewards)}", meter, tasks[0])
        if phase == "training":
            self.operators.retrieval.learn(group, ctx)
            if any(group.informative):
                self.at.counters["policy_updates"] += 1
        if phase == "test" and self.config.frozen:
            return (), ()
        try:
            changes = self.operators.update.after_group(group, library, ctx)
        except BudgetExceeded:
            return (), ()
        shown = {id(c) for chain in group.chains for c in chain.changes}
        return changes, [c for c in changes if id(c) not in shown]

    def _context(self, phase: Phase, name: str, meter: Meter, task: Task | None) -> HarnessContext:
        seed = self.config.train_seed if phase == "training" else self.config.seed
        ctx = HarnessContext(
            rng=derive(seed, phase, name),
            phase=phase,
            step=self.at.groups,
            arm=Arm(),
            pool=self.pool,
            _meter=meter,
            _open=lambda other: self.agent.session(other, meter),
            _probe=self._probe,
        )
        if task is not None:
            ctx.open(task)
        return ctx

    def _probe(self, tasks: Sequence[TaskRef], library: LibraryView) -> Sequence[Episode]:
        """Train tasks with a given library, each a chain of one; charged as probes."""
        episodes: list[Episode] = []
        for task in tasks:
            job = self._job(
                f"probe-{self.at.groups:04d}-{task.task}",
                "probes",
                (self._tasks[task.task],),
                tuple(library.skills.values()),
                updates=False,
                shown=True,
            )
            states = {slot: op.state() for slot, op in self.operators.by_slot().items()}
            outcome = run_chain(job, self.agent, self.operators, self.evaluators("probes"))
            for slot, operator in self.operators.by_slot().items():
                operator.restore(states[slot])
            episodes += outcome.episodes
            kinds = self.at.outside.setdefault("probes", Counter())
            for row in outcome.rows:
                kinds.update(row.units_by_kind)
        return episodes

    def _book(self, phase: Phase, meter: Meter) -> None:
        if meter.totals["units"]:
            self.at.outside.setdefault(phase, Counter()).update(meter.units_by_kind)
            self.ledger.charge(phase, meter.spending())

    def _commit(
        self, changes: Sequence[Change], usage: dict[str, Usage], rows: Sequence[EpisodeRow]
    ) -> None:
        numbered = []
        for row in rows:
            numbered.append(replace(row, index=self.at.indices[row.phase]))
            self.at.indices[row.phase] += 1
        self.at.rows += len(numbered)
        self.at.states = {slot: op.state() for slot, op in self.operators.by_slot().items()}
        self.run_dir.append(numbered)
        self.store.commit(self.store.last_batch() + 1, changes, usage, self.at.to_json())
        for row in numbered:
            self.notify(row)


def _mean(rewards: Sequence[Sequence[float | None]]) -> float:
    known = [r for row in rewards for r in row if r is not None]
    return round(sum(known) / len(known), 6) if known else 0.0


def _spending(row: EpisodeRow) -> Spending:
    return Spending(
        row.units_by_kind,
        {"units": row.units, "tokens": row.tokens, "model_calls": row.model_calls},
    )


def _added_usage(
    view: LibraryView,
    library: LibraryView,
    outcomes: Sequence[ChainOutcome],
    so_far: dict[str, Usage],
) -> dict[str, Usage]:
    """Usage records with what the siblings added to what stood when the batch began."""
    records: dict[str, Usage] = {}
    for outcome in outcomes:
        for skill_id, used in outcome.usage.items():
            if skill_id not in library.skills:
                continue
            old = view.skills[skill_id].usage if skill_id in view.skills else Usage()
            base = records.get(skill_id, so_far.get(skill_id, library.skills[skill_id].usage))
            helped = used.helped - old.helped
            records[skill_id] = Usage(
                retrieved=base.retrieved + used.retrieved - old.retrieved,
                called=base.called + used.called - old.called,
                helped=base.helped + helped,
                harmed=base.harmed + used.harmed - old.harmed,
                streak=used.streak if helped else base.streak + used.harmed - old.harmed,
            )
    return records


def _credited_rows(
    outcomes: Sequence[ChainOutcome], group: CreditedGroup, made: Sequence[Change]
) -> list[EpisodeRow]:
    """The siblings' rows with rewards and advantages; the last one tells the group's changes."""
    rows: list[EpisodeRow] = []
    for outcome, rewards, advantages in zip(outcomes, group.rewards, group.advantages, strict=True):
        for row, reward, advantage in zip(outcome.rows, rewards, advantages, strict=True):
            told = None if reward is None else round(reward, 6)
            rows.append(replace(row, reward=told, advantage=round(advantage, 6)))
    if made and rows:
        told_changes = (*rows[-1].changes, *(change_row(c) for c in made))
        rows[-1] = replace(rows[-1], changes=told_changes)
    return rows
