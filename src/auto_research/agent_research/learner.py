"""What trains the agent's own model while a run trains: a step a batch, committed with the run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from auto_research.agent_research.chain import ChainJob, ChainOutcome
from auto_research.agent_research.operators import CreditedGroup


class Learner(Protocol):
    """Learns from the groups of each training batch, which has at least `groups` of them."""

    groups: int

    def learn(
        self, groups: Sequence[CreditedGroup], outcomes: Sequence[ChainOutcome], now: ChainJob
    ) -> bool:
        """Take one step from a batch, given its groups and the chains they are made of, in order.

        `now` is a test job of this moment, with library and states but no tasks, for a learner
        that measures how far it is. False ends the training phase.
        """

    def save(self, batch: int) -> None:
        """Make durable what goes with the commit of `batch`, which comes next and may fail."""

    def restore(self, batch: int) -> None:
        """Go back to what was saved for `batch`, the last one committed (-1: to the start)."""

    def finish(self) -> None:
        """The training phase is over: from here on the agent acts with what was learned."""
