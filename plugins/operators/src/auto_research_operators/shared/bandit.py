"""A bandit over versions: Beta posteriors with discounting, and an upper confidence bound.

Used by ReSkill (which version does a rollout get) and UCOB (which skill is worth a try).
"""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass

Counts = Sequence[tuple[int, int]]  # successes and trials, step by step
MEMORIES: list[int] = sorted({round(2000.0 ** (i / 120)) for i in range(121)})  # from 1 to 2000


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


def posterior(counts: Counts, memory: float = math.inf) -> Beta:
    """The posterior of Beta(1, 1) after `counts`, each step discounting what came before it."""
    belief = Beta()
    for successes, trials in counts:
        belief = belief.after(successes, trials, memory)
    return belief


def fit_memory(histories: Sequence[Counts]) -> float:
    """The M under which `histories` are likeliest: each step foretold by those before it.

    The likelihood of m successes in n trials is Beta-Binomial(n, alpha, beta) with the discounted
    posterior (ReSkill 2606.01619: M over 1..2000; here on a geometric grid of it:
    interpretation). Of equals the longest memory; 2000 for no history.
    """
    return max(MEMORIES, key=lambda memory: (_likelihood(histories, memory), memory))


def _likelihood(histories: Sequence[Counts], memory: float) -> float:
    """Log-likelihood without the binomial coefficients, which do not depend on M."""
    total = 0.0
    for counts in histories:
        belief = Beta()
        for m, n in counts:
            total += _log_beta(belief.alpha + m, belief.beta + n - m)
            total -= _log_beta(belief.alpha, belief.beta)
            belief = belief.after(m, n, memory)
    return round(total, 9)


def _log_beta(a: float, b: float) -> float:
    return math.lgamma(a) + math.lgamma(b) - math.lgamma(a + b)
