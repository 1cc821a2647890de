"""One attempt of the agent `micro`: the prompt, the sequence, and what came of it.

Retrieved skills stand before the task's words: ``LIB DEF s0 pa pb : ... END INIT ... GO``.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from auto_research.agent_research.agents.base import Attempt
from auto_research.agent_research.agents.micro.language import Definition, from_source
from auto_research.agent_research.agents.micro.options import Limits
from auto_research.agent_research.agents.micro.reader import Reader
from auto_research.agent_research.agents.micro.sampler import Request, Sampled
from auto_research.agent_research.agents.micro.vocabulary import LIB, Vocabulary
from auto_research.agent_research.budget import Meter
from auto_research.agent_research.operators import Use
from auto_research.agent_research.rows import TranscriptLine
from auto_research.agent_research.skill import Skill
from auto_research.benchmarks.base import Environment, Json, Submission
from auto_research.errors import BudgetExceeded

Ask = Callable[[Request], Sampled]


@dataclass
class Listening:
    """A reader of words as a listener to their numbers."""

    reader: Reader

    @property
    def done(self) -> bool:
        return self.reader.done

    def hear(self, token: int) -> int | None:
        """See `sampler.Listener`."""
        vocabulary = self.reader.vocabulary
        answer = self.reader.hear(vocabulary.words[token])
        return None if answer is None else vocabulary.ids[answer]


@dataclass(frozen=True)
class Chosen:
    """The skills that stand before the task, and why each of the others does not."""

    given: Mapping[str, tuple[Skill, Definition]]  # by name, the best last
    refused: Mapping[str, str]  # by id


def chosen_of(skills: Sequence[Skill], vocabulary: Vocabulary, most: int) -> Chosen:
    """The first `most` of `skills`, best first, that fit the language under names of their own."""
    given: dict[str, tuple[Skill, Definition]] = {}
    refused: dict[str, str] = {}
    for skill in skills:
        try:
            definition = definition_of(skill, vocabulary)
        except ValueError as error:
            refused[skill.id] = f"not in the language: {error}"
            continue
        if definition.name in given:
            refused[skill.id] = "a better one has its name"
        elif len(given) == most:
            refused[skill.id] = f"{most} better ones are shown"
        else:
            given[definition.name] = (skill, definition)
    return Chosen(dict(reversed(list(given.items()))), refused)


def definition_of(skill: Skill, vocabulary: Vocabulary) -> Definition:
    """The skill in the language. Raises ValueError with the reason why it is not."""
    if skill.kind != "function":
        raise ValueError("a text")
    if skill.interface.get("world") != vocabulary.world:
        raise ValueError("for another kind of world")
    return from_source(skill.source, vocabulary)


def prompt_of(task: str, given: Sequence[Definition], vocabulary: Vocabulary) -> list[int]:
    """What the model gets to read: skills, then the task. Raises UserError for unknown words."""
    library = [word for definition in given for word in definition.words()]
    return vocabulary.encode([LIB, *library, *task.split()])


def attempt(
    skills: Sequence[Skill],
    words: str,
    world: Environment,
    vocabulary: Vocabulary,
    limits: Limits,
    meter: Meter,
    rng: random.Random,
    ask: Ask,
) -> Attempt:
    """The whole attempt at the task that is told in `words`. Raises UserError as `prompt_of`."""
    chosen = chosen_of(skills, vocabulary, limits.skills)
    library = {name: definition for name, (_, definition) in chosen.given.items()}
    prompt = prompt_of(words, list(library.values()), vocabulary)
    try:
        most = _affordable(meter, len(prompt), limits.words)
    except BudgetExceeded as error:
        line = TranscriptLine("budget", f"out of budget: {error}")
        return Attempt(Submission(), False, transcript=(line,))
    reader = Reader(vocabulary, world.execute, library, most, limits.errors, meter.left())
    sampled = Sampled()
    try:
        sampled = ask(Request(prompt, Listening(reader), rng))
    finally:
        _charge(meter, reader, len(prompt))
    return _told(chosen, reader, prompt, sampled)


def _affordable(meter: Meter, prompt: int, words: int) -> int:
    """How many words the model may write so that no cap is passed. Raises BudgetExceeded."""
    caps = meter.budget.caps()
    left = {name: cap - meter.totals[name] for name, cap in caps.items()}
    # A word may be answered by another one, and end a step.
    most = min(
        words, left.get("steps", words), (left.get("tokens", prompt + 2 * words) - prompt) // 2
    )
    needs = {"units": 1, "model_calls": 1, "steps": 1, "tokens": prompt + 2}
    for name, need in needs.items():
        if left.get(name, need) < need:
            raise BudgetExceeded(name, need, meter.totals[name], caps[name])
    return most


def _charge(meter: Meter, reader: Reader, prompt: int) -> None:
    """A unit a word written and a unit an action; tokens are those read, written and answered."""
    meter.spend("generate", reader.heard)
    meter.spend("act", reader.acts)
    meter.count("steps", reader.steps)
    meter.count("tokens", prompt + reader.heard + reader.steps)
    meter.count("model_calls")
    meter.totals["generated"] += reader.heard


def _told(chosen: Chosen, reader: Reader, prompt: Sequence[int], sampled: Sampled) -> Attempt:
    vocabulary = reader.vocabulary
    acted = any(thing in vocabulary.objects for _, thing in reader.last_tries)
    said = " ".join(vocabulary.decode(sampled.tokens))
    return Attempt(
        submission=Submission(payload={"actions": reader.acts} if acted else {}),
        own_check=reader.all_went_well,
        uses=tuple(_uses(chosen, reader)),
        steps=reader.steps,
        transcript=(
            TranscriptLine("prompt", " ".join(vocabulary.decode(prompt))),
            TranscriptLine("said", f"{said} [{reader.end}]"),
        ),
        evidence=_evidence(reader, prompt, sampled),
        actions=tuple(f"{verb}<>" for verb in reader.went_well),
    )


def _uses(chosen: Chosen, reader: Reader) -> list[Use]:
    uses = [Use(id_, False, False, sound=False, detail=why) for id_, why in chosen.refused.items()]
    for name, (skill, _) in reversed(list(chosen.given.items())):
        calls = [call for call in reader.calls if call.given and call.name == name]
        failed = sum(not call.ok for call in calls)
        uses.append(
            Use(
                skill.id,
                called=bool(calls),
                helped=bool(calls) and reader.all_went_well,
                sound=not calls or calls[-1].ok,
                detail=f"called {len(calls)} times, {failed} of them failed" if calls else "",
            )
        )
    return uses


def _evidence(reader: Reader, prompt: Sequence[int], sampled: Sampled) -> Json:
    """What training and the skill writer need."""
    return {
        "prompt": list(prompt),
        "tokens": sampled.tokens,
        "mask": sampled.mask,
        "log_probs": sampled.log_probs,
        "defined": {name: d.source() for name, d in reader.defined.items()},
        "calls": [[call.name, call.ok, call.given] for call in reader.calls],
        "acts": reader.acts,
        "acts_in_calls": reader.acts_in_calls,
        "errors": reader.erred,
        "end": reader.end,
    }
