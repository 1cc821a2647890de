"""What the first stage learns from: an expert at work in the workshop, in the words of `micro`.

The expert goes through the chains of train scenarios. It knows a task's stations, but acts as one
who has to find them: on the first thing it tries the candidates in turn, and only then reuses what
the world's answers have shown. It works in three styles:

    plain     every action by itself
    define    the first thing by plain actions, then DEF of a skill, then a CALL a thing
    library   a CALL a thing, of a skill from an earlier task of the chain, shown in the prompt

So the prompts hold right skills only, and reuse is in part taught. Every demonstration is acted out
in the task's world, and kept only if the sealed judge accepts what was done there.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any, Literal, Protocol, Self, runtime_checkable

from pydantic import BaseModel, ConfigDict, Field

from auto_research.agent_research.agents.micro.attempt import prompt_of
from auto_research.agent_research.agents.micro.language import Definition
from auto_research.agent_research.agents.micro.options import Limits
from auto_research.agent_research.agents.micro.reader import Reader
from auto_research.agent_research.agents.micro.vocabulary import (
    CALL,
    DONE,
    PARAMETERS,
    SKILLS,
    Vocabulary,
)
from auto_research.agent_research.durable import write_atomic
from auto_research.benchmarks.base import Benchmark, Environment, Evaluator, Submission, Task
from auto_research.benchmarks.workshop import rules
from auto_research.benchmarks.workshop.jobs import Target, Truth
from auto_research.errors import UserError
from auto_research.rng import derive

Style = Literal["plain", "define", "library"]

WORKSHOP = Vocabulary(
    "workshop",
    verbs=("goto", "pick", "drop", *rules.GIVES),
    objects=(*rules.THING_NAMES, *rules.ROOM_NAMES, *rules.STATIONS),
    others=("INIT", "GOAL", "GO", ",", *rules.GIVES.values()),
)
_TASKS = 3  # of a scenario; with more or fewer some are drawn in vain
_HOPELESS = 1000  # demonstrations turned down and none kept
_UNITS = 10_000  # of an episode: the expert is not what a budget is for


class Mixture(BaseModel):
    """How often the expert works in which style (weights), with skills at hand and without.

    Mostly in the skill format, as the paper's first stage is. From a start with as many plain
    demonstrations a policy drops its definitions, whatever the reward pays for them.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    plain: float = Field(default=0.2, ge=0)
    define: float = Field(default=0.8, ge=0)
    plain_with_skills: float = Field(default=0.15, ge=0)
    define_with_skills: float = Field(default=0.15, ge=0)
    library: float = Field(default=0.7, ge=0)

    def draw(self, rng: random.Random, skills: bool) -> Style:
        """The style of the next task. Raises ValueError if none has a weight."""
        styles: tuple[Style, ...] = ("plain", "define", "library")
        weights = (self.plain, self.define, 0.0)
        if skills:
            weights = (self.plain_with_skills, self.define_with_skills, self.library)
        return rng.choices(styles, weights)[0]


@dataclass(frozen=True, slots=True)
class Demonstration:
    """`response` follows `prompt`, both in words; `mask` is 1 where the agent wrote the word, 0
    where the world answered."""

    prompt: tuple[str, ...]
    response: tuple[str, ...]
    mask: tuple[int, ...]
    style: str = ""
    task: str = ""

    def to_json(self) -> dict[str, Any]:
        """A line of the exported file: `prompt` and `response` as any trainer takes them, and the
        response cut into `segments`, of which those with mask 0 are no one's to learn."""
        pairs = zip(self.response, self.mask, strict=True)
        segments = [
            {"text": " ".join(word for word, _ in part), "mask": mask}
            for mask, part in groupby(pairs, key=lambda pair: pair[1])
        ]
        return {
            "prompt": " ".join(self.prompt),
            "response": " ".join(self.response),
            "segments": segments,
            "style": self.style,
            "task": self.task,
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """Raises ValueError if the segments are not the response, or teach nothing."""
        words = [(w, int(s["mask"])) for s in data["segments"] for w in s["text"].split()]
        response = tuple(word for word, _ in words)
        if " ".join(response) != data["response"]:
            raise ValueError("the segments are not the response")
        mask = tuple(mask for _, mask in words)
        if not set(mask) <= {0, 1} or not any(mask):
            raise ValueError("masks are 0 or 1, and not all 0")
        told = str(data.get("style", "")), str(data.get("task", ""))
        return cls(tuple(data["prompt"].split()), response, mask, *told)


@dataclass(frozen=True, slots=True)
class Demonstrated:
    """What was kept, and how many the judge turned down."""

    kept: tuple[Demonstration, ...]
    rejected: int


@runtime_checkable
class Taught(Protocol):
    """A benchmark with an expert's knowledge of its tasks, and worlds to act in."""

    name: str

    def truth(self, task_id: str) -> Truth:
        """See `WorkshopBenchmark.truth`."""

    def environment(self, task: Task, keep: Path | None = None) -> Environment:
        """See `Worldly`."""


def stream_of(seed: int) -> int:
    """The seed of the train scenarios on which the demonstrations of `seed` are acted out."""
    return derive(seed, "demonstrations").randrange(2**31)


def demonstrate(
    benchmark: Benchmark, count: int, seed: int, mixture: Mixture | None = None
) -> Demonstrated:
    """The first `count` accepted demonstrations of `seed`, on train scenarios of a stream that is
    the demonstrations' own. Raises UserError for a benchmark without an expert.
    """
    if not isinstance(benchmark, Taught):
        raise UserError(
            f"benchmark {benchmark.name} has no expert to learn from",
            mend="choose workshop-hid or workshop-base, or start from a checkpoint",
        )
    stream = stream_of(seed)
    judge = benchmark.evaluator("train", stream)
    try:
        return _accepted(benchmark, benchmark, judge, stream, count, mixture or Mixture())
    finally:
        judge.close()


def _accepted(
    benchmark: Benchmark, taught: Taught, judge: Evaluator, stream: int, count: int, mix: Mixture
) -> Demonstrated:
    kept: list[Demonstration] = []
    rejected = drawn = 0
    while len(kept) < count:
        more = -(-(count - len(kept)) // _TASKS)
        scenarios = benchmark.scenarios("train", stream, drawn + more)[drawn:]
        tickets: list[tuple[int, Demonstration]] = []
        for number, scenario in enumerate(scenarios, start=drawn):
            rng = derive(stream, "expert", number)
            library: dict[str, Definition] = {}
            for task in scenario.tasks:
                demonstration, submission = _act(taught, task, library, rng, mix)
                tickets.append((judge.submit(task.id, submission), demonstration))
        for ticket, demonstration in tickets:
            if judge.verdict(ticket).success:
                kept.append(demonstration)
            else:
                rejected += 1
        drawn += len(scenarios)
        if not kept and rejected > _HOPELESS:
            raise UserError(f"the judge of {taught.name} accepts nothing that the expert does")
    return Demonstrated(tuple(kept[:count]), rejected)


def _act(
    taught: Taught, task: Task, library: dict[str, Definition], rng: random.Random, mix: Mixture
) -> tuple[Demonstration, Submission]:
    """One task, with the chain's `library` of skills, which gets what is defined."""
    limits = Limits()
    given = dict(list(library.items())[-limits.skills :])
    style = mix.draw(rng, bool(given))
    words = expert(taught.truth(task.id), style, list(given.values()), rng)
    world = taught.environment(task)
    reader = Reader(WORKSHOP, world.execute, given, limits.words, limits.errors, _UNITS)
    response: list[str] = []
    mask: list[int] = []
    for word in words:
        if reader.done:
            break
        answer = reader.hear(word)
        response.append(word)
        mask.append(1)
        if answer is not None and not reader.done:
            response.append(answer)
            mask.append(0)
    library.update(reader.defined)
    prompt = prompt_of(task.observation["words"], list(given.values()), WORKSHOP)
    demonstration = Demonstration(
        tuple(WORKSHOP.decode(prompt)), tuple(response), tuple(mask), style, task.id
    )
    return demonstration, Submission(payload=world.submission())


def expert(
    truth: Truth, style: Style, skills: Sequence[Definition], rng: random.Random
) -> list[str]:
    """What the expert writes, without the world's answers. `skills` stand before the task."""
    if style == "library":
        return [*_calls(rng.choice(skills).name, truth.targets), DONE]
    first, *others = truth.targets
    words = _by_hand(truth, first, explores=True)
    if style == "plain":
        for target in others:
            words += _by_hand(truth, target)
        return [*words, DONE]
    free = [name for name in SKILLS if name not in {skill.name for skill in skills}]
    thing, start, destination, *_ = PARAMETERS
    body = _by_hand(truth, Target(thing, start, destination))
    pairs = tuple(zip(body[::2], body[1::2], strict=True))
    skill = Definition(rng.choice(free), (thing, start, destination), pairs)
    return [*words, *skill.words(), *_calls(skill.name, others), DONE]


def _by_hand(truth: Truth, target: Target, explores: bool = False) -> list[str]:
    words = ["goto", target.start, "pick", target.thing]
    for operation in truth.operations:
        tried = operation.candidates if explores else (operation.station,)
        for station in tried[: tried.index(operation.station) + 1]:
            words += ["goto", station, operation.name, target.thing]
    return [*words, "goto", target.destination, "drop", target.thing]


def _calls(name: str, targets: Iterable[Target]) -> list[str]:
    return [word for t in targets for word in (CALL, name, t.thing, t.start, t.destination)]


def export(demonstrations: Iterable[Demonstration], path: Path) -> None:
    """Write them as JSON lines; the file is whole or not there."""
    lines = [json.dumps(demonstration.to_json()) + "\n" for demonstration in demonstrations]
    write_atomic(path, "".join(lines).encode())


def imported(path: Path) -> tuple[Demonstration, ...]:
    """What `export` wrote, or another trainer's model said. Raises UserError with the line."""
    found: list[Demonstration] = []
    try:
        lines = path.read_text().splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"demonstrations cannot be read: {error}", where=str(path)) from None
    for number, line in enumerate(lines, start=1):
        try:
            found.append(Demonstration.from_json(json.loads(line)))
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise UserError(
                f"no demonstration: {type(error).__name__}: {error}", where=f"{path}:{number}"
            ) from None
    return tuple(found)
