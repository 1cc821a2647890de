"""The words that the agent `micro` reads and writes, by number; saved with every checkpoint.

The words of the language are the same everywhere; those of the world come from the world, so that
nothing here knows one. A world's words are in three parts, since a skill may say `verb object`
and nothing else.
"""

from __future__ import annotations

import keyword
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from auto_research.benchmarks.base import Json
from auto_research.errors import UserError, did_you_mean

PAD, LIB, DEF, COLON, END, CALL, DONE = "<pad>", "LIB", "DEF", ":", "END", "CALL", "DONE"
OK, ERR = "ok", "err"
SKILLS = tuple(f"s{number}" for number in range(6))
PARAMETERS = ("pa", "pb", "pc", "pd")
LANGUAGE = (PAD, LIB, DEF, COLON, END, CALL, DONE, OK, ERR, *SKILLS, *PARAMETERS)


@dataclass(frozen=True)
class Vocabulary:
    """`verbs` open an action, `objects` are what one may be done to, `others` stand in prompts.

    `world` names the kind of world that the words are of, for the skills written in it. Raises
    ValueError for words that are not distinct, or that no skill could be written with.
    """

    world: str
    verbs: tuple[str, ...]
    objects: tuple[str, ...]
    others: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if len(self.ids) != len(self.words):
            twice = sorted({word for word in self.words if self.words.count(word) > 1})
            raise ValueError(f"words that are there twice: {', '.join(twice)}")
        for word in (*self.verbs, *self.objects):
            if not word.isidentifier() or keyword.iskeyword(word):
                raise ValueError(f"{word!r} cannot stand in a Python function")
        for word in self.others:
            if word.split() != [word]:
                raise ValueError(f"{word!r} is not one word")

    @cached_property
    def words(self) -> tuple[str, ...]:
        """Every word; its place is its number."""
        return (*LANGUAGE, *self.verbs, *self.objects, *self.others)

    @cached_property
    def ids(self) -> Mapping[str, int]:
        """The number of every word."""
        return {word: number for number, word in enumerate(self.words)}

    def encode(self, words: Iterable[str]) -> list[int]:
        """The numbers of `words`. Raises UserError for one that is unknown."""
        try:
            return [self.ids[word] for word in words]
        except KeyError as error:
            word = str(error.args[0])
            raise UserError(
                f"the model knows no word {word!r}", mend=did_you_mean(word, self.words)
            ) from None

    def decode(self, ids: Iterable[int]) -> list[str]:
        """The words of numbers."""
        return [self.words[number] for number in ids]

    def to_json(self) -> dict[str, Json]:
        """As plain data; `from_json` takes it back."""
        return {
            "world": self.world,
            "verbs": list(self.verbs),
            "objects": list(self.objects),
            "others": list(self.others),
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Json]) -> Vocabulary:
        """Raises ValueError for what is no vocabulary."""
        parts = (_words(data, part) for part in ("verbs", "objects", "others"))
        return cls(str(data.get("world", "")), *parts)


def _words(data: Mapping[str, Json], part: str) -> tuple[str, ...]:
    words = data.get(part)
    if isinstance(words, str) or not isinstance(words, Sequence):
        raise ValueError(f"a vocabulary without {part}")
    return tuple(str(word) for word in words)
