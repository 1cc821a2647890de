"""One chain on a node, in a thread of its own: the harness's, over the engine's tokens.

Whatever happens, something comes of it: a chain that an error ends has failed episodes.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from auto_research.agent_research.budget import Meter
from auto_research.agent_research.chain import (
    ChainJob,
    ChainOutcome,
    attempt_chain,
)
from auto_research.agent_research.episode import cost_of
from auto_research.agent_research.method import Operators
from auto_research.agent_research.operators import Choice, Episode
from auto_research.agent_research.rows import EpisodeRow
from auto_research.benchmarks.base import OpenWorld, Task
from auto_research_openrlhf.executor.judges import Stream
from auto_research_openrlhf.executor.talk import Talk, TalkAgent, TalkClient
from auto_research_openrlhf.executor.worlds import BROKE

log = logging.getLogger(__name__)

# A world's flags that tell of a fault: code in it had to be stopped, or it broke off.
_TOLD = {"safety-net": "clock", BROKE: "world"}


@dataclass(frozen=True, slots=True)
class Fault:
    """Something that went wrong, not necessarily by the policy's doing."""

    kind: str
    episode: str
    what: str


@dataclass(frozen=True)
class RunChain:
    """A chain that has been run. `talks` has one entry a task; so has `outcome`, always."""

    job: ChainJob
    outcome: ChainOutcome
    talks: Sequence[Talk]
    faults: Sequence[Fault]

    def counts(self, position: int) -> bool:
        """Whether the episode says anything of the policy: it acted, and nothing else broke off."""
        row = self.outcome.rows[position]
        return bool(self.talks[position].ranges) and not row.error and row.success is not None


def run_chain(
    job: ChainJob,
    agent: TalkAgent,
    client: TalkClient,
    operators: Operators,
    stream: Stream,
    open_world: OpenWorld | None,
) -> RunChain:
    """Attempt the chain and wait for its verdicts. Raises nothing but what ends the process."""
    meters: list[Meter] = []
    names = [f"{job.name}-{position}" for position in range(len(job.tasks))]
    faults: list[Fault] = []
    try:
        attempted = attempt_chain(job, agent, operators, stream.judge(), meters, open_world)
        for name, result in zip(names, attempted.results, strict=True):
            faults += [Fault(_TOLD[f], name, "see its row") for f in _TOLD.keys() & {*result.flags}]
        outcome = stream.outcome(attempted)
        faults += [Fault("error", r.episode, r.error) for r in outcome.rows if r.error]
    except Exception as error:
        log.exception("the chain %s broke off", job.name)
        outcome = broken(job, meters, f"{type(error).__name__}: {error}")
        faults.append(Fault("chain", job.name, outcome.rows[-1].error))
    finally:
        agent.close()
    talks = [client.talks.get(f"{job.seed}/{name}", Talk()) for name in names]
    for name, talk in zip(names, talks, strict=True):
        if not talk.ranges:
            why = "the prompt is too long" if talk.refused else "the model said nothing"
            faults.append(Fault("no-action", name, why))
    return RunChain(job, outcome, talks, faults)


def broken(job: ChainJob, meters: Sequence[Meter], why: str) -> ChainOutcome:
    """A chain that an error ended: every task failed, what was spent is charged."""
    known: Mapping[int, Meter] = dict(enumerate(meters))
    pairs = [
        _failed(f"{job.name}-{k}", task, k, job, known.get(k, Meter(job.budget)), why)
        for k, task in enumerate(job.tasks)
    ]
    return ChainOutcome(tuple(e for e, _ in pairs), tuple(r for _, r in pairs), ())


def _failed(
    name: str, task: Task, position: int, job: ChainJob, meter: Meter, why: str
) -> tuple[Episode, EpisodeRow]:
    spending = meter.spending()
    episode = Episode(
        id=name,
        task=task,
        position=position,
        choice=Choice(),
        uses=(),
        own_check=False,
        verdict=None,
        has_submission=False,
        spending=spending,
        error=why,
        arm=job.arm,
    )
    row = EpisodeRow(
        episode=name,
        phase=job.phase,
        index=0,
        scenario=task.scenario,
        task=task.id,
        position=position,
        instruction=task.instruction,
        success=None,
        own_check=False,
        units=spending.units,
        cost=cost_of(spending.units, job.units_per_episode),
        group=job.group,
        sibling=job.sibling,
        units_by_kind=spending.units_by_kind,
        steps=spending.totals.get("steps", 0),
        tokens=spending.totals.get("tokens", 0),
        generated=spending.totals.get("generated", 0),
        model_calls=spending.totals.get("model_calls", 0),
        error=why,
    )
    return episode, row
