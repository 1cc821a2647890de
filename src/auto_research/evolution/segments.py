"""Cuts the words of a direction into segments: what one keep, exclude or use word governs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal

from auto_research.agent_research.operators import SLOTS, Slot
from auto_research.evolution.words import Word

Mode = Literal["use", "keep", "exclude"]


@dataclass(slots=True)
class Segment:
    """What one keep, exclude or use word governs."""

    mode: Mode
    names: list[str] = field(default_factory=list)
    slots: list[Slot] = field(default_factory=list)
    groups: list[str] = field(default_factory=list)
    pairs: list[tuple[str, Slot]] = field(default_factory=list)  # "sage's reward"
    open: bool = False

    def __bool__(self) -> bool:
        return bool(self.names or self.slots or self.groups or self.pairs or self.open)


def segments(words: Iterable[Word]) -> Iterator[Segment]:
    """The segments of a text in order, none of them empty."""
    clause: list[Word] = []
    for word in [*words, Word("break", "")]:
        if word.kind != "break":
            clause.append(word)
            continue
        yield from _of_clause(clause)
        clause = []


def _of_clause(words: Sequence[Word]) -> Iterator[Segment]:
    """The segments of one clause; a keep word behind what it keeps ("reward fixed") counts too."""
    found = [Segment("use")]
    owners: list[str] = []  # names that a slot right behind them belongs to
    owned = False  # such a slot has come: the next name begins anew
    for word in words:
        segment = found[-1]
        if word.kind == "keep" or word.kind == "exclude" or word.kind == "use":
            found.append(Segment(word.kind))
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
        elif word.kind == "stop":
            continue
        owners, owned = [], False
    return _settled(found)


def _add_slot(segment: Segment, owners: Sequence[str], slot: Slot) -> None:
    segment.pairs += [(name, slot) for name in owners]
    segment.names = [name for name in segment.names if name not in owners]
    if not owners:
        segment.slots.append(slot)


def _settled(found: Sequence[Segment]) -> Iterator[Segment]:
    for number, segment in enumerate(found):
        after = found[number + 1] if number + 1 < len(found) else None
        if segment.mode == "use" and segment and after is not None and after.mode == "keep":
            bare = not (segment.names or segment.groups or segment.open or segment.pairs)
            if not after:  # "sage's reward fixed"
                segment.mode = "keep"
            elif bare and after.names and not after.slots:  # "reward fixed to sage's"
                after.slots, segment.slots = segment.slots, []
        if segment:
            yield segment
