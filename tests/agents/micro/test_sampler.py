"""The sampler: nobody hears the batch around him, and words are as likely as it says."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass, field

import pytest
import torch
from micro_cases import tiny_model

from auto_research.agent_research.agents.micro.sampler import Request, Sampled, sample

VOCABULARY, FORCED = 12, 3
MODEL = tiny_model(VOCABULARY)


@dataclass
class Until:
    """Answers every third token with FORCED, and is done after `count` tokens."""

    count: int
    heard: list[int] = field(default_factory=list)
    done: bool = False

    def hear(self, token: int) -> int | None:
        self.heard.append(token)
        self.done = len(self.heard) >= self.count
        return FORCED if len(self.heard) % 3 == 0 else None


def request(number: int, prompt: list[int] | None = None, count: int | None = None) -> Request:
    draw = random.Random(number)
    length = draw.randint(1, 9)
    words = prompt or [draw.randrange(VOCABULARY) for _ in range(length)]
    return Request(words, Until(count or draw.randint(1, 25)), random.Random(number))


def said(samples: list[Sampled]) -> list[list[int]]:
    return [one.tokens for one in samples]


@pytest.mark.parametrize("temperature", [0.0, 0.7, 1.0])
def test_a_sequence_is_the_same_alone_and_among_others(temperature: float) -> None:
    alone = [sample(MODEL, [request(n)], temperature, 40)[0] for n in range(30)]
    together = sample(MODEL, [request(n) for n in range(30)], temperature, 40)
    in_sevens = sample(MODEL, [request(n) for n in range(30)], temperature, 40, at_once=7)
    assert said(together) == said(in_sevens) == said(alone)  # sequences ended at all times
    for one, other in zip(together, alone, strict=True):
        assert one.log_probs == pytest.approx(other.log_probs, abs=1e-4)


def test_siblings_with_one_prompt_go_ways_of_their_own() -> None:
    group = sample(MODEL, [request(n, [1, 2, 3], 20) for n in range(8)], 1.0, 40)
    assert len({tuple(one.tokens) for one in group}) == 8
    assert said(sample(MODEL, [request(5, [1, 2, 3], 20)], 1.0, 40)) == [group[5].tokens]


def test_forced_tokens_stand_in_the_sequence_and_are_masked() -> None:
    asked = request(1, count=7)
    told = sample(MODEL, [asked], 1.0, 40)[0]
    assert told.mask == [1, 1, 1, 0, 1, 1, 1, 0, 1]
    assert [told.tokens[3], told.tokens[7]] == [FORCED, FORCED]
    assert told.log_probs[3] == told.log_probs[7] == 0.0
    assert isinstance(asked.listener, Until)
    own = [token for token, mask in zip(told.tokens, told.mask, strict=True) if mask]
    assert asked.listener.heard == own


@pytest.mark.parametrize("temperature", [0.0, 0.5, 1.0])
def test_log_probabilities_are_those_of_a_full_pass(temperature: float) -> None:
    requests = [request(n) for n in range(20)]
    for asked, told in zip(requests, sample(MODEL, requests, temperature, 40), strict=True):
        whole = torch.tensor([[*asked.prompt, *told.tokens]])
        with torch.no_grad():
            every = torch.log_softmax(MODEL(whole)[0, :-1] / (temperature or 1.0), -1)
        start = len(asked.prompt) - 1
        for place, (token, mask) in enumerate(zip(told.tokens, told.mask, strict=True)):
            if mask:
                expected = every[start + place]
                assert told.log_probs[place] == pytest.approx(float(expected[token]), abs=1e-4)
                assert temperature or token == int(expected.argmax())


def test_tokens_come_as_often_as_they_are_likely() -> None:
    count = 6000
    drawn = sample(MODEL, [request(n, [4, 5], 1) for n in range(count)], 1.0, 1, at_once=count)
    with torch.no_grad():
        likely = torch.softmax(MODEL(torch.tensor([[4, 5]]))[0, -1], -1).tolist()
    often = Counter(one.tokens[0] for one in drawn)
    for token, share in enumerate(likely):
        spread = (share * (1 - share) / count) ** 0.5
        assert abs(often[token] / count - share) < 5 * spread + 1e-3


def test_no_sequence_passes_its_limit_or_the_models_context() -> None:
    assert sum(sample(MODEL, [request(1, count=99)], 1.0, 12)[0].mask) == 12
    small = tiny_model(VOCABULARY, context=16)
    told = sample(small, [request(1, [1] * 10, 99), request(2, [1], 99)], 1.0, 50, at_once=1)
    assert [len(one.tokens) for one in told] == [7, 16]  # the last one is never read
    with pytest.raises(ValueError, match="16 tokens"):
        sample(small, [request(1, [1] * 16)], 1.0, 50)


def test_who_is_done_before_the_first_word_says_none() -> None:
    asked = request(1)
    assert isinstance(asked.listener, Until)
    asked.listener.done = True
    told = sample(MODEL, [asked, request(2)], 1.0, 40)
    assert told[0] == Sampled() and told[1].tokens
    assert sample(MODEL, [], 1.0, 40) == []
