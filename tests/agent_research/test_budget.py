"""An episode's meter charges everything, and nothing past a cap."""

from __future__ import annotations

import pytest

from auto_research.agent_research.budget import TARIFF, Budget, Meter
from auto_research.errors import BudgetExceeded


def test_spending_is_itemised_by_kind_and_adds_up() -> None:
    meter = Meter(Budget())
    meter.spend("expand", 5)
    meter.spend("act")
    meter.spend("expand", 2)
    spending = meter.spending()
    assert spending.units_by_kind == {"act": TARIFF["act"], "expand": 7 * TARIFF["expand"]}
    assert spending.units == sum(spending.units_by_kind.values())


def test_a_charge_past_the_cap_is_refused_and_spends_nothing() -> None:
    meter = Meter(Budget(units=10))
    meter.spend("expand", 8)
    with pytest.raises(BudgetExceeded) as refused:
        meter.spend("act", 3)
    assert (refused.value.spent, refused.value.asked, refused.value.limit) == (8, 3, 10)
    assert meter.spending().units_by_kind == {"expand": 8}
    assert meter.left() == 2
    meter.spend("act", 2)
    assert meter.left() == 0


def test_failed_model_calls_are_charged_like_the_one_that_worked() -> None:
    meter = Meter(Budget(model_calls=3))
    for attempt in range(3):
        meter.count("model_calls")
        meter.count("tokens", 100)
        assert meter.spending().totals["model_calls"] == attempt + 1
    with pytest.raises(BudgetExceeded, match="model_calls: 3 spent, 1 more asked, limit 3"):
        meter.count("model_calls")
    assert meter.spending().totals == {"model_calls": 3, "tokens": 300}


def test_caps_are_separate_for_each_resource() -> None:
    meter = Meter(Budget(steps=1, tokens=50))
    meter.count("steps")
    meter.count("tokens", 50)
    meter.spend("act", 10_000)
    with pytest.raises(BudgetExceeded, match="steps"):
        meter.count("steps")
    with pytest.raises(BudgetExceeded, match="tokens"):
        meter.count("tokens")


def test_an_unknown_kind_has_no_price() -> None:
    with pytest.raises(KeyError):
        Meter(Budget()).spend("luck")
