"""How much a training phase will run, asked of the rollout itself before anything is spent."""

from __future__ import annotations

from collections.abc import Sequence

from auto_research.agent_research.agents.base import Session
from auto_research.agent_research.budget import Budget, Meter
from auto_research.agent_research.config import RunConfig
from auto_research.agent_research.context import HarnessContext
from auto_research.agent_research.operators import Arm, Progress, Rollout, TaskRef
from auto_research.benchmarks.base import Scenario
from auto_research.errors import AutoResearchError, UserError
from auto_research.rng import derive

_GROUPS_AT_MOST = 10_000  # a rollout that ends on its rewards alone would plan for ever


def planned_training(rollout: Rollout, train: Sequence[Scenario], config: RunConfig) -> int:
    """Training episodes, if every group earned 0; a fresh `rollout` is needed, and used up."""
    episodes = groups = 0
    while groups < _GROUPS_AT_MOST:
        ctx = HarnessContext(
            rng=derive(config.train_seed, "training", f"rollout-{groups}"),
            phase="training",
            step=groups,
            arm=Arm(),
            pool=tuple(TaskRef(s.id, t.id) for s in train for t in s.tasks),
            home=None,
            _meter=Meter(Budget(units=config.budget_units)),
            _open=_closed,
        )
        progress = Progress(groups, config.train_scenarios, (0.0,) * groups)
        try:
            chains = rollout.next(train, progress, ctx)
        except AutoResearchError:  # out of units, or it wants to probe: it plans no further
            break
        if not chains:
            break
        groups += len(chains)
        episodes += sum(chain.siblings * len(chain.tasks) for chain in chains)
    return episodes


def _closed(task: object) -> Session:
    raise UserError("nothing is run while a run is only planned")
