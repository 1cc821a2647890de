"""A tiny untrained model of the workshop, and a speaker that knows what to say."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import torch

from auto_research.agent_research.agents.micro.agent import MicroAgent
from auto_research.agent_research.agents.micro.checkpoint import Policy, save
from auto_research.agent_research.agents.micro.model import Model, Shape
from auto_research.agent_research.agents.micro.sampler import Request, Sampled
from auto_research.agent_research.agents.micro.vocabulary import Vocabulary
from auto_research.agent_research.together import Together
from auto_research.benchmarks.workshop import Truth, WorkshopBenchmark
from auto_research.benchmarks.workshop.rules import GIVES, OPERATIONS, ROOM_NAMES, STATIONS
from auto_research.benchmarks.workshop.rules import THING_NAMES as THINGS

torch.set_num_threads(1)

WORDS = Vocabulary(
    "workshop",
    verbs=("goto", "pick", "drop", *OPERATIONS),
    objects=(*STATIONS, *ROOM_NAMES, *THINGS),
    others=("INIT", "GOAL", "GO", ",", *GIVES.values()),
)
Speak = Callable[[Sequence[str]], Sequence[str]]  # from the prompt's words to those to say


def tiny_model(words: int = len(WORDS.words), seed: int = 0, context: int = 512) -> Model:
    """A model that takes no time, with weights drawn from `seed`."""
    shape = Shape(words, width=16, layers=2, heads=2, context=context)
    return Model(shape, torch.Generator().manual_seed(seed))


def tiny_policy(seed: int = 0) -> Policy:
    return Policy(tiny_model(seed=seed), WORDS)


def tiny_checkpoint(folder: Path, seed: int = 0) -> Path:
    save(tiny_policy(seed), folder)
    return folder


def speaking(speak: Speak) -> MicroAgent:
    """The agent with a speaker in place of its model; all else is as it is."""
    agent = MicroAgent(tiny_policy())
    agent.together = Together(lambda asked: [_spoken(speak, request) for request in asked])
    return agent


def _spoken(speak: Speak, request: Request) -> Sampled:
    sampled = Sampled()
    for word in speak(WORDS.decode(request.prompt)):
        if request.listener.done:
            break
        answer = request.listener.hear(WORDS.ids[word])
        told = [(WORDS.ids[word], 1, -0.5)]
        if answer is not None and not request.listener.done:
            told.append((answer, 0, 0.0))
        for token, mask, log_prob in told:
            sampled.tokens.append(token)
            sampled.mask.append(mask)
            sampled.log_probs.append(log_prob)
    return sampled


def expert(benchmark: WorkshopBenchmark, *streams: tuple[str, int, int]) -> Speak:
    """Says what does the tasks of streams (split, seed, scenarios): it calls the skill it is
    shown, or does the first thing by hand, defines a skill and calls it for the others.
    """
    truths: dict[str, Truth] = {}
    for split, seed, count in streams:
        for scenario in benchmark.scenarios(split, seed, count):  # type: ignore[arg-type]
            truths |= {t.observation["words"]: benchmark.truth(t.id) for t in scenario.tasks}

    def speak(prompt: Sequence[str]) -> Sequence[str]:
        truth = truths[" ".join(prompt[prompt.index("INIT") :])]
        first, *others = truth.targets
        calls = [("CALL", "s0", t.start, t.thing, t.destination) for t in (first, *others)]
        if "s0" in prompt:
            return [word for call in calls for word in call] + ["DONE"]
        stations = [(o.station, o.name) for o in truth.operations]
        by_hand = _body(first.start, first.thing, first.destination, stations)
        made = ("DEF", "s0", "pa", "pb", "pc", ":", *_body("pa", "pb", "pc", stations), "END")
        return [*by_hand, *made, *(word for call in calls[1:] for word in call), "DONE"]

    return speak


def _body(start: str, thing: str, end: str, stations: Sequence[tuple[str, str]]) -> list[str]:
    done = [word for station, verb in stations for word in ("goto", station, verb, thing)]
    return ["goto", start, "pick", thing, *done, "goto", end, "drop", thing]
