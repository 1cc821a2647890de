"""SAGE's skill-integrated reward (arXiv 2512.17102, section 3.3) and its ablation `sage.chain`.

For a chain of two tasks with outcomes r1, r2 in {0, 1}:

    R1 = r1 + 1[r1=1] * 1[r2=1] * 1_skill(q2|q1)
    R2 = r2 +           1[r2=1] * 1_skill(q2|q1)
    a submission without code (here: without a plan or payload): -1

1_skill(q2|q1) is 1 if task 2 used a skill that task 1 of the same chain wrote. For longer chains
(interpretation) the writer's bonus is paid once if any later success used its skill, the user's
once if it used any earlier one. The paper's code takes a mention of the name for use; here the
skill's code must have run and carried the task to its end (interpretation). Only the sealed
evaluator's verdicts pay: a task without one (lost, or hidden as at test) earns None.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Literal

from auto_research.agent_research.advantage import GROUP_MEAN, GRPO, Advantages, group_advantages
from auto_research.agent_research.operators import ChainResult, Episode, Reward, Settings


class RewardOptions(Settings):
    """`bonus_scope`: which skills earn the bonus for their user, those written earlier in the
    chain (the paper) or also those that the library held before it. `r2_bonus_requires_r1`: a
    skill of the chain earns it only if its writer succeeded too. `divide_by_std` turns the
    advantage into GRPO's.
    """

    bonus_scope: Literal["chain", "library"] = "chain"
    r2_bonus_requires_r1: bool = False
    no_submission: float = -1.0
    divide_by_std: bool = False


class GroupReward(Reward):
    """Base: the setting of the advantage estimator."""

    settings_type: ClassVar[type[Settings]] = RewardOptions
    settings: RewardOptions

    def advantages(self, rewards: Sequence[Sequence[float | None]]) -> Advantages:
        return group_advantages(rewards, GRPO if self.settings.divide_by_std else GROUP_MEAN)

    def outcome(self, episode: Episode) -> float | None:
        """r in {0, 1}; the penalty where nothing was handed in; None where nobody judged."""
        if episode.verdict is None:
            return None
        if not episode.has_submission:
            return self.settings.no_submission
        return float(episode.verdict.success)


def won(episode: Episode) -> bool:
    """1[r = 1]: something was handed in and judged a success."""
    verdict = episode.verdict
    return episode.has_submission and verdict is not None and verdict.success


class SkillIntegratedReward(GroupReward):
    """Pays a task for a skill that a later task of the chain used with success, and that task."""

    name = "sage.skill-integrated"
    citation = "SAGE, arXiv 2512.17102, eq. R1 and R2; chains longer than 2: interpretation"
    summary = "outcome plus a bonus for skills that later tasks use with success"

    def credit(self, group: Sequence[ChainResult]) -> Sequence[Sequence[float | None]]:
        return [self._chain(chain) for chain in group]

    def _chain(self, chain: ChainResult) -> list[float | None]:
        reuse = reuses(chain)
        rewards: list[float | None] = []
        for k, episode in enumerate(chain.episodes):
            outcome = self.outcome(episode)
            if outcome is None or not won(episode):
                rewards.append(outcome)
                continue
            wrote = any(i == k and won(chain.episodes[j]) for i, j in reuse)
            used = any(j == k and self._pays(chain.episodes[i]) for i, j in reuse)
            if self.settings.bonus_scope == "library":
                used = used or any(skill not in chain.origins for skill in episode.used())
            rewards.append(outcome + wrote + used)
        return rewards

    def _pays(self, writer: Episode) -> bool:
        return won(writer) or not self.settings.r2_bonus_requires_r1


class ChainReward(GroupReward):
    """The chain's success as a bonus, whether or not a skill was used."""

    name = "sage.chain"
    citation = "SAGE, arXiv 2512.17102, chain-based ablation; exact form not published: assumption"
    summary = "outcome plus a bonus for the success of the whole chain"

    def credit(self, group: Sequence[ChainResult]) -> Sequence[Sequence[float | None]]:
        credited: list[list[float | None]] = []
        for chain in group:
            outcomes = [self.outcome(e) for e in chain.episodes]
            bonus = float(len(outcomes) > 1 and all(won(e) for e in chain.episodes))
            credited.append([None if r is None else r + bonus for r in outcomes])
        return credited


def reuses(chain: ChainResult) -> list[tuple[int, int]]:
    """Pairs (i, j), i < j: the task at j used, to its end, a skill written at i of this chain."""
    return [
        (origin, j)
        for j, episode in enumerate(chain.episodes)
        for skill in sorted(episode.used())
        if (origin := chain.origins.get(skill, len(chain.episodes))) < j
    ]
