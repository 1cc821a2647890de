"""From chains to what OpenRLHF trains on: rewards, advantages, and a sample for each episode."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from auto_research.agent_research.absorb import credited_rows
from auto_research.agent_research.library import LibraryView
from auto_research.agent_research.operators import CreditedGroup, Reward
from auto_research.agent_research.rows import EpisodeRow
from auto_research_openrlhf.executor.chains import RunChain
from auto_research_openrlhf.executor.talk import Talk

Table = tuple[tuple[float, ...], ...]


@dataclass(frozen=True, slots=True)
class Credit:
    """What a group earned; both have shape (siblings, chain length)."""

    raw: Table
    advantages: Table
    group: CreditedGroup


def credit(chains: Sequence[RunChain], reward: Reward, failure: float) -> Credit:
    """Credit the siblings by the method's own reward.

    An episode that says nothing of the policy (it broke off without the policy's doing, nobody
    could judge it, or the policy never acted in it) has the `failure` reward, but stays out of
    the baseline: its advantage is 0. With it in, a machine's faults would be learned from.
    """
    results = tuple(chain.outcome.result(LibraryView()) for chain in chains)
    earned = reward.credit(results)
    counted = [
        [r if chain.counts(k) else None for k, r in enumerate(row)]
        for chain, row in zip(chains, earned, strict=True)
    ]
    advantages = reward.advantages(counted)
    raw = tuple(tuple(failure if r is None else float(r) for r in row) for row in counted)
    return Credit(
        raw,
        advantages.values,
        CreditedGroup(results, raw, advantages.values, advantages.informative),
    )


def rows_of(chains: Sequence[RunChain], credited: Credit) -> list[EpisodeRow]:
    """The rows of a group, with rewards and advantages."""
    return credited_rows([chain.outcome for chain in chains], credited.group, ())


@dataclass(frozen=True, slots=True)
class Frame:
    """What all samples of one prompt share.

    `fallback` are the ids that stand for a conversation where none came about, `end` the token
    that ends a reply, `length` the most tokens that a sample may have.
    """

    prompt: str
    label: str
    fallback: Sequence[int]
    end: int
    length: int
    with_log_probs: bool


def samples_of(
    chains: Sequence[RunChain], credited: Credit, frame: Frame, *, raw: bool
) -> list[dict[str, Any]]:
    """A sample for each episode, chain by chain, tasks in order.

    Its `reward` is the advantage, or the raw reward where `raw`.
    """
    chosen = credited.raw if raw else credited.advantages
    return [
        _of_episode(chain, k, frame, chosen[i][k], credited.raw[i][k])
        for i, chain in enumerate(chains)
        for k in range(len(chain.talks))
    ]


def nothing(frame: Frame, failure: float) -> dict[str, Any]:
    """The sample of an episode that never began."""
    return _sample(frame, Talk(), reward=0.0, solved=0.0, logs=_logs(raw_reward=failure))


def _of_episode(
    chain: RunChain, position: int, frame: Frame, reward: float, raw: float
) -> dict[str, Any]:
    row = chain.outcome.rows[position]
    solved = float(row.success is True)
    logs = _logs(
        raw_reward=raw,
        solved=solved,
        task_slot=position,
        turns=row.steps,
        generated_tokens=row.generated,
        skills_used=sum(use.called for use in row.uses),
        skills_written=len(row.written),
        fault=not chain.counts(position),
    )
    return _sample(frame, chain.talks[position], reward=reward, solved=solved, logs=logs)


def _logs(
    *,
    raw_reward: float,
    solved: float = 0.0,
    task_slot: float = 0.0,
    turns: float = 0.0,
    generated_tokens: float = 0.0,
    skills_used: float = 0.0,
    skills_written: float = 0.0,
    fault: float = 1.0,
) -> dict[str, float]:
    """What OpenRLHF logs of a sample; it wants the same keys on every one."""
    return {name: float(value) for name, value in locals().items()}


def _sample(
    frame: Frame, talk: Talk, *, reward: float, solved: float, logs: Mapping[str, float]
) -> dict[str, Any]:
    talk = _with_an_action(talk, frame)
    return {
        "prompt": frame.prompt,
        "label": frame.label,
        "images": None,
        "mm_train_inputs": None,
        "observation_tokens": talk.ids,
        "action_ranges": talk.ranges,
        "rollout_log_probs": talk.log_probs if frame.with_log_probs else None,
        "truncated": talk.full,
        "reward": reward,
        "scores": solved,
        "extra_logs": dict(logs),
    }


def _with_an_action(talk: Talk, frame: Frame) -> Talk:
    """The talk as it is; where the model never spoke, its prompt and the token that ends a reply.

    OpenRLHF needs an action in every sample. This one's advantage is 0.
    """
    if talk.ranges:
        return talk
    ids = [*(talk.ids or talk.refused or frame.fallback)][: frame.length - 1]
    return replace(
        talk,
        ids=[*ids, frame.end],
        ranges=[(len(ids), len(ids) + 1)],
        log_probs=[0.0] * (len(ids) + 1),
    )
