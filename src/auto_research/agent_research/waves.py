"""Run a batch's chains within the run's budget, keeping each finished one safe from a kill.

A wave is as many chains, in stream order, as the run can certainly pay for. What a wave gives
back decides the next one, so the number of workers never decides which chain is served.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from auto_research.agent_research.absorb import spending_of
from auto_research.agent_research.budget import Budget
from auto_research.agent_research.chain import ChainJob, ChainOutcome
from auto_research.agent_research.chain_codec import outcome_from_json, outcome_to_json
from auto_research.agent_research.codec import dumps, loads
from auto_research.agent_research.ledger import Reservation, RunLedger
from auto_research.agent_research.store import SkillStore
from auto_research.agent_research.workers import Workers
from auto_research.errors import BudgetExceeded

Reserved = tuple[ChainJob, Reservation]


def run_in_waves(
    jobs: Sequence[ChainJob],
    workers: Workers,
    ledger: RunLedger,
    store: SkillStore,
    finished: Callable[[ChainOutcome], None],
) -> list[ChainOutcome]:
    """The outcomes of the next batch's jobs; what a killed run had finished is not run again."""
    batch = store.last_batch() + 1
    kept = store.journalled(batch)
    outcomes: list[ChainOutcome] = []
    while len(outcomes) < len(jobs):
        first = len(outcomes)
        wave = _next_wave(jobs[first:], ledger)
        fresh = workers.run([job for i, (job, _) in enumerate(wave, first) if i not in kept])
        for index, (job, reservation) in enumerate(wave, first):
            if index not in kept:
                # Through text, so that what follows is the same as after a kill.
                kept[index] = loads(dumps(outcome_to_json(next(fresh))))
                store.journal(batch, index, kept[index])
            outcome = outcome_from_json(kept[index], job)
            ledger.settle(reservation, spending_of(outcome.rows))
            outcomes.append(outcome)
            finished(outcome)
    return outcomes


def units_left(ledger: RunLedger) -> int | None:
    """What the run may still spend while nothing is reserved; None without a cap."""
    cap = ledger.budget.units
    return None if cap is None else cap - ledger.spent().units


def _next_wave(jobs: Sequence[ChainJob], ledger: RunLedger) -> list[Reserved]:
    wave: list[Reserved] = []
    for job in jobs:
        reservation = _reserved(job, ledger)
        if reservation is None:
            return wave or [_with_the_rest(job, ledger)]
        wave.append((job, reservation))
    return wave


def _reserved(job: ChainJob, ledger: RunLedger) -> Reservation | None:
    """Room for all that the job may spend; None if there is none (yet)."""
    share = Budget(units=(job.budget.units or 0) * len(job.tasks))
    try:
        return ledger.try_reserve(share, job.phase)
    except BudgetExceeded:
        return None


def _with_the_rest(job: ChainJob, ledger: RunLedger) -> Reserved:
    """The job on an equal part of the rest for each of its tasks; it may be nothing."""
    part = (units_left(ledger) or 0) // len(job.tasks)
    starved = replace(job, budget=replace(job.budget, units=part))
    return starved, ledger.reserve(Budget(units=part * len(job.tasks)), job.phase)
