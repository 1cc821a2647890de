"""The objective: what clips, what is masked, what is left out, and that no NaN gets through."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from auto_research.agent_research.advantage import Estimator, group_advantages
from auto_research.agent_research.agents.micro.model import Model, Shape
from auto_research.agent_research.agents.micro.sampler import Request, Sampled, sample
from auto_research.training.grpo import (
    Aggregation,
    Objective,
    Tally,
    aggregate,
    finite_step,
    kl_estimate,
    policy_loss,
    token_log_probs,
)

WORDS = 7
odd = st.none() | st.sampled_from([math.nan, math.inf, -math.inf]) | st.floats(-2, 2)


def tensors(
    log_probs: Sequence[Sequence[float]],
    old: Sequence[Sequence[float]],
    mask: Sequence[Sequence[int]],
    advantages: Sequence[float],
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
    """Arguments of `policy_loss`, with a gradient to the first."""
    now = torch.tensor(log_probs, requires_grad=True)
    return now, torch.tensor(old), torch.tensor(advantages), torch.tensor(mask, dtype=torch.float)


def model(seed: int = 0) -> Model:
    """A tiny one with random weights."""
    shape = Shape(WORDS, width=8, layers=1, heads=2, context=12)
    return Model(shape, torch.Generator().manual_seed(seed))


class Patient:
    """Never says that a sequence is done; answers with the token 2 after a 3."""

    done = False

    def hear(self, token: int) -> int | None:
        return 2 if token == 3 else None


def test_a_token_is_clipped_where_its_ratio_has_moved_far_enough_its_advantages_way() -> None:
    # Ratios 2 and 1/2. With A = 1 the first is held at 1.2 and the second is free;
    # with A = -1 it is the other way round, the second held at 0.8.
    moved = [[math.log(2.0), -math.log(2.0)]] * 2
    args = tensors(moved, [[0.0, 0.0]] * 2, [[1, 1]] * 2, [1.0, -1.0])
    loss, tally = policy_loss(args[0], *args[1:], Objective(aggregation="token-mean"))
    loss.backward()
    # -(1.2 + 0.5 - 2 - 0.8) / 4
    assert loss.item() == pytest.approx(0.275)
    assert tally.figures()["clip_fraction"] == 0.5
    assert (args[0].grad == 0).tolist() == [[True, False], [False, True]]


def test_the_two_means_weigh_a_long_and_a_short_sequence_differently() -> None:
    # Three tokens with A = 1 against one with A = -1, ratio 1 everywhere.
    args = tensors([[0.0] * 3] * 2, [[0.0] * 3] * 2, [[1, 1, 1], [1, 0, 0]], [1.0, -1.0])
    by_token, _ = policy_loss(*args[:3], args[3], Objective(aggregation="token-mean"))
    by_sequence, _ = policy_loss(*args[:3], args[3], Objective(aggregation="sequence-mean"))
    assert by_token.item() == pytest.approx(-(3 - 1) / 4)
    assert by_sequence.item() == pytest.approx(-(1 - 1) / 2)


@pytest.mark.parametrize("how", ["token-mean", "sequence-mean"])
def test_the_losses_of_parts_add_up_to_that_of_the_whole(how: Aggregation) -> None:
    rng = random.Random(0)
    rows = [[rng.gauss(-1, 1) for _ in range(5)] for _ in range(6)]
    old = [[x + rng.gauss(0, 0.3) for x in row] for row in rows]
    mask = [[1] + [rng.randint(0, 1) for _ in range(4)] for _ in rows]
    args = tensors(rows, old, mask, [rng.gauss(0, 1) for _ in rows])
    objective = Objective(aggregation=how)
    whole, tally = policy_loss(*args, objective)
    count = float(tally.tokens if how == "token-mean" else 6)
    parts, added = torch.zeros(()), Tally()
    for start in (0, 2, 4):
        part, counted = policy_loss(*(a[start : start + 2] for a in args), objective, whole=count)
        parts, added = parts + part, added + counted
    assert parts.item() == pytest.approx(whole.item(), abs=1e-6)
    assert added.figures() == pytest.approx(tally.figures())


def test_what_the_agent_did_not_write_has_no_part_in_it() -> None:
    args = tensors([[-1.0, -2.0]], [[-1.0, -5.0]], [[1, 0]], [1.0])
    loss, tally = policy_loss(*args, Objective())
    loss.backward()
    assert loss.item() == pytest.approx(-1.0)
    assert args[0].grad[0, 1] == 0.0
    assert tally.tokens == 1


@pytest.mark.parametrize(
    ("kind", "expected"), [("k1", 0.5), ("k2", 0.125), ("k3", math.exp(-0.5) - 0.5)]
)
def test_the_kl_estimates_of_one_token(kind: str, expected: float) -> None:
    d = torch.tensor([-1.0]) - torch.tensor([-1.5])  # log pi - log reference = 0.5
    assert d.item() == 0.5
    found = kl_estimate(torch.tensor([-1.0]), torch.tensor([-1.5]), kind)  # type: ignore[arg-type]
    assert found.item() == pytest.approx(expected)


def test_the_mean_of_the_estimates_is_the_kl() -> None:
    generator = torch.Generator().manual_seed(0)
    p, q = (torch.randn(WORDS, generator=generator).log_softmax(-1) for _ in range(2))
    exact = (p.exp() * (p - q)).sum().item()
    drawn = torch.multinomial(p.exp(), 200_000, replacement=True, generator=generator)
    for kind in ("k1", "k3"):
        mean = kl_estimate(p[drawn], q[drawn], kind).mean().item()  # type: ignore[arg-type]
        assert mean == pytest.approx(exact, rel=0.03)


def test_log_probabilities_are_those_of_the_next_token_at_the_temperature() -> None:
    logits = torch.tensor([[[0.0, math.log(3.0)], [0.0, 0.0]]])
    log_probs, entropy = token_log_probs(logits, torch.tensor([[0, 1]]))
    assert log_probs.exp().tolist() == [[pytest.approx(0.75)]]
    assert entropy.item() == pytest.approx(-(0.75 * math.log(0.75) + 0.25 * math.log(0.25)))
    hot, _ = token_log_probs(logits, torch.tensor([[0, 1]]), temperature=2.0)
    assert hot.exp().item() == pytest.approx(math.sqrt(3) / (1 + math.sqrt(3)))


def test_a_bound_that_clips_everything_is_refused() -> None:
    with pytest.raises(ValueError, match="bounds"):
        Objective(clip_low=0.0)


def test_a_mean_over_nothing_is_zero() -> None:
    for how in ("token-mean", "sequence-mean"):
        found = aggregate(torch.full((2, 3), math.nan), torch.zeros(2, 3), how)  # type: ignore[arg-type]
        assert found.item() == 0.0


@settings(max_examples=30)
@given(
    rewards=st.lists(odd, min_size=1, max_size=6),
    std=st.sampled_from(["none", "population", "sample"]),
    hole=odd,
)
def test_whatever_the_rewards_are_a_step_leaves_finite_weights(
    rewards: list[float | None], std: str, hole: float | None
) -> None:
    """None, NaN, infinite, equal and lonely rewards, an empty completion, an old probability that
    is no number: from rewards to weights, nothing but numbers comes out."""
    found = group_advantages([[r] for r in rewards], Estimator(std=std))  # type: ignore[arg-type]
    known = [r for r in rewards if r is not None and math.isfinite(r)]
    assert found.unjudged == len(rewards) - len(known)
    advantages = torch.tensor([a for (a,) in found.values])
    learner = model()
    before = {name: part.clone() for name, part in learner.state_dict().items()}
    optimizer = torch.optim.AdamW(learner.parameters(), lr=0.1, weight_decay=0.0)
    tokens = torch.arange(len(rewards) * 5).view(-1, 5) % WORDS
    mask = torch.ones(len(rewards), 4)
    mask[0] = 0  # this one is empty
    with torch.no_grad():
        old, _ = token_log_probs(learner(tokens), tokens)
    old[-1, -1] = math.nan if hole is None else hole
    log_probs, _ = token_log_probs(learner(tokens), tokens)
    loss, tally = policy_loss(log_probs, old, advantages, mask, Objective())
    loss.backward()
    norm = finite_step(optimizer, learner.parameters(), 1.0)
    assert math.isfinite(loss.item())
    assert norm is not None
    assert math.isfinite(norm)
    assert tally.empty >= 1
    assert all(bool(part.isfinite().all()) for part in learner.parameters())
    if not found.informative[0]:
        assert all(torch.equal(part, before[n]) for n, part in learner.state_dict().items())


def test_a_gradient_that_is_no_number_is_thrown_away() -> None:
    learner = model()
    before = [part.clone() for part in learner.parameters()]
    optimizer = torch.optim.AdamW(learner.parameters(), lr=0.1)
    (learner(torch.zeros(1, 2, dtype=torch.long)).sum() * math.nan).backward()
    assert finite_step(optimizer, learner.parameters(), 1.0) is None
    assert all(torch.equal(a, b) for a, b in zip(learner.parameters(), before, strict=True))
    assert all(part.grad is None for part in learner.parameters())


def test_a_completion_that_goes_on_too_long_is_cut_and_can_be_learned_from() -> None:
    """It ends at the limit of words or of the model's context, and its log-probabilities are the
    model's own: a step at once has ratio 1 everywhere, and clips nothing."""
    speaker = model()
    requests = [Request([0, 4], Patient(), random.Random(n)) for n in range(4)]
    short = sample(speaker, requests, 1.0, max_new=4)
    assert all(sum(s.mask) == 4 for s in short)
    long = sample(speaker, [Request([0, 4], Patient(), random.Random(9))], 1.0, max_new=500)
    assert 2 + len(long[0].tokens) == speaker.shape.context + 1  # the last one was never read
    loss, tally = policy_loss(*_arguments(speaker, short + long, [1.0, -1.0, 0.5, 0.0, 2.0]))
    loss.backward()
    assert tally.clipped == tally.unusable == tally.empty == 0
    assert tally.figures()["approx_kl"] == pytest.approx(0.0, abs=1e-5)
    assert tally.tokens == sum(sum(s.mask) for s in short + long)
    optimizer = torch.optim.AdamW(speaker.parameters(), lr=0.01)
    assert finite_step(optimizer, speaker.parameters(), 1.0) is not None
    assert all(bool(part.isfinite().all()) for part in speaker.parameters())


def test_learning_moves_probability_to_what_was_better_than_its_group() -> None:
    learner = model()
    tokens = torch.tensor([[0, 2], [0, 5]])
    rewards = group_advantages([[1.0], [0.0]])
    advantages = torch.tensor([a for (a,) in rewards.values])
    before, _ = token_log_probs(learner(tokens), tokens)
    optimizer = torch.optim.SGD(learner.parameters(), lr=0.1)
    loss, _ = policy_loss(before, before.detach(), advantages, torch.ones(2, 1), Objective())
    loss.backward()
    finite_step(optimizer, learner.parameters(), 1.0)
    after, _ = token_log_probs(learner(tokens), tokens)
    assert (after[0, 0] - after[1, 0]).item() > (before[0, 0] - before[1, 0]).item()


def _arguments(
    speaker: Model, sampled: Sequence[Sampled], advantages: Sequence[float]
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor, Objective]:
    """What `policy_loss` takes, of sequences after the prompt [0, 4]."""
    length = 2 + max(len(s.tokens) for s in sampled)
    tokens = torch.zeros(len(sampled), length, dtype=torch.long)
    mask, old = torch.zeros(len(sampled), length), torch.zeros(len(sampled), length)
    for row, s in enumerate(sampled):
        end = 2 + len(s.tokens)
        tokens[row, :end] = torch.tensor([0, 4, *s.tokens])
        mask[row, 2:end] = torch.tensor(s.mask, dtype=torch.float)
        old[row, 2:end] = torch.tensor(s.log_probs)
    log_probs, _ = token_log_probs(speaker(tokens[:, :-1]), tokens)
    return log_probs, old[:, 1:], torch.tensor(advantages), mask[:, 1:], Objective()
