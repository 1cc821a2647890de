"""What a search may choose from: for each slot the operators with their settings, as alleles.

An allele is an operator with all its settings, so that a child takes both from one parent. For
each operator they are: the settings of the installed methods that use it, its defaults, and from
each of these every step that changes one setting to a neighbouring value (`neighbours`).
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from random import Random
from typing import Any, Literal, get_args, get_origin

from annotated_types import Ge, Gt, Le, Lt
from pydantic import ValidationError
from pydantic.fields import FieldInfo

from auto_research.agent_research.catalog import Catalog
from auto_research.agent_research.method import Filled, Method
from auto_research.agent_research.operators import SLOTS, Settings, Slot
from auto_research.evolution.genome import Allele, Genome

HINT = "search"  # in a field's json_schema_extra: the values to try; empty: leave it alone


@dataclass(frozen=True)
class Space:
    """The alleles of every slot, best known first; none is empty."""

    alleles: Mapping[Slot, tuple[Allele, ...]]

    @cached_property
    def size(self) -> int:
        """How many different genomes there are."""
        return math.prod(len(self.alleles[slot]) for slot in SLOTS)

    @cached_property
    def _operators(self) -> Mapping[Slot, tuple[tuple[Allele, ...], ...]]:
        """The alleles of every slot by operator."""
        return {
            slot: tuple(
                tuple(allele for allele in self.alleles[slot] if allele.use == use)
                for use in dict.fromkeys(allele.use for allele in self.alleles[slot])
            )
            for slot in SLOTS
        }

    def draw_allele(self, slot: Slot, rng: Random) -> Allele:
        """An operator, then its settings: one with many settings is not drawn more often."""
        return rng.choice(rng.choice(self._operators[slot]))

    def draw(self, rng: Random) -> Genome:
        """A genome, every slot drawn by itself."""
        return Genome(tuple(self.draw_allele(slot, rng) for slot in SLOTS))

    def project(self, method: Method) -> Genome:
        """The genome nearest to `method`: its allele; else its operator's first; else the first."""
        return Genome(tuple(self._nearest(slot, filled) for slot, filled in method.slots().items()))

    def everything(self) -> Iterator[Genome]:
        """All genomes in a fixed order."""
        return map(Genome, product(*(self.alleles[slot] for slot in SLOTS)))

    def _nearest(self, slot: Slot, filled: Filled) -> Allele:
        wanted = Allele.of(slot, filled)
        same = [allele for allele in self.alleles[slot] if allele.use == filled.use]
        return wanted if wanted in same else (same or self.alleles[slot])[0]


def alleles(slot: Slot, use: str, catalog: Catalog, methods: Sequence[Method]) -> list[Allele]:
    """Every allele of one operator: as `methods` set it, as it comes, and one step from each."""
    kind = catalog.operators[slot][use].value.settings_type
    starts: list[Settings] = [
        method.slots()[slot].settings for method in methods if method.slots()[slot].use == use
    ]
    plain = _checked(kind, {})
    starts += [plain] if plain is not None else []
    steps = [step for start in starts for step in _one_step_from(start)]
    return list(
        dict.fromkeys(Allele.of(slot, Filled(use, settings)) for settings in starts + steps)
    )


def neighbours(field: FieldInfo, value: Any) -> list[Any]:
    """The other values to try for a setting that stands at `value`; none: it does not vary.

    The field's own hint (``json_schema_extra={"search": [...]}``) comes first. Else: the other
    truth value; the other words of a Literal; for a number with both bounds half-way to each of
    them, for one with a single bound its half and its double. An unbounded number, a text, and
    anything nested stay as they are.
    """
    extra = field.json_schema_extra
    hint = extra.get(HINT) if isinstance(extra, dict) else None
    found: list[Any] = []
    if isinstance(hint, list):
        found = hint
    elif field.annotation is bool:
        found = [not value]
    elif get_origin(field.annotation) is Literal:
        found = list(get_args(field.annotation))
    elif field.annotation in (int, float) and isinstance(value, int | float):
        found = _numbers(field, value)
    return [other for other in found if other != value or type(other) is not type(value)]


def _numbers(field: FieldInfo, value: float) -> list[float]:
    low = next((_bound(m, "ge", "gt") for m in field.metadata if isinstance(m, Ge | Gt)), None)
    high = next((_bound(m, "le", "lt") for m in field.metadata if isinstance(m, Le | Lt)), None)
    if low is None and high is None:
        return []
    if low is not None and high is not None:
        found = [(low + value) / 2, (value + high) / 2]
    else:
        found = [value / 2, value * 2] if value else [-1.0, 1.0]
    if field.annotation is int:
        return list(dict.fromkeys(int(number) for number in found))
    return [round(number, 6) for number in found]


def _bound(limit: object, *names: str) -> float | None:
    value = next((getattr(limit, name) for name in names if hasattr(limit, name)), None)
    return value if isinstance(value, int | float) else None


def _one_step_from(start: Settings) -> Iterator[Settings]:
    kind, plain = type(start), start.model_dump(mode="json")
    for name, field in kind.model_fields.items():
        for other in neighbours(field, getattr(start, name)):
            # A value past a bound, or one that does not go with the others, is no step.
            settings = _checked(kind, {**plain, name: other})
            if settings is not None:
                yield settings


def _checked(kind: type[Settings], values: Mapping[str, Any]) -> Settings | None:
    """Settings that the operator takes, and that a method file can say; else None."""
    try:
        settings = kind.model_validate_json(json.dumps(dict(values), allow_nan=False), strict=True)
        json.dumps(settings.model_dump(mode="json"), allow_nan=False)
    except (ValidationError, ValueError, TypeError):
        return None
    return settings
