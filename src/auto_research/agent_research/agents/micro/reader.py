"""Reads an episode of the agent `micro` word by word, acts it out in a world, and answers.

It keeps no clock and asks no model: what it does follows from the words and the world alone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from auto_research.agent_research.agents.micro.language import (
    MAX_WORDS,
    Definition,
    from_words,
)
from auto_research.agent_research.agents.micro.vocabulary import (
    CALL,
    DEF,
    DONE,
    END,
    ERR,
    OK,
    Vocabulary,
)
from auto_research.benchmarks.base import Observation

Execute = Callable[[str, int | None], Observation]  # `Environment.execute`


@dataclass(frozen=True)
class Called:
    """A CALL of a known skill. `given` if that came from outside and is not defined anew since."""

    name: str
    ok: bool
    given: bool


@dataclass
class Reader:
    """One episode. `units` is what it may cost: 1 a word heard, 1 an action tried in the world.

    `words` and `errors` are the most words heard and the most answers `err`. `end` says why it
    is done: DONE, errors, words or budget.
    """

    vocabulary: Vocabulary
    execute: Execute
    library: Mapping[str, Definition]
    words: int
    errors: int
    units: int
    done: bool = False
    end: str = ""
    heard: int = 0
    erred: int = 0
    steps: int = 0  # answers given
    acts: int = 0  # actions tried in the world, those of calls among them
    acts_in_calls: int = 0
    defined: dict[str, Definition] = field(default_factory=dict)
    calls: list[Called] = field(default_factory=list)
    went_well: list[str] = field(default_factory=list)  # the verbs of actions that did, in turn
    last_tries: dict[tuple[str, str], bool] = field(default_factory=dict)
    _line: list[str] = field(default_factory=list)

    def hear(self, word: str) -> str | None:
        """Take in the next word; the world's answer, if the word ends a line."""
        self.heard += 1
        self._line.append(word)
        answer = self._read()
        if answer is not None:
            self._line = []
            self.steps += 1
            self.erred += not answer
            if self.erred >= self.errors:
                self._ends("errors")
        if self.heard >= self.words:
            self._ends("words")
        if self.heard + self.acts >= self.units:
            self._ends("budget")
        return None if answer is None else OK if answer else ERR

    @property
    def all_went_well(self) -> bool:
        """It said DONE, did something, and the last try of every action went well."""
        return self.end == DONE and bool(self.last_tries) and all(self.last_tries.values())

    def _ends(self, why: str) -> None:
        self.done, self.end = True, self.end or why

    def _read(self) -> bool | None:
        """Whether the line so far went well; None if it goes on (or is the last)."""
        line = self._line
        first = line[0]
        if first in self.vocabulary.verbs:
            return self._act([(first, line[1])]) if len(line) == 2 else None
        if first == DEF:
            return self._define() if line[-1] == END or len(line) == MAX_WORDS else None
        if first == CALL:
            return self._call() if len(line) > 1 else None
        if first == DONE:
            self._ends(DONE)
            return None
        return False

    def _define(self) -> bool:
        try:
            definition = from_words(self._line, self.vocabulary)
        except ValueError:
            return False
        self.defined[definition.name] = definition
        return True

    def _call(self) -> bool | None:
        name, arguments = self._line[1], self._line[2:]
        definition = self.defined.get(name) or self.library.get(name)
        if definition is None:
            return False
        if len(arguments) < len(definition.parameters):
            return None
        before = self.acts
        ok = self._act(definition.actions(arguments))
        self.acts_in_calls += self.acts - before
        self.calls.append(Called(name, ok, name not in self.defined))
        return ok

    def _act(self, actions: Sequence[tuple[str, str]]) -> bool:
        """Try actions in turn, until one fails or the budget ends."""
        affordable = actions[: max(0, self.units - self.heard - self.acts)]
        if not affordable:
            return False
        code = "\n".join(f"{verb} {thing}" for verb, thing in affordable)
        seen = self.execute(code, len(affordable))
        tried = affordable[: seen.calls]
        self.acts += len(tried)
        for number, action in enumerate(tried, start=1):
            ok = number < len(tried) or not seen.failed
            self.last_tries[action] = ok
            if ok:
                self.went_well.append(action[0])
        return not seen.failed and len(affordable) == len(actions)
