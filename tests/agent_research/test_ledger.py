"""Caps on a run hold exactly, and what is served does not depend on how many workers ask."""

from __future__ import annotations

import pickle
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given
from hypothesis import strategies as st

from auto_research.agent_research.budget import Budget, Meter, Spending
from auto_research.agent_research.ledger import Reservation, RunLedger
from auto_research.errors import BudgetExceeded

ONE_CALL = Spending({}, {"model_calls": 1})


def units(amount: int, kind: str = "act") -> Spending:
    return Spending({kind: amount}, {"units": amount})


def test_eight_workers_and_a_budget_for_ten_calls_serve_exactly_ten() -> None:
    ledger, start = RunLedger(Budget(model_calls=10)), threading.Barrier(8)

    def worker() -> int:
        served = 0
        start.wait()
        while True:
            try:
                reservation = ledger.reserve(Budget(model_calls=1))
            except BudgetExceeded:
                return served
            ledger.settle(reservation, ONE_CALL)
            served += 1

    with ThreadPoolExecutor(8) as pool:
        served = [future.result() for future in [pool.submit(worker) for _ in range(8)]]
    assert sum(served) == 10
    assert ledger.spent().totals == {"model_calls": 10}


def served_in_order(cap: int, costs: list[int], workers: int) -> list[int]:
    """Which attempts run when up to `workers` are under way; the oldest settles first."""
    ledger, served = RunLedger(Budget(units=cap)), []
    under_way: list[tuple[Reservation, int]] = []

    def settle_oldest() -> None:
        reservation, cost = under_way.pop(0)
        ledger.settle(reservation, units(cost))

    for number, cost in enumerate(costs):
        try:
            while (reservation := ledger.try_reserve(Budget(units=10))) is None:
                settle_oldest()
        except BudgetExceeded:
            break
        served.append(number)
        under_way.append((reservation, cost))
        if len(under_way) == workers:
            settle_oldest()
    return served


@given(st.integers(0, 80), st.lists(st.integers(0, 10), max_size=20), st.integers(2, 8))
def test_the_number_of_workers_never_decides_what_is_served(
    cap: int, costs: list[int], workers: int
) -> None:
    assert served_in_order(cap, costs, workers) == served_in_order(cap, costs, 1)


def test_what_an_attempt_did_not_spend_comes_back() -> None:
    ledger = RunLedger(Budget(units=10))
    first = ledger.reserve(Budget(units=8))
    assert ledger.try_reserve(Budget(units=8)) is None
    ledger.settle(first, units(2))
    assert ledger.try_reserve(Budget(units=8)) is not None


def test_a_waiting_reservation_goes_on_when_another_settles() -> None:
    ledger = RunLedger(Budget(units=10))
    first = ledger.reserve(Budget(units=8))
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(ledger.reserve, Budget(units=8))
        ledger.settle(first, units(2))
        assert waiting.result().budget.units == 8


def test_an_attempt_without_its_own_cap_may_spend_all_that_is_left_of_the_runs() -> None:
    ledger = RunLedger(Budget(tokens=100))
    ledger.charge("training", Spending({}, {"tokens": 30}))
    reservation = ledger.reserve(Budget(units=5))
    assert reservation.budget == Budget(units=5, tokens=70)
    assert ledger.try_reserve(Budget()) is None
    ledger.settle(reservation, Spending({}, {"tokens": 70}))
    with pytest.raises(BudgetExceeded):
        ledger.reserve(Budget())


def test_a_reservation_travels_to_a_worker_and_bounds_its_meter() -> None:
    ledger = RunLedger(Budget(units=5))
    reservation = ledger.reserve(Budget())
    meter = Meter(pickle.loads(pickle.dumps(reservation)).budget)
    meter.spend("act", 5)
    with pytest.raises(BudgetExceeded):
        meter.spend("act")
    ledger.settle(reservation, meter.spending())
    assert ledger.spent().units == 5


def test_spending_is_itemised_by_phase_and_kind() -> None:
    ledger = RunLedger(Budget())
    ledger.settle(ledger.reserve(Budget(units=9), "training"), units(3, "expand"))
    ledger.settle(ledger.reserve(Budget(units=9), "test"), units(2, "act"))
    ledger.charge("probes", units(4, "act"))
    phases = ledger.by_phase()
    assert phases["training"] == units(3, "expand")
    assert phases["probes"] == units(4, "act")
    assert phases["test"] == units(2, "act")
    assert ledger.spent() == Spending({"act": 6, "expand": 3}, {"units": 9})


def test_an_abandoned_attempt_is_counted_apart_and_leaves_its_retry_all_the_room() -> None:
    ledger = RunLedger(Budget(units=10))
    ledger.abandon(ledger.reserve(Budget(units=10)), units(7))
    ledger.settle(ledger.reserve(Budget(units=10)), units(9))
    assert ledger.spent().units == 9
    assert ledger.abandoned() == {"units": 7}


def test_a_resumed_ledger_goes_on_where_the_rows_ended() -> None:
    whole, resumed = RunLedger(Budget(units=20)), RunLedger(Budget(units=20))
    for cost in (4, 5):
        whole.settle(whole.reserve(Budget(units=6)), units(cost))
        resumed.charge("test", units(cost))
    for ledger in (whole, resumed):
        ledger.settle(ledger.reserve(Budget(units=6)), units(6))
        with pytest.raises(BudgetExceeded):
            ledger.reserve(Budget(units=6))
    assert whole.by_phase() == resumed.by_phase()


def test_a_charge_that_does_not_fit_books_nothing() -> None:
    ledger = RunLedger(Budget(units=10))
    ledger.reserve(Budget(units=8))
    with pytest.raises(BudgetExceeded):
        ledger.charge("probes", units(3))
    assert ledger.spent().units == 0


def test_settling_twice_or_beyond_the_reservation_is_a_bug_that_shows() -> None:
    ledger = RunLedger(Budget(units=10))
    reservation = ledger.reserve(Budget(units=5))
    with pytest.raises(ValueError, match="spent 6, reserved 5"):
        ledger.settle(reservation, units(6))
    ledger.settle(reservation, units(5))
    with pytest.raises(ValueError, match="not open"):
        ledger.settle(reservation, units(5))
    assert ledger.spent().units == 5
