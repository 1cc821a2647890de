"""The clipped group-relative objective: tensors in, one scalar and its tally out.

    J = mean over action tokens of min(r A, clip(r, 1 - low, 1 + high) A) - weight * KL(pi || ref)
    r = pi(token) / pi_old(token)

(GRPO, arXiv 2402.03300; PPO's clipping, arXiv 1707.06347; two clip bounds, arXiv 2503.14476.)
The advantages A come from `agent_research.advantage`, one number a sequence. Everything here is
written for a batch of B sequences padded on the right to T tokens; a mask is 1 where the agent
wrote the token, 0 in the prompt, in feedback and in padding. Nothing that is not finite gets from
the inputs into the loss or into the weights, and whatever is left out for it is counted.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import astuple, dataclass
from typing import Literal

import torch
from torch import Tensor

from auto_research.agent_research.advantage import GROUP_MEAN, GRPO, Estimator

Aggregation = Literal["token-mean", "sequence-mean"]
KLEstimator = Literal["k1", "k2", "k3"]

# Other packages' names for estimators, by what they are here (docs/training/objective.md).
ESTIMATORS: dict[str, Estimator] = {
    "sage": GROUP_MEAN,
    "grpo": GRPO,
    "openrlhf.group_norm": Estimator(std="sample", eps=1e-9),
    "openrlhf.dr_grpo": GROUP_MEAN,
    "openrlhf.rloo": Estimator(baseline="leave-one-out"),
    "trl.group": Estimator(std="sample", eps=1e-4),
    "trl.none": GROUP_MEAN,
}
_MOST_LOG_RATIO = 20.0  # exp(20) is 5e8: beyond it only overflow is left; OpenRLHF's bound
_MOST_KL = 10.0  # a token's, so that one unlikely token cannot outweigh a batch; OpenRLHF's bound


@dataclass(frozen=True, slots=True)
class Objective:
    """The settings of `policy_loss`. ``sequence-mean`` is GRPO's own: the mean over sequences of
    each one's mean over its tokens; in ``token-mean`` (DAPO) every token of the batch weighs the
    same. With `kl_weight` 0 no reference is needed. `correct_kl` multiplies the KL term by r, which
    makes its gradient unbiased (DeepSeek-V3.2, arXiv 2512.02556; TRL's default).
    """

    clip_low: float = 0.2
    clip_high: float = 0.2
    aggregation: Aggregation = "sequence-mean"
    kl: KLEstimator = "k3"
    kl_weight: float = 0.0
    correct_kl: bool = False

    def __post_init__(self) -> None:
        """Raises ValueError."""
        if not (0 < self.clip_low < 1 and self.clip_high > 0 and self.kl_weight >= 0):
            raise ValueError(f"an objective with bounds that clip nothing or all: {self}")


@dataclass(frozen=True, slots=True)
class Tally:
    """Sums over action tokens, to be added over the parts of a batch. `figures` divides them.

    `tokens` took part in the loss and `clipped` of them had no gradient for being clipped;
    `unusable` were left out since a log-probability or the advantage was not finite. `empty`
    counts sequences none of whose tokens took part.
    """

    tokens: int = 0
    sequences: int = 0
    clipped: int = 0
    unusable: int = 0
    empty: int = 0
    moved: float = 0.0  # sum of log pi_old - log pi
    kl: float = 0.0  # sum of the estimates against the reference

    def __add__(self, other: Tally) -> Tally:
        return Tally(*(a + b for a, b in zip(astuple(self), astuple(other), strict=True)))

    def figures(self) -> dict[str, float]:
        """Shares and means a token: ``clip_fraction``, ``approx_kl`` (to the policy that sampled),
        ``kl`` (to the reference), ``unusable`` and ``empty`` (counts)."""
        tokens = max(self.tokens, 1)
        return {
            "clip_fraction": self.clipped / tokens,
            "approx_kl": self.moved / tokens,
            "kl": self.kl / tokens,
            "unusable": float(self.unusable),
            "empty": float(self.empty),
        }


def token_log_probs(
    logits: Tensor, tokens: Tensor, temperature: float = 1.0
) -> tuple[Tensor, Tensor]:
    """How likely each token was, and how open the choice was: both (B, T - 1), for tokens 1 to T.

    `logits` (B, T - 1, V) are those after each of `tokens` (B, T) but the last; more are passed
    over. `temperature` must be the one that the tokens were sampled at. The entropy (nats) has no
    gradient.
    """
    every = torch.log_softmax(logits[:, : tokens.shape[1] - 1] / temperature, -1)
    taken = every.gather(-1, tokens[:, 1:, None])[..., 0]
    with torch.no_grad():
        entropy = torch.special.entr(every.exp()).sum(-1)
    return taken, entropy


def policy_loss(
    log_probs: Tensor,
    old_log_probs: Tensor,
    advantages: Tensor,
    mask: Tensor,
    objective: Objective,
    *,
    reference: Tensor | None = None,
    whole: float | None = None,
) -> tuple[Tensor, Tally]:
    """-J, a scalar to go down on, and its tally.

    `log_probs`, `old_log_probs` (of the policy that sampled), `reference` (None: no KL term) and
    `mask` are (B, T); `advantages` (B,). If these are a part of a larger batch, `whole` is what
    that has of what the mean is over: sequences, or action tokens; the losses of the parts then
    add up to that of the batch. Without a single action token the loss is 0.
    """
    action = mask > 0
    usable = action & (torch.isfinite(advantages)[:, None] & torch.isfinite(old_log_probs))
    usable = usable & torch.isfinite(log_probs.detach())
    if reference is not None:
        usable = usable & torch.isfinite(reference)
    # Left out before the exponential: 0 * inf would be NaN, in the gradient too.
    now = torch.where(usable, log_probs, 0.0)
    log_ratio = now - torch.where(usable, old_log_probs, 0.0)
    ratio = log_ratio.clamp(-_MOST_LOG_RATIO, _MOST_LOG_RATIO).exp()
    gain = torch.nan_to_num(advantages, nan=0.0, posinf=0.0, neginf=0.0)[:, None]
    free = ratio * gain
    bound = ratio.clamp(1 - objective.clip_low, 1 + objective.clip_high) * gain
    losses = -torch.minimum(free, bound)
    kl = torch.zeros_like(losses)
    if reference is not None:
        kl = kl_estimate(now, torch.where(usable, reference, 0.0), objective.kl)
        if objective.correct_kl:
            kl = kl * ratio
        losses = losses + objective.kl_weight * kl
    with torch.no_grad():
        tally = Tally(
            tokens=int(usable.sum()),
            sequences=len(mask),
            clipped=int(((bound < free) & usable).sum()),
            unusable=int((action & ~usable).sum()),
            empty=int((~usable.any(1)).sum()),
            moved=float(-log_ratio.sum()),
            kl=float((kl * usable).sum()),
        )
    return aggregate(losses, usable, objective.aggregation, whole), tally


def kl_estimate(log_probs: Tensor, reference: Tensor, kind: KLEstimator) -> Tensor:
    """KL(pi || reference) a token from one sample, of the shape of the inputs, at most 10.

    With d = log pi - log reference: k1 = d, k2 = d^2 / 2, k3 = exp(-d) - 1 + d (Schulman,
    "Approximating KL divergence", 2020; GRPO has k3).
    """
    d = log_probs - reference
    if kind == "k1":
        value = d
    elif kind == "k2":
        value = d * d / 2
    else:
        d = d.clamp(min=-_MOST_KL)  # there k3 is past the bound; beyond, its gradient overflows
        value = (-d).exp() - 1 + d
    return value.clamp(-_MOST_KL, _MOST_KL)


def aggregate(values: Tensor, mask: Tensor, how: Aggregation, whole: float | None = None) -> Tensor:
    """One mean of `values` (B, T) where `mask` (B, T) is set; 0 where it is set nowhere.

    A sequence without a single token is no part of ``sequence-mean``. `whole`: see `policy_loss`.
    """
    weights = mask.to(values.dtype)
    kept = torch.where(weights > 0, values, 0.0) * weights
    counts = weights.sum(1)
    if how == "token-mean":
        total, there = kept.sum(), counts.sum()
    else:
        total, there = (kept.sum(1) / counts.clamp(min=1)).sum(), (counts > 0).sum()
    return total / (there.clamp(min=1) if whole is None else max(whole, 1.0))


def finite_step(
    optimizer: torch.optim.Optimizer, parameters: Iterable[Tensor], max_norm: float
) -> float | None:
    """Clip the gradient to `max_norm` and step; the norm before clipping.

    A gradient that is not finite is thrown away: no step, the weights stay, None is returned.
    """
    norm = float(torch.nn.utils.clip_grad_norm_(list(parameters), max_norm))
    finite = math.isfinite(norm)
    if finite:
        optimizer.step()
    optimizer.zero_grad()
    return norm if finite else None
