"""Reads a direction, such as "keep sage's reward, try other updates, lower cost", into a space.

No model reads it: the same text and the same installation always give the same reading, which is
printed before anything is spent, together with the words that meant nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from auto_research.agent_research.catalog import Catalog
from auto_research.agent_research.method import Method, resolve_method
from auto_research.agent_research.operators import SLOTS, Slot
from auto_research.benchmarks.base import Json
from auto_research.errors import UserError, did_you_mean
from auto_research.evolution.genome import Allele
from auto_research.evolution.objectives import check_objectives
from auto_research.evolution.segments import Mode, Segment, segments
from auto_research.evolution.space import Space, alleles
from auto_research.evolution.words import Word, read_words, vocabulary

BASELINE = "sage"  # what every champion is held against
OBJECTIVES = ("joint success up", "total cost down")  # both count in every search
CONTROL = "control"  # the citation of what is from no paper


@dataclass(frozen=True, slots=True)
class Reading:
    """What a direction came to. `searched` has the operators of each slot that varies.

    `base` is the method that fills every slot the direction says nothing about.
    """

    searched: Mapping[Slot, tuple[str, ...]]
    fixed: Mapping[Slot, Allele]
    base: str
    unknown: tuple[str, ...] = ()

    def lines(self) -> Iterator[str]:
        """The reading in words."""
        parts = [f"{slot} in {{{', '.join(uses)}}}" for slot, uses in self.searched.items()]
        parts += [f"{slot} fixed to {allele.use}" for slot, allele in self.fixed.items()]
        yield f"searching: {', '.join(parts)}; objectives: {', '.join(OBJECTIVES)}"
        if self.unknown:
            yield f"not understood: {', '.join(map(repr, self.unknown))}"

    def to_json(self) -> dict[str, Json]:
        """The reading as plain data."""
        return {
            "searched": {slot: list(uses) for slot, uses in self.searched.items()},
            "fixed": {slot: allele.to_dict() for slot, allele in self.fixed.items()},
            "base": self.base,
            "objectives": list(OBJECTIVES),
            "not_understood": list(self.unknown),
        }


def read_direction(text: str, catalog: Catalog) -> Reading:
    """The reading of `text`. Raises UserError if it contradicts itself or leaves nothing."""
    words = list(read_words(text, vocabulary(_names(catalog))))
    check_objectives(words)
    said = list(segments(words))
    unknown = _unknown(words, said, catalog)
    if not (unknown or any(letter.isalnum() for letter in text)):
        unknown = (text.strip()[:40],) if text.strip() else ()
    return _Reader(catalog, [segment for segment in said if segment]).reading(unknown)


def space_of(reading: Reading, catalog: Catalog) -> Space:
    """The alleles that a reading leaves to choose from. Raises UserError if there is no choice."""
    methods = known_methods(catalog, first=(reading.base, BASELINE))
    found: dict[Slot, tuple[Allele, ...]] = {}
    for slot in SLOTS:
        if slot in reading.fixed:
            found[slot] = (reading.fixed[slot],)
            continue
        uses = reading.searched[slot]
        found[slot] = tuple(a for use in uses for a in alleles(slot, use, catalog, methods))
        if not found[slot]:
            raise UserError(f"no operator of {slot} can be set up from its defaults: {uses}")
    space = Space(found)
    if space.size < 2:
        raise UserError(
            "the direction leaves a single genome, so there is nothing to search",
            where="--direction",
            mend="name operators to try, or a slot to vary",
        )
    return space


def known_methods(catalog: Catalog, first: Sequence[str] = ()) -> list[Method]:
    """The installed methods that resolve, those of `first` before the others, which go by name."""
    names = [*dict.fromkeys(name for name in first if name in catalog.methods)]
    found = []
    for name in [*names, *sorted(set(catalog.methods) - set(names))]:
        try:
            found.append(resolve_method(catalog.methods[name].value, catalog))
        except UserError:  # loading the plugins has warned of it
            continue
    return found


def _names(catalog: Catalog) -> dict[str, str]:
    """Everything that can be named, in small letters; also `memp` for operators `memp.*`."""
    operators = [name for slot in SLOTS for name in catalog.operators[slot]]
    names = [*(name.partition(".")[0] for name in operators if "." in name), *operators]
    return {name.lower(): name for name in [*names, *catalog.methods]}


def _unknown(words: Iterable[Word], said: Iterable[Segment], catalog: Catalog) -> tuple[str, ...]:
    """What was not understood, each once, with the name that may be meant.

    After it the exclude words that exclude nothing.
    """
    lost = dict.fromkeys(word.value[:40] for word in words if word.kind == "unknown")
    told = []
    for word in list(lost)[:20]:
        mend = did_you_mean(word, _names(catalog)) if word.isascii() and len(word) > 2 else ""
        told.append(f"{word} ({mend})" if mend.startswith("did") else word)
    return (*told, *dict.fromkeys(segment.denial for segment in said if segment.lost))


class _Reader:
    """Turns segments into the operators of each slot."""

    def __init__(self, catalog: Catalog, said: Sequence[Segment]) -> None:
        self.catalog, self.segments = catalog, said
        named = [*self._methods_in("keep", alone=True), *self._methods_in("keep", "use")]
        methods = known_methods(catalog, first=(*named, BASELINE))
        if not methods:
            raise UserError("no method is installed to start from")
        self.methods, self.base = methods, methods[0]
        self.pools: dict[Slot, dict[str, None]] = {slot: {} for slot in SLOTS}
        self.fixed: dict[Slot, dict[str, Method | None]] = {slot: {} for slot in SLOTS}
        self.barred: dict[Slot, set[str]] = {slot: set() for slot in SLOTS}
        self.kept_whole = False

    def reading(self, unknown: tuple[str, ...]) -> Reading:
        for segment in self.segments:
            {"use": self._use, "keep": self._keep, "exclude": self._exclude}[segment.mode](segment)
        named = any(self.pools.values()) or any(self.fixed.values()) or self.kept_whole
        searched: dict[Slot, tuple[str, ...]] = {}
        fixed: dict[Slot, Allele] = {}
        for slot in SLOTS:
            uses = self._settle(slot, named)
            if isinstance(uses, Allele):
                fixed[slot] = uses
            else:
                searched[slot] = uses
        return Reading(searched, fixed, self.base.name, unknown)

    def _use(self, segment: Segment) -> None:
        slots = segment.slots or SLOTS
        for name, slot in segment.pairs:
            self._add(self._owned(name, slot))
        for name in segment.names:
            self._add((s, use) for s, use in self._parts(name) if s in slots or not segment.slots)
        for group in segment.groups:
            self._add(self._group(group, slots))
        if segment.open or (segment.slots and not (segment.names or segment.groups)):
            self._add(self._group("papers", slots))

    def _keep(self, segment: Segment) -> None:
        for name, slot in segment.pairs:
            self._fix(name, slot)
        for name in segment.names:
            if segment.slots:
                for slot in segment.slots:
                    self._fix(name, slot)
            elif self._method(name) is not None:
                self.kept_whole = True
            else:
                for slot, use in self._parts(name):
                    self.fixed[slot][use] = None
        if not segment.names:
            for slot in segment.slots:
                self._fix(self.base.name, slot)
        for group in segment.groups:
            self._add(self._group(group, segment.slots or SLOTS))

    def _exclude(self, segment: Segment) -> None:
        for name, slot in segment.pairs:
            self._bar(self._owned(name, slot))
        for name in segment.names:
            parts = self._family(name) or self._parts(name)
            self._bar((s, use) for s, use in parts if not segment.slots or s in segment.slots)
        for group in segment.groups:
            self._bar(self._group(group, segment.slots or SLOTS))
        if not (segment.names or segment.groups):
            for slot in segment.slots:
                self._do_without(slot)

    def _do_without(self, slot: Slot) -> None:
        if "none" not in self.catalog.operators[slot]:
            raise UserError(f"there is no method without {slot}", where="--direction")
        self.fixed[slot]["none"] = None

    def _fix(self, name: str, slot: Slot) -> None:
        for at, use in self._owned(name, slot):
            self.fixed[at][use] = self._method(name)

    def _settle(self, slot: Slot, named: bool) -> tuple[str, ...] | Allele:
        """What is left for a slot: the operators to search, or what it is fixed to."""
        barred, pool = self.barred[slot], self.pools[slot]
        kept = list(self.fixed[slot])
        if len(kept) > 1:
            raise _contradiction(f"{slot} is to be fixed to {kept[0]} and to {kept[1]}")
        if kept:
            if kept[0] in barred:
                raise _contradiction(f"{kept[0]} is to be kept and to be left out")
            return self._allele(slot, kept[0], self.fixed[slot][kept[0]])
        base = self.base.slots()[slot]
        if not pool and self.kept_whole and base.use in barred:
            raise _contradiction(f"{base.use} is to be kept and to be left out")
        if not pool and named and base.use not in barred:
            return Allele.of(slot, base)
        uses = [use for use in pool or self._papers(slot) if use not in barred]
        if not uses:
            raise UserError(
                f"the direction leaves no operator for {slot}",
                where="--direction",
                mend="leave fewer out, or name one to use",
            )
        return tuple(uses)

    def _allele(self, slot: Slot, use: str, owner: Method | None) -> Allele:
        """An operator as a method sets it: its owner's, else the first that uses it, else as is."""
        methods = ([owner] if owner is not None else []) + self.methods
        found = alleles(slot, use, self.catalog, methods)
        if not found:
            raise UserError(f"operator {use!r} cannot be set up from its defaults")
        return found[0]

    def _add(self, parts: Iterable[tuple[Slot, str]]) -> None:
        for slot, use in parts:
            self.pools[slot][use] = None

    def _bar(self, parts: Iterable[tuple[Slot, str]]) -> None:
        for slot, use in parts:
            self.barred[slot].add(use)

    def _method(self, name: str) -> Method | None:
        return next((method for method in self.methods if method.name == name), None)

    def _parts(self, name: str) -> list[tuple[Slot, str]]:
        """The operators that a name stands for: a method's, that operator, or all of a family."""
        method = self._method(name)
        if method is not None:
            return [(slot, filled.use) for slot, filled in method.slots().items()]
        exact = [(slot, name) for slot in SLOTS if name in self.catalog.operators[slot]]
        return exact or self._family(name)

    def _family(self, name: str) -> list[tuple[Slot, str]]:
        return [
            (slot, use)
            for slot in SLOTS
            for use in sorted(self.catalog.operators[slot])
            if use.startswith(f"{name}.")
        ]

    def _owned(self, name: str, slot: Slot) -> list[tuple[Slot, str]]:
        """The operator that `name` has in `slot`. Raises UserError if it has none there."""
        found = [(s, use) for s, use in self._parts(name) if s == slot]
        if not found:
            where = ", ".join(dict.fromkeys(s for s, _ in self._parts(name)))
            raise UserError(
                f"{name!r} has no operator for {slot}", where="--direction", mend=f"it has {where}"
            )
        return found

    def _papers(self, slot: Slot) -> list[str]:
        return [use for _, use in self._group("papers", (slot,))]

    def _group(self, group: str, slots: Sequence[Slot]) -> list[tuple[Slot, str]]:
        def member(citation: str) -> bool:
            return group == "all" or (citation == CONTROL) == (group == "controls")

        return [
            (slot, use)
            for slot in slots
            for use, entry in sorted(self.catalog.operators[slot].items())
            if member(entry.value.citation)
        ]

    def _methods_in(self, *modes: Mode, alone: bool = False) -> Iterator[str]:
        for segment in self.segments:
            if segment.mode in modes:
                owners = [] if alone or segment.slots else [name for name, _ in segment.pairs]
                names = [] if alone and segment.slots else segment.names
                yield from (n for n in [*owners, *names] if n in self.catalog.methods)


def _contradiction(what: str) -> UserError:
    return UserError(
        f"the direction contradicts itself: {what}", where="--direction", mend="say one of the two"
    )
