"""Demonstrations in numbers: which of their words are learned, in what batches, and the loss."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache

import torch
import torch.nn.functional as F
from torch import Tensor

from auto_research.agent_research.agents.micro.model import Model
from auto_research.agent_research.agents.micro.vocabulary import Vocabulary
from auto_research.errors import UserError
from auto_research.rng import derive
from auto_research.training.demonstrations import Demonstration

_POOL = 16  # batches that are sorted by length together
_IGNORED = -100  # a target that is not learned


@dataclass(frozen=True)
class Lesson:
    """A demonstration in numbers."""

    tokens: tuple[int, ...]
    targets: tuple[int, ...]  # of each place but the first: the token, or what is not learned


def lesson(demonstration: Demonstration, vocabulary: Vocabulary, context: int) -> Lesson:
    """Raises UserError for unknown words, or if it does not fit into the model's context."""
    words = (*demonstration.prompt, *demonstration.response)
    if len(words) > context:
        raise UserError(
            f"a demonstration has {len(words)} words, and the model reads {context}",
            where=demonstration.task,
            mend="raise sft.context",
        )
    tokens = tuple(vocabulary.encode(words))
    mask = (*(0 for _ in demonstration.prompt), *demonstration.mask)
    targets = tuple(t if m else _IGNORED for t, m in zip(tokens, mask, strict=True))
    return Lesson(tokens, targets[1:])


class Batches:
    """Which lessons each step takes: an epoch takes all but a few left over, no two alike."""

    def __init__(self, lengths: Sequence[int], size: int, seed: int) -> None:
        self.size = min(size, len(lengths))
        self._lengths, self._seed = lengths, seed
        self._an_epoch = len(lengths) // self.size
        self._epoch: Callable[[int], list[list[int]]] = lru_cache(maxsize=1)(self._drawn)

    def of(self, step: int) -> list[int]:
        """The numbers of the lessons of a step (from 0)."""
        epoch, place = divmod(step, self._an_epoch)
        return self._epoch(epoch)[place]

    def _drawn(self, epoch: int) -> list[list[int]]:
        rng = derive(self._seed, "sft", "epoch", epoch)
        order = list(range(len(self._lengths)))
        rng.shuffle(order)
        del order[self._an_epoch * self.size :]
        batches: list[list[int]] = []
        for start in range(0, len(order), _POOL * self.size):
            pool = order[start : start + _POOL * self.size]
            pool.sort(key=lambda number: (self._lengths[number], number))
            batches += [pool[at : at + self.size] for at in range(0, len(pool), self.size)]
        rng.shuffle(batches)
        return batches


def lesson_loss(model: Model, lessons: Sequence[Lesson]) -> Tensor:
    """L of a batch, a scalar. Raises ValueError if there is nothing to learn in it."""
    if not any(target != _IGNORED for given in lessons for target in given.targets):
        raise ValueError("lessons without a word of the agent's")
    length = max(len(given.tokens) for given in lessons)
    tokens = torch.zeros(len(lessons), length, dtype=torch.long)
    targets = torch.full((len(lessons), length - 1), _IGNORED)
    for row, given in enumerate(lessons):
        tokens[row, : len(given.tokens)] = torch.tensor(given.tokens)
        targets[row, : len(given.targets)] = torch.tensor(given.targets)
    device = model.head.weight.device
    logits = model(tokens[:, :-1].to(device))
    return F.cross_entropy(
        logits.flatten(0, 1), targets.flatten().to(device), ignore_index=_IGNORED
    )
