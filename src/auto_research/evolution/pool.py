"""Worker processes for whole evaluations: kept alive between them, ended when they take too long.

Unlike the chains of one run, an evaluation may never end, so each worker is a process of its own
that can be killed. All of them hold the far end of one leash: when this process lets go of it, or
is killed, they end at once, and their children with them.
"""

from __future__ import annotations

import os
import threading
import time
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from multiprocessing import connection, get_context
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess

from auto_research.agent_research.interrupts import deaf_processes
from auto_research.errors import UserError
from auto_research.evolution.trial import Bench, Job, Outcome, TrialEvaluator

GRACE = 10.0  # seconds for an idle worker to close what it holds
WALL_TIME = "wall-time"  # flags: what a clock, or another process, decided
WORKER_DIED = "worker-died"
RESUME = "the same command with --resume goes on from there"


@dataclass(slots=True)
class _Worker:
    process: BaseProcess
    line: Connection
    number: int | None = None  # of the job it is at
    began: float = 0.0
    serves: bool = False  # it has come as far as taking jobs


class Pool:
    """`count` workers at most, started as they are needed."""

    def __init__(self, bench: Bench, count: int) -> None:
        self._bench, self._count = bench, count
        self._context = get_context("spawn")
        self._far_end, self._leash = self._context.Pipe(duplex=False)
        self._workers: list[_Worker] = []

    def run(self, jobs: Sequence[Job], seconds: float) -> Iterator[tuple[Outcome, float]]:
        """What each job came to and how long it took, in the order of `jobs`.

        A job that takes longer than `seconds`, or whose process dies, has failed; which a flag
        says, since such an end may differ from run to run. Raises what no method is to blame for.
        """
        waiting = deque(range(len(jobs)))
        done: dict[int, tuple[Outcome, float]] = {}
        for number in range(len(jobs)):
            while number not in done:
                self._hand_out(waiting, jobs)
                self._take_in(done, seconds)
            yield done.pop(number)

    def close(self) -> None:
        """End every process: idle workers close what they hold, busy ones are killed.

        Safe to call twice.
        """
        for worker in self._workers:
            if worker.number is not None:
                worker.process.kill()
            worker.line.close()
        until = time.monotonic() + GRACE
        for worker in self._workers:
            worker.process.join(max(0.0, until - time.monotonic()))
            if worker.process.is_alive():
                worker.process.kill()
                worker.process.join()
        self._workers = []
        self._leash.close()
        self._far_end.close()

    def _hand_out(self, waiting: deque[int], jobs: Sequence[Job]) -> None:
        while waiting:
            idle = next((worker for worker in self._workers if worker.number is None), None)
            if idle is None and len(self._workers) == self._count:
                return
            # Its children may still hold its line, so a line that takes a job proves nothing.
            if idle is not None and not idle.process.is_alive():
                self._let_go(idle)
                continue
            worker = idle or self._started()
            try:
                worker.line.send(jobs[waiting[0]])
            except OSError:  # it was killed while it had no job
                self._let_go(worker)
                continue
            worker.number, worker.began = waiting.popleft(), time.monotonic()

    def _take_in(self, done: dict[int, tuple[Outcome, float]], seconds: float) -> None:
        """Wait for one worker to answer, die, or run out of time."""
        busy = [worker for worker in self._workers if worker.number is not None]
        soonest = min(worker.began for worker in busy) + seconds
        ready = connection.wait(
            [worker.line for worker in busy], max(0.0, soonest - time.monotonic())
        )
        for worker in busy:
            assert worker.number is not None
            late = time.monotonic() - worker.began > seconds
            if worker.line not in ready and not late:
                continue
            if worker.line in ready:
                outcome = self._answer(worker)
                if outcome is None:
                    continue
            else:
                told = f"took longer than {seconds:g} s"
                outcome = self._dismissed(worker, told, WALL_TIME)
            done[worker.number] = outcome, time.monotonic() - worker.began
            worker.number = None

    def _answer(self, worker: _Worker) -> Outcome | None:
        """What a worker says of its job; None if it says that it takes jobs."""
        try:
            answer = worker.line.recv()
        except (EOFError, OSError):
            if not worker.serves:  # so it never saw the job
                raise UserError("a worker process died at its start", mend=RESUME) from None
            return self._dismissed(worker, "its process died", WORKER_DIED)
        if answer is None:
            worker.serves = True
            return None
        if isinstance(answer, Outcome):
            return answer
        # What stopped it often says itself how the search is gone on with.
        raise UserError(
            f"a worker cannot go on: {answer}", mend="" if "--resume" in answer else RESUME
        )

    def _dismissed(self, worker: _Worker, reason: str, flag: str) -> Outcome:
        self._let_go(worker)
        return Outcome(reason, flags=(flag,))

    def _let_go(self, worker: _Worker) -> None:
        worker.process.kill()
        worker.process.join()
        worker.line.close()
        self._workers.remove(worker)

    def _started(self) -> _Worker:
        here, there = self._context.Pipe()
        process = self._context.Process(
            target=_serve, args=(self._bench, there, self._far_end), daemon=True
        )
        with deaf_processes():  # this process alone hears Ctrl-C, and says so
            process.start()
        there.close()
        self._workers.append(_Worker(process, here))
        return self._workers[-1]


def _serve(bench: Bench, line: Connection, leash: Connection) -> None:
    threading.Thread(target=_end_with, args=(leash,), daemon=True).start()
    os.dup2(2, 1)  # what an operator prints is no result of the command
    evaluate: TrialEvaluator | None = None
    line.send(None)
    while True:
        try:
            job = line.recv()
        except (EOFError, OSError):
            break
        try:
            evaluate = evaluate or bench()  # here, since no method is to blame if it fails
            answer: Outcome | str = evaluate(job)
        except Exception as error:
            answer = str(error) or type(error).__name__
        line.send(answer)
    if evaluate is not None:
        evaluate.close()


def _end_with(leash: Connection) -> None:
    leash.poll(None)
    os._exit(1)
