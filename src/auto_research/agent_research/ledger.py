"""The run's ledger: caps on a whole run that hold exactly, however many workers spend.

Only the main process owns it. A worker gets a `Reservation`, whose budget its meter keeps to, and
what it did not spend comes back on `settle`. Reservations are asked for in stream order; one that
may yet fit waits for those before it, so the number of workers never decides what is served.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace

from auto_research.agent_research.budget import PHASES, Budget, Phase, Spending
from auto_research.errors import BudgetExceeded


@dataclass(frozen=True, slots=True)
class Reservation:
    """What one attempt may spend; plain data, so that it can travel to a worker."""

    number: int
    phase: Phase
    budget: Budget


class RunLedger:
    """Reserve before, settle after; safe to share between threads."""

    def __init__(self, budget: Budget) -> None:
        self.budget = budget
        self._caps = budget.caps()
        self._open: dict[int, Reservation] = {}
        self._next = 0
        self._totals: dict[Phase, Counter[str]] = {phase: Counter() for phase in PHASES}
        self._kinds: dict[Phase, Counter[str]] = {phase: Counter() for phase in PHASES}
        self._abandoned: Counter[str] = Counter()
        self._settled = threading.Condition()

    def reserve(self, budget: Budget, phase: Phase = "test") -> Reservation:
        """Set `budget` aside, waiting while attempts under way could still leave room for it.

        Raises BudgetExceeded once it cannot fit whatever they give back.
        """
        with self._settled:
            while (granted := self._try(budget, phase)) is None:
                self._settled.wait()
            return granted

    def try_reserve(self, budget: Budget, phase: Phase = "test") -> Reservation | None:
        """As `reserve`, but None instead of waiting: settle something, then ask again."""
        with self._settled:
            return self._try(budget, phase)

    def settle(self, reservation: Reservation, spending: Spending) -> None:
        """Book what a finished attempt spent and free the rest of its reservation.

        Raises ValueError if it is not open (settled before) or if more was spent than reserved.
        """
        with self._settled:
            self._check(reservation, spending)
            self._close(reservation)
            self._book(reservation.phase, spending)

    def abandon(self, reservation: Reservation, spending: Spending) -> None:
        """Free the reservation of a killed or failed attempt that will be made again.

        Its spending is kept apart, not held against the caps: a kill must not change what an
        otherwise equal run may still do. Raises ValueError as `settle` does.
        """
        with self._settled:
            self._check(reservation, spending)
            self._close(reservation)
            self._abandoned.update(spending.totals)

    def charge(self, phase: Phase, spending: Spending) -> None:
        """Book spending outside any attempt, or that of the rows of a resumed run.

        Raises BudgetExceeded, and books nothing, if it does not fit beside what is reserved.
        """
        with self._settled:
            for resource, cap in self._caps.items():
                amount, taken = spending.totals.get(resource, 0), self._taken(resource)
                if taken + amount > cap:
                    raise BudgetExceeded(resource, amount, taken, cap)
            self._book(phase, spending)

    def spent(self) -> Spending:
        """Everything booked so far, all phases together."""
        with self._settled:
            return Spending(_sum(self._kinds), _sum(self._totals))

    def by_phase(self) -> dict[Phase, Spending]:
        """Everything booked so far, itemised by phase and kind."""
        with self._settled:
            return {
                phase: Spending(_sorted(self._kinds[phase]), _sorted(self._totals[phase]))
                for phase in PHASES
            }

    def abandoned(self) -> Mapping[str, int]:
        """Totals by resource of the attempts that were abandoned."""
        with self._settled:
            return _sorted(self._abandoned)

    def _try(self, budget: Budget, phase: Phase) -> Reservation | None:
        wanted, wait = budget.caps(), False
        for resource, cap in self._caps.items():
            booked = sum(totals[resource] for totals in self._totals.values())
            # An attempt without a cap of its own may spend all that is left.
            asked = wanted.setdefault(resource, max(1, cap - booked))
            if booked + asked > cap:
                raise BudgetExceeded(resource, asked, booked, cap)
            wait = wait or self._taken(resource) + asked > cap
        if wait:
            return None
        self._next += 1
        granted = Reservation(self._next, phase, replace(budget, **wanted))
        self._open[granted.number] = granted
        return granted

    def _taken(self, resource: str) -> int:
        """Booked and reserved."""
        booked = sum(totals[resource] for totals in self._totals.values())
        return booked + sum(r.budget.caps().get(resource, 0) for r in self._open.values())

    def _check(self, reservation: Reservation, spending: Spending) -> None:
        if self._open.get(reservation.number) != reservation:
            raise ValueError(f"reservation {reservation.number} is not open")
        for resource, cap in reservation.budget.caps().items():
            if spending.totals.get(resource, 0) > cap:
                raise ValueError(f"{resource}: spent {spending.totals[resource]}, reserved {cap}")

    def _close(self, reservation: Reservation) -> None:
        del self._open[reservation.number]
        self._settled.notify_all()

    def _book(self, phase: Phase, spending: Spending) -> None:
        self._totals[phase].update(spending.totals)
        self._kinds[phase].update(spending.units_by_kind)


def _sum(by_phase: Mapping[Phase, Counter[str]]) -> dict[str, int]:
    total: Counter[str] = Counter()
    for counter in by_phase.values():
        total.update(counter)
    return _sorted(total)


def _sorted(counter: Counter[str]) -> dict[str, int]:
    return dict(sorted(counter.items()))
