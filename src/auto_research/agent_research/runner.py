"""Run a method on a benchmark: train, then the test stream; every batch is committed whole.

A batch is a fixed number of groups (training) or scenarios (test). Its chains start from the
library and operator states of the last commit and may run anywhere, in any order; credit,
learning and the commit happen here, in stream order. So neither worker count nor a kill changes
a byte of the result.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice

from auto_research.agent_research.absorb import adopt, credited_rows, mean_reward, spending_of
from auto_research.agent_research.agents.base import Agent, ManyAtOnce
from auto_research.agent_research.between import Between
from auto_research.agent_research.budget import Budget, Phase, Spending
from auto_research.agent_research.chain import ChainJob, ChainOutcome, changed_usage
from auto_research.agent_research.checkpoint import Checkpoint, states_of
from auto_research.agent_research.config import RunConfig
from auto_research.agent_research.groups import (
    credited,
    frozen_jobs,
    joined,
    start,
    test_jobs,
    training_jobs,
)
from auto_research.agent_research.interrupts import interrupts_put_off
from auto_research.agent_research.learner import Learner
from auto_research.agent_research.ledger import RunLedger
from auto_research.agent_research.library import Change, LibraryView
from auto_research.agent_research.method import Operators
from auto_research.agent_research.operators import Chain, ChainResult, CreditedGroup
from auto_research.agent_research.rows import EpisodeRow
from auto_research.agent_research.run import RunDir
from auto_research.agent_research.skill import Usage
from auto_research.agent_research.store import SkillStore
from auto_research.agent_research.waves import run_in_waves
from auto_research.agent_research.workers import UnderWay, Workers
from auto_research.benchmarks.base import Json, Scenario

TEST_BATCH = 8  # scenarios whose library changes are committed together, unless the agent says
FROZEN_BATCH = 64  # of a test that changes none, so that workers seldom wait for one another

Progressed = Callable[[Phase, int], None]  # phase, episodes finished in it


@dataclass
class Runner:
    """One run in progress. `notify` gets each committed row, `progressed` each finished count.

    `agent` serves the operators between episodes; the episodes themselves run at the workers.
    `learner`, where there is one, trains the model of the agent at the workers.
    """

    config: RunConfig
    operators: Operators
    agent: Agent
    workers: Workers
    store: SkillStore
    run_dir: RunDir
    train: Sequence[Scenario]
    test: Sequence[Scenario]
    progressed: Progressed = lambda phase, count: None
    notify: Callable[[EpisodeRow], None] = lambda row: None
    learner: Learner | None = None

    def __post_init__(self) -> None:
        self.at = Checkpoint.from_json(self.store.state())
        self._ledger = RunLedger(Budget(units=self.config.run_units))
        self._since = time.monotonic()
        agent: object = self.agent
        self._test_batch = FROZEN_BATCH if self.config.frozen else TEST_BATCH
        if isinstance(agent, ManyAtOnce):
            self._test_batch = agent.test_batch
        self._between = Between(
            self.config,
            self.operators,
            self.agent,
            self.workers,
            self._ledger,
            self.at,
            self.train,
            self._finished,
        )
        self._take_up()

    def run(self) -> Checkpoint:
        """Train, then test, from wherever the last commit left off."""
        self.train_only()
        if self.learner is not None:
            self.learner.finish()
        while self.at.scenarios < len(self.test):
            self._test_step()
        return self.at

    def train_only(self) -> Checkpoint:
        """Train to the end, from wherever the last commit left off."""
        while not self.at.trained:
            self._training_step()
        return self.at

    def lost(self, under_way: Sequence[UnderWay], why: str) -> Iterator[Mapping[str, Json]]:
        """What a run that breaks off here has spent on work to be done again, for attempts.jsonl.

        That is the operators' work since the last commit and the chains `under_way`.
        Finished chains are not among it: a resumed run takes them from the crash journal.
        """
        lost = [*self._between.uncommitted()]
        for job, meters in under_way:
            lost += [
                (f"{job.name}-{position}", job.phase, meter.spending())
                for position, meter in enumerate(meters, start=job.first)
            ]
        for name, phase, spending in lost:
            yield {
                "attempt": name,
                "phase": phase,
                "why": why,
                "units_by_kind": spending.units_by_kind,
                "totals": spending.totals,
            }

    def _take_up(self) -> None:
        """Books what earlier processes did of this run, and puts the operators where they were."""
        self.run_dir.truncate_rows(self.at.rows)
        for row in self.run_dir.rows():
            self._ledger.charge(row.phase, spending_of([row]))
            self.progressed(row.phase, 1)
        for phase, kinds in self.at.outside.items():
            self._ledger.charge(phase, Spending(kinds, {"units": kinds.total()}))
        for slot, operator in self.operators.by_slot().items():
            if slot in self.at.states:
                operator.restore(self.at.states[slot])
        if self.learner is not None:
            self.learner.restore(self.store.last_batch())

    def _training_step(self) -> None:
        chains = self._next_chains()
        if not chains:
            self.at.trained = True
            self._commit(self._between.probed, (), {})
            return
        view, template = self.store.view(), self._between.template("training")
        jobs = training_jobs(chains, view, template, self.at.groups)
        self._batch(chains, jobs, view, "training")

    def _next_chains(self) -> list[Chain]:
        """The next batch: what the rollout asks for, and more until a learner has enough."""
        chains = list(more := self._between.next_chains())
        while more and self.learner is not None and len(chains) < self.learner.groups:
            chains += (more := self._between.next_chains(ahead=len(chains)))
        return chains

    def _test_step(self) -> None:
        view, template = self.store.view(), self._between.template("test")
        batch = self.test[self.at.scenarios : self.at.scenarios + self._test_batch]
        shown = self.config.test_feedback == "verdict"
        whole = test_jobs(batch, view, template, self.at.scenarios, verdicts=shown)
        jobs = list(frozen_jobs(whole) if self.config.frozen else whole)
        self._batch([Chain(s.id, s.tasks, 1, "carry") for s in batch], jobs, view, "test")

    def _batch(
        self, chains: Sequence[Chain], jobs: Sequence[ChainJob], view: LibraryView, phase: Phase
    ) -> None:
        """Run one batch; then credit, learn and change the library, group by group; commit."""
        ran = run_in_waves(jobs, self.workers, self._ledger, self.store, self._finished)
        frozen = phase == "test" and self.config.frozen
        outcomes = joined(ran, chains, view) if frozen else iter(ran)
        groups = list[CreditedGroup]()
        rows, changes, library = list(self._between.probed), list[Change](), view
        done = self.at.groups if phase == "training" else self.at.scenarios
        for number, chain in enumerate(chains, start=done):
            mine = list(islice(outcomes, chain.siblings))
            group = self._credited([o.result(start(chain, view)) for o in mine], phase)
            groups.append(group)
            if frozen:
                rows += credited_rows(mine, group, ())
                continue
            probed = len(self._between.probed)
            made, group_rows = self._between.after_group(
                f"group-{number}", mine, group, library, phase
            )
            library = adopt(library, made, mine)
            changes += made
            rows += group_rows + self._between.probed[probed:]
        if phase == "training":
            self.at.groups += len(chains)
            if self.learner is not None:
                now = self._between.template("test")
                now = replace(now, library=tuple(library.skills.values()))
                self.at.trained = not self.learner.learn(groups, ran, now)
        else:
            self.at.scenarios += len(chains)
        self._commit(rows, changes, changed_usage(view, library))

    def _credited(self, chains: Sequence[ChainResult], phase: Phase) -> CreditedGroup:
        group = credited(self.operators.reward, chains)
        if phase == "training":
            self.at.counters["uninformative_groups"] += not any(group.informative)
            self.at.mean_rewards.append(mean_reward(group))
        return group

    def _finished(self, outcome: ChainOutcome) -> None:
        self.at.flags |= set(outcome.flags)
        self.progressed(outcome.rows[0].phase, len(outcome.rows))

    def _commit(
        self, rows: Sequence[EpisodeRow], changes: Sequence[Change], usage: Mapping[str, Usage]
    ) -> None:
        numbered: list[EpisodeRow] = []
        for row in rows:
            numbered.append(replace(row, index=self.at.indices[row.phase]))
            self.at.indices[row.phase] += 1
        self.at.states = states_of(self.operators)
        with interrupts_put_off():  # or an observer would never hear of the rows
            if self.learner is not None:
                self.learner.save(self.store.last_batch() + 1)
            self.run_dir.append(numbered)
            self.store.commit(self.store.last_batch() + 1, changes, usage, self.at.to_json())
            self._between.committed()
            for row in numbered:
                self.notify(row)
        now = time.monotonic()
        self.run_dir.append_timing([{"rows": self.at.rows, "seconds": round(now - self._since, 3)}])
        self._since = now
