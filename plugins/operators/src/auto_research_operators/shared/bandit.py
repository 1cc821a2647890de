"""A bandit over versions: Beta posteriors with discounting, and an upper confidence bound.

Used by ReSkill (which version does a rollout get) and UCOB (which skill is worth a try).
"""

from __future__ import annotations

import math
import random
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Beta:
    """A Beta posterior over a success rate; (1, 1) knows nothing."""

    alpha: float = 1.0
    beta: float = 1.0

    @property
    def mean(self) -> float:
        return self.alpha / (self.alpha + self.beta)

    def after(self, successes: float, trials: float, memory: float = math.inf) -> Beta:
        """After `successes` of `trials`, older evidence weighed by w = M / (M + n).

        ReSkill 2606.01619: alpha <- w alpha + m, beta <- w beta + (n - m); M infinite: no discount.
        """
        weight = 1.0 if math.isinf(memory) else memory / (memory + trials)
        return Beta(weight * self.alpha + successes, weight * self.beta + trials - successes)


def probability_greater(one: Beta, other: Beta, rng: random.Random, draws: int = 10_000) -> float:
    """Pr(theta_one > theta_other) by `draws` draws of each."""
    wins = sum(
        rng.betavariate(one.alpha, one.beta) > rng.betavariate(other.alpha, other.beta)
        for _ in range(draws)
    )
    return wins / draws


def upper_bound(value: float, total: int, trials: int, scale: float) -> float:
    """value + scale * sqrt(ln N / n); infinite for what was never tried (UCB1)."""
    if trials == 0:
        return math.inf
    return value + scale * math.sqrt(math.log(max(total, 1)) / trials)
