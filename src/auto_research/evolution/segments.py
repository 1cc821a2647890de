"""Cuts the words of a direction into segments: what one keep, exclude or use word governs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal

from auto_research.agent_research.operators import SLOTS, Slot
from auto_research.evolution.words import CHANGE, Word

Mode = Literal["use", "keep", "exclude"]


@dataclass(slots=True)
class Segment:
    """What one keep, exclude or use word governs.

    `denial` is the exclude word that began it, whatever its mode has become since: see `_turn`.
    """

    mode: Mode
    denial: str = ""
    began: bool = False  # by a word of its own, not by the clause
    names: list[str] = field(default_factory=list)
    slots: list[Slot] = field(default_factory=list)
    groups: list[str] = field(default_factory=list)
    pairs: list[tuple[str, Slot]] = field(default_factory=list)  # "sage's reward"
    open: bool = False
    unread: bool = False  # has a word that is not known
    aimed: bool = False  # what it denies is "higher" or "lower"
    unkept: bool = False  # what it denies is "keep"

    def __bool__(self) -> bool:
        return bool(self.named or self.slots or self.open)

    @property
    def named(self) -> bool:
        """Whether it says more than slots."""
        return bool(self.names or self.groups or self.pairs)

    @property
    def lost(self) -> bool:
        """Whether its exclude word came to nothing, which must be told."""
        return bool(self.denial) and not self and (self.unread or not self.aimed)


def segments(words: Iterable[Word]) -> Iterator[Segment]:
    """The segments of a text in order, none of them empty but for those that are `lost`."""
    clause: list[Word] = []
    for word in [*words, Word("break", "")]:
        if word.kind != "break":
            clause.append(word)
            continue
        yield from _settled(_of_clause(clause))
        clause = []


def _of_clause(words: Sequence[Word]) -> list[Segment]:
    """The segments of one clause; a keep word behind what it keeps ("reward fixed") counts too."""
    found = [Segment("use")]
    owners: list[str] = []  # names that a slot right behind them belongs to
    owned = False  # such a slot has come: the next name begins anew
    denied = False  # an exclude word has just come, and nothing that it might deny
    for word in words:
        segment = found[-1]
        if word.kind == "stop":
            continue
        if denied and word.kind in ("use", "keep", "exclude", "up", "down"):
            denied = _turn(segment, word)
            continue
        denied = word.kind == "exclude"
        if word.kind == "keep" or word.kind == "exclude" or word.kind == "use":
            found.append(Segment(word.kind, word.value if denied else "", began=True))
        elif word.kind == "name":
            owners, owned = [*([] if owned else owners), word.value], False
            segment.names.append(word.value)
            continue
        elif word.kind == "slot":
            _add_slot(segment, owners, next(slot for slot in SLOTS if slot == word.value))
            owned = True
            continue
        elif word.kind == "group":
            segment.groups.append(word.value)
        elif word.kind == "open":
            segment.open = True
        elif word.kind == "unknown":
            segment.unread = True
        elif word.kind == "up" or word.kind == "down":  # "no cost increase"
            segment.aimed |= bool(segment.denial) and not (segment or segment.unread)
        owners, owned = [], False
    return found


def _turn(segment: Segment, word: Word) -> bool:
    """What an exclude word makes of the word that it denies; whether it may deny the next too.

    "do not use memp" leaves it out, "do not change the reward" keeps it, "do not leave out memp"
    uses it. "never lower" says nothing of operators.
    """
    if word.kind == "exclude":
        segment.mode = "use" if segment.mode == "exclude" else "exclude"
    elif word.kind == "use" and word.value == CHANGE:
        segment.mode = "keep" if segment.mode == "exclude" else "use"
    elif word.kind == "keep":
        segment.unkept = True
    elif word.kind in ("up", "down"):
        segment.aimed = True
    return word.kind in ("use", "exclude")


def _add_slot(segment: Segment, owners: Sequence[str], slot: Slot) -> None:
    segment.pairs += [(name, slot) for name in owners]
    segment.names = [name for name in segment.names if name not in owners]
    if not owners:
        segment.slots.append(slot)


def _settled(found: Sequence[Segment]) -> Iterator[Segment]:
    for number, segment in enumerate(found):
        after = found[number + 1] if number + 1 < len(found) else None
        if segment.mode == "use" and segment and after is not None and after.mode == "keep":
            bare = not (segment.named or segment.open)
            if not after:  # "sage's reward fixed"
                segment.mode, after.denial = "keep", ""
            elif bare and after.names and not after.slots:  # "reward fixed to sage's"
                after.slots, segment.slots = segment.slots, []
        if after is not None and after.lost and not after.unread:
            _deny_behind(segment, after)
        _ease(segment)
        if segment or segment.lost:
            yield segment


def _deny_behind(segment: Segment, after: Segment) -> None:
    """Leave out what was named if the words behind it say so, as in "memp 不要用"."""
    if segment.mode != "use" or segment.began or after.mode != "exclude":
        return
    if segment.named:
        segment.mode, after.denial = "exclude", ""
    elif segment and after.unkept:  # "reward not fixed"
        after.denial = ""


def _ease(segment: Segment) -> None:
    """A slot alone that is not to be kept is searched, one that is not to be raised is kept.

    With names it is not clear what "no higher" says of them, so that is given up, and told.
    """
    if segment.unkept and not segment.named:
        segment.mode = "use"
    if segment.aimed and segment.named:
        segment.names, segment.slots, segment.groups, segment.pairs = [], [], [], []
        segment.open, segment.unread = False, True
    elif segment.aimed:
        segment.mode = "keep"
