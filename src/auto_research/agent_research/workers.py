"""Run chains here or in worker processes; outcomes come back in the order of the jobs."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from functools import partial
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Protocol

from auto_research.agent_research.agents.base import Agent, ManyAtOnce
from auto_research.agent_research.budget import Meter, Phase
from auto_research.agent_research.chain import (
    AttemptedChain,
    ChainJob,
    ChainOutcome,
    attempt_chain,
)
from auto_research.agent_research.interrupts import deaf_processes
from auto_research.agent_research.method import Operators
from auto_research.benchmarks.base import Evaluator, OpenWorld
from auto_research.errors import UserError

UnderWay = tuple[ChainJob, Sequence[Meter]]  # a chain and the meters of its episodes so far


class Workplace:
    """What one process runs chains with: agent, operators, a sealed evaluator a phase, worlds."""

    def __init__(
        self,
        agent: Agent,
        operators: Operators,
        evaluators: Callable[[], Mapping[Phase, Evaluator]],
        open_world: OpenWorld | None = None,
    ) -> None:
        self.agent, self.operators, self.open_world = agent, operators, open_world
        self.keep: Path | None = None  # the folder for what was done in the worlds of the test
        self._open_evaluators = evaluators
        self._evaluators = evaluators()
        self.under_way: list[UnderWay] = []  # the chains that have begun and not ended

    def run(self, jobs: Iterable[ChainJob]) -> Iterator[ChainOutcome]:
        """Outcomes in the order of `jobs`. The next chain runs while one's verdicts are out.

        An evaluator that died costs one chain's verdicts, not the next one's. Where the agent
        works on many chains at once, all of `jobs` run at once.
        """
        if isinstance(self.agent, ManyAtOnce):
            return self._run_together(self.agent, list(jobs))
        return self._run_in_turn(jobs)

    def _run_together(self, agent: ManyAtOnce, jobs: Sequence[ChainJob]) -> Iterator[ChainOutcome]:
        """Each chain has operators of its own, as operators may keep state."""
        begun = [(job, self._begin(job), self.operators.anew()) for job in jobs]
        for chain in agent.together.run([partial(self._attempt, *parts) for parts in begun]):
            yield self._ended(chain)

    def _run_in_turn(self, jobs: Iterable[ChainJob]) -> Iterator[ChainOutcome]:
        waiting: AttemptedChain | None = None
        for job in jobs:
            try:
                attempted = self._attempt(job, self._begin(job), self.operators)
            except BaseException:
                if waiting is not None:  # what is done is not lost with what is not
                    yield self._ended(waiting)
                raise
            if waiting is not None:
                yield self._ended(waiting)
            waiting = attempted
        if waiting is not None:
            yield self._ended(waiting)

    def _begin(self, job: ChainJob) -> list[Meter]:
        meters: list[Meter] = []
        self.under_way.append((job, meters))
        return meters

    def _attempt(self, job: ChainJob, meters: list[Meter], operators: Operators) -> AttemptedChain:
        evaluator = self._evaluators[job.phase]
        keep = self.keep if job.phase == "test" else None
        return attempt_chain(job, self.agent, operators, evaluator, meters, self.open_world, keep)

    def _ended(self, chain: AttemptedChain) -> ChainOutcome:
        if chain.evaluator is not self._evaluators[chain.job.phase]:
            chain.hand_in(self._evaluators[chain.job.phase])
        outcome = chain.outcome()
        self.under_way.pop(0)
        if any(row.success is None for row in outcome.rows):
            self._close_evaluators()
            self._evaluators = self._open_evaluators()
        return outcome

    def rest(self) -> None:
        """No chain will run here: what the judge would prepare for it would be done for nothing."""
        self._close_evaluators()

    def close(self) -> None:
        """Let go of every process; safe to call twice."""
        self.agent.close()
        self._close_evaluators()

    def _close_evaluators(self) -> None:
        for evaluator in self._evaluators.values():
            evaluator.close()


Furnish = Callable[[], Workplace]  # picklable: each worker process furnishes its own workplace


class Workers(Protocol):
    """Runs jobs."""

    def run(self, jobs: Sequence[ChainJob]) -> Iterator[ChainOutcome]:
        """Outcomes in the order of `jobs`, each as soon as it and all before it are done.

        Raises UserError if a worker process died.
        """

    def close(self) -> None:
        """End every process at once."""


class HereWorkers:
    """One worker: this process, at a workplace that its owner closes."""

    def __init__(self, workplace: Workplace) -> None:
        self._workplace = workplace

    def run(self, jobs: Sequence[ChainJob]) -> Iterator[ChainOutcome]:
        return self._workplace.run(jobs)

    def close(self) -> None:
        """Nothing was started."""


class ProcessWorkers:
    """Several worker processes, each with its own agent and sealed evaluator.

    All of them hold the far end of one leash, a pipe. When this process lets go of it, or is
    killed, they end at once, whatever they are doing.
    """

    def __init__(self, furnish: Furnish, count: int) -> None:
        context = get_context("spawn")
        far_end, self._leash = context.Pipe(duplex=False)
        self._pool = ProcessPoolExecutor(
            count, mp_context=context, initializer=_begin, initargs=(furnish, far_end)
        )

    def run(self, jobs: Sequence[ChainJob]) -> Iterator[ChainOutcome]:
        with deaf_processes():  # this process alone stops the run and says so
            outcomes = self._pool.map(_run, jobs)
        return self._told(outcomes)

    def _told(self, outcomes: Iterator[ChainOutcome]) -> Iterator[ChainOutcome]:
        try:
            yield from outcomes
        except BrokenProcessPool:
            raise UserError(
                "a worker process died",
                mend="the same command with --resume goes on from the last finished episodes",
            ) from None

    def close(self) -> None:
        self._leash.close()
        self._pool.shutdown(wait=True, cancel_futures=True)


_furnish: list[Furnish] = []
_here: list[Workplace] = []


def _begin(furnish: Furnish, leash: Connection) -> None:
    threading.Thread(target=_end_with, args=(leash,), daemon=True).start()
    _furnish.append(furnish)


def _run(job: ChainJob) -> ChainOutcome:
    if not _here:  # furnished here, not in `_begin`, so that an error reaches the run as it is
        _here.append(_furnish[0]())
    return next(_here[0].run([job]))


def _end_with(leash: Connection) -> None:
    leash.poll(None)
    os._exit(1)


def open_workers(here: Workplace, furnish: Furnish, count: int) -> Workers:
    """Workers for `count` chains at once; a single one works `here`. Raises UserError for several
    where the agent needs none.
    """
    if count > 1 and isinstance(here.agent, ManyAtOnce):
        raise UserError(
            f"agent {here.agent.name!r} works on all chains at once in one process",
            where=f"--workers {count}",
            mend="leave --workers at 1",
        )
    if count == 1:
        return HereWorkers(here)
    here.rest()
    return ProcessWorkers(furnish, count)
