"""The ledger: what an episode may spend, what it spent, on what. Reserve before, settle after."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from auto_research.errors import BudgetExceeded

Phase = Literal["training", "probes", "test"]
PHASES: tuple[Phase, ...] = ("training", "probes", "test")

# The tariff: what one of each costs, in units. Hashed into every run; see docs/concepts/budget.md.
TARIFF: Mapping[str, int] = {
    "ground": 1,  # an action instantiated for a search
    "expand": 1,  # a state expanded by a search
    "act": 1,  # an action simulated (planning, answering, or cutting a plan down)
    "match": 1,  # a binding of a rule's variables considered
    "rule": 1,  # a rule tried
    "bind": 1,  # an action schema held against another domain's
    "retrieve": 1,  # a skill considered for retrieval
    "load": 1,  # a skill loaded into the sandbox
    "write": 1,  # a rule written into a skill
    "step": 10,  # a turn in a world: a piece of code handed to it, or a reply without any
    "api-call": 1,  # a call of an app's API in a world
    "generate": 1,  # a word that the agent `micro` writes
}


@dataclass(frozen=True, slots=True)
class Budget:
    """Caps on one episode or one run; None means no cap."""

    units: int | None = None
    steps: int | None = None
    tokens: int | None = None
    model_calls: int | None = None

    def caps(self) -> dict[str, int]:
        """The caps that are set, by resource."""
        pairs = {
            "units": self.units,
            "steps": self.steps,
            "tokens": self.tokens,
            "model_calls": self.model_calls,
        }
        return {name: cap for name, cap in pairs.items() if cap is not None}


@dataclass(slots=True)
class Meter:
    """The spending of one episode. `spend` is refused, and nothing spent, past a cap.

    `stream` names the episode in its run and the run's seed: whatever an agent draws by chance
    for it, it draws from there.
    """

    budget: Budget
    units_by_kind: Counter[str] = field(default_factory=Counter)
    totals: Counter[str] = field(default_factory=Counter)  # resources; generated: of the tokens
    stream: str = ""

    def spend(self, kind: str, amount: int = 1) -> None:
        """Charge `amount` of `kind` at the tariff. Raises BudgetExceeded."""
        units = TARIFF[kind] * amount
        cap = self.budget.units
        if cap is not None and self.totals["units"] + units > cap:
            raise BudgetExceeded("units", units, self.totals["units"], cap)
        self.totals["units"] += units
        self.units_by_kind[kind] += units

    def count(self, resource: Literal["steps", "tokens", "model_calls"], amount: int = 1) -> None:
        """Charge a resource that is not counted in units. Raises BudgetExceeded."""
        cap = self.budget.caps().get(resource)
        if cap is not None and self.totals[resource] + amount > cap:
            raise BudgetExceeded(resource, amount, self.totals[resource], cap)
        self.totals[resource] += amount

    def left(self) -> int:
        """Units left; a very large number when there is no cap."""
        return 10**12 if self.budget.units is None else self.budget.units - self.totals["units"]

    def spending(self) -> Spending:
        """What was spent so far, as a plain value."""
        return Spending(dict(sorted(self.units_by_kind.items())), dict(sorted(self.totals.items())))


@dataclass(frozen=True, slots=True)
class Spending:
    """A settled amount: units by kind, and totals by resource."""

    units_by_kind: Mapping[str, int] = field(default_factory=dict)
    totals: Mapping[str, int] = field(default_factory=dict)

    @property
    def units(self) -> int:
        return self.totals.get("units", 0)
