"""A genome: one operator with its settings for each slot, and the method that it stands for."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from auto_research.agent_research.catalog import Catalog, MethodSource
from auto_research.agent_research.method import Filled, Method, resolve_method
from auto_research.agent_research.operators import SLOTS, Slot
from auto_research.benchmarks.base import Json


@dataclass(frozen=True, slots=True)
class Allele:
    """What may stand in a slot. `settings` is JSON with sorted keys, every setting present."""

    slot: Slot
    use: str
    settings: str

    @staticmethod
    def of(slot: Slot, filled: Filled) -> Allele:
        """The allele that a filled slot stands for."""
        return Allele(
            slot, filled.use, json.dumps(filled.settings.model_dump(mode="json"), sort_keys=True)
        )

    @property
    def key(self) -> str:
        """A name that no other allele of the slot has."""
        return f"{self.use} {self.settings}"

    def to_dict(self) -> dict[str, Json]:
        """The slot as a method file writes it."""
        return {"use": self.use, **json.loads(self.settings)}


@dataclass(frozen=True)
class Genome:
    """An allele for each slot, in the slots' fixed order."""

    alleles: tuple[Allele, ...]

    def slots(self) -> Mapping[Slot, Allele]:
        """The alleles by slot."""
        return dict(zip(SLOTS, self.alleles, strict=True))

    def to_dict(self) -> dict[str, Json]:
        """The four slots as a method file writes them."""
        return {slot: allele.to_dict() for slot, allele in self.slots().items()}

    @cached_property
    def hash(self) -> str:
        """What `Method.content_hash` gives for this genome's method."""
        return content_hash(self.to_dict())

    def method(self, catalog: Catalog) -> Method:
        """The method of this genome, checked. Raises UserError as `resolve_method` does.

        Named after its content; its citation is those of its operators.
        """
        cited = {
            catalog.operators[slot][allele.use].value.citation: None
            for slot, allele in self.slots().items()
        }
        data: dict[str, Any] = {
            "name": f"evolved-{self.hash[:8]}",
            "summary": "found by auto-research evolve",
            "citation": "; ".join(text for text in cited if text != "control") or "control",
            **self.to_dict(),
        }
        return resolve_method(MethodSource(data, f"genome {self.hash[:8]}"), catalog)


def genome_of(method: Method) -> Genome:
    """The genome that a method stands for, in the space or not."""
    return Genome(tuple(Allele.of(slot, filled) for slot, filled in method.slots().items()))


def content_hash(slots: Mapping[str, Json]) -> str:
    """SHA-256 (hex) of four filled slots; the same as that of the method they make."""
    from hashlib import sha256

    text = json.dumps(slots, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return sha256(text.encode()).hexdigest()
