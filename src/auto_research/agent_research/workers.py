"""Run chains here or in worker processes; outcomes come back in the order of the jobs."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from typing import Protocol

from auto_research.agent_research.agents.base import Agent
from auto_research.agent_research.budget import Phase
from auto_research.agent_research.chain import ChainJob, ChainOutcome, run_chain
from auto_research.agent_research.method import Operators
from auto_research.benchmarks.base import Evaluator


@dataclass(frozen=True, slots=True)
class Workplace:
    """What a worker runs chains with: one sealed evaluator a phase."""

    agent: Agent
    operators: Operators
    evaluators: Mapping[Phase, Evaluator]

    def run(self, job: ChainJob) -> ChainOutcome:
        return run_chain(job, self.agent, self.operators, self.evaluators[job.phase])

    def close(self) -> None:
        self.agent.close()
        for evaluator in self.evaluators.values():
            evaluator.close()


Furnish = Callable[[], Workplace]  # picklable: each worker process furnishes its own workplace


class Workers(Protocol):
    """Runs jobs."""

    def run(self, jobs: Sequence[ChainJob]) -> Iterator[ChainOutcome]:
        """Outcomes in the order of `jobs`, each as soon as it and all before it are done."""

    def close(self) -> None:
        """End every process."""


class HereWorkers:
    """One worker: this process."""

    def __init__(self, furnish: Furnish) -> None:
        self._workplace = furnish()

    def run(self, jobs: Sequence[ChainJob]) -> Iterator[ChainOutcome]:
        return map(self._workplace.run, jobs)

    def close(self) -> None:
        self._workplace.close()


class ProcessWorkers:
    """Several worker processes, each with its own agent and sealed evaluator."""

    def __init__(self, furnish: Furnish, count: int) -> None:
        self._pool = ProcessPoolExecutor(
            count, mp_context=get_context("spawn"), initializer=_begin, initargs=(furnish,)
        )

    def run(self, jobs: Sequence[ChainJob]) -> Iterator[ChainOutcome]:
        return self._pool.map(_run, jobs)

    def close(self) -> None:
        self._pool.shutdown(wait=True, cancel_futures=True)


_here: list[Workplace] = []


def _begin(furnish: Furnish) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent stops the run and says so
    _here.append(furnish())


def _run(job: ChainJob) -> ChainOutcome:
    return _here[0].run(job)


def open_workers(furnish: Furnish, count: int) -> Workers:
    """Workers for `count` chains at once."""
    return HereWorkers(furnish) if count == 1 else ProcessWorkers(furnish, count)
