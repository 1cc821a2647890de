"""Many sequences at once from one model, in lockstep; fast enough to train on a CPU.

Each sequence has a listener, which hears every word that was sampled, may answer one that then
stands in the sequence (feedback of a world), and says when it is done. Each has a random stream of
its own and draws one number a word, so that who else is in the batch changes nothing (apart from
the last digits of floating-point sums).
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

import torch
import torch.nn.functional as F
from torch import Tensor

from auto_research.agent_research.agents.micro.model import Cache, Model

_ALIVE = 0.75  # of a batch: with fewer, the cache is copied without the sequences that ended
_AT_ONCE = 256


class Listener(Protocol):
    """Hears one sequence."""

    @property
    def done(self) -> bool:
        """Whether the sequence has ended."""

    def hear(self, token: int) -> int | None:
        """Take in a sampled token; the token that follows it by force, or None."""


@dataclass(frozen=True)
class Request:
    """A sequence to be sampled after `prompt`, which is not empty."""

    prompt: Sequence[int]
    listener: Listener
    rng: random.Random


@dataclass
class Sampled:
    """What followed the prompt. `mask` is 1 where a token was sampled, 0 where it was forced.

    `log_probs` are those of the sampled tokens at the temperature that they were sampled with (at
    temperature 0: at 1), and 0.0 for forced ones.
    """

    tokens: list[int] = field(default_factory=list)
    mask: list[int] = field(default_factory=list)
    log_probs: list[float] = field(default_factory=list)


@torch.inference_mode()
def sample(
    model: Model,
    requests: Sequence[Request],
    temperature: float,
    max_new: int,
    at_once: int = _AT_ONCE,
) -> list[Sampled]:
    """A sequence a request, in their order, each until its listener is done.

    None has more than `max_new` sampled tokens, nor goes on past the model's context. Temperature
    0 takes the likeliest token. Raises ValueError for a prompt that fills the context.
    """
    for request in requests:
        if not 0 < len(request.prompt) < model.shape.context:
            raise ValueError(f"a prompt of {len(request.prompt)} tokens")
    order = sorted(range(len(requests)), key=lambda i: (len(requests[i].prompt), i))
    sampled: dict[int, Sampled] = {}
    for start in range(0, len(order), at_once):
        batch = order[start : start + at_once]
        speakers = _lockstep(model, [requests[i] for i in batch], temperature, max_new)
        sampled.update(zip(batch, (s.sampled for s in speakers), strict=True))
    return [sampled[i] for i in range(len(requests))]


class _Speaker:
    """One sequence as it grows."""

    def __init__(self, request: Request, max_new: int) -> None:
        self.listener, self.left = request.listener, max_new
        self.draw = request.rng.random
        self.sampled = Sampled()
        self.forced: int | None = None
        self.ended = request.listener.done or max_new < 1

    def take(self, token: int, log_prob: float) -> int:
        """The token that stands next: what is forced, else `token`; it may be the last one."""
        sampled = self.sampled
        forced = self.forced
        if forced is not None:
            self.forced = None
            sampled.tokens.append(forced)
            sampled.mask.append(0)
            sampled.log_probs.append(0.0)
            return forced
        sampled.tokens.append(token)
        sampled.mask.append(1)
        sampled.log_probs.append(log_prob)
        self.forced = self.listener.hear(token)
        self.left -= 1
        self.ended = self.listener.done or self.left == 0
        return token


def _lockstep(
    model: Model, requests: Sequence[Request], temperature: float, max_new: int
) -> list[_Speaker]:
    speakers = [_Speaker(request, max_new) for request in requests]
    logits, cache = _read(model, requests, max_new)
    rows = list(speakers)
    while True:
        chosen, log_probs = _drawn(logits, rows, temperature)
        tokens = [
            0 if speaker.ended else speaker.take(token, log_prob)
            for speaker, token, log_prob in zip(rows, chosen, log_probs, strict=True)
        ]
        alive = [row for row, speaker in enumerate(rows) if not speaker.ended]
        if not alive or cache.length == cache.room:
            return speakers
        if len(alive) < _ALIVE * len(rows):
            rows, tokens = [rows[row] for row in alive], [tokens[row] for row in alive]
            cache = cache.take(_tensor(alive, logits), cache.room)
        logits = model.step(_tensor(tokens, logits), cache)


def _read(model: Model, requests: Sequence[Request], max_new: int) -> tuple[Tensor, Cache]:
    """Logits after each prompt and their cache; a prompt that several have is read once."""
    prompts = list(dict.fromkeys(tuple(request.prompt) for request in requests))
    length = max(map(len, prompts))
    padded = [(0,) * (length - len(prompt)) + prompt for prompt in prompts]
    like = model.head.weight
    logits, cache = model.read(_tensor(padded, like), _tensor([len(p) for p in prompts], like))
    place = {prompt: number for number, prompt in enumerate(prompts)}
    rows = _tensor([place[tuple(request.prompt)] for request in requests], like)
    room = min(model.shape.context, length + 2 * max_new)  # each may be followed by a forced one
    return logits[rows], cache.take(rows, room)


def _drawn(
    logits: Tensor, rows: Sequence[_Speaker], temperature: float
) -> tuple[list[int], list[float]]:
    """A token a row and its log-probability, by the inverse of the distribution function."""
    if temperature > 0:
        log_probs = F.log_softmax(logits / temperature, -1)
        draws = [0.0 if s.ended or s.forced is not None else s.draw() for s in rows]
        below = log_probs.exp().cumsum(-1)
        aims = torch.tensor(draws, dtype=below.dtype, device=below.device)[:, None] * below[:, -1:]
        chosen = torch.searchsorted(below, aims, right=True).clamp_(max=below.shape[-1] - 1)
    else:
        log_probs = F.log_softmax(logits, -1)
        chosen = log_probs.argmax(-1, keepdim=True)
    return chosen[:, 0].tolist(), log_probs.gather(1, chosen)[:, 0].tolist()


def _tensor(numbers: Sequence[object], like: Tensor) -> Tensor:
    return torch.tensor(numbers, dtype=torch.long, device=like.device)
