"""Who came from whom: for every genome of a search its parents, slot by slot, and the papers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from auto_research.agent_research.catalog import Catalog
from auto_research.benchmarks.base import Json
from auto_research.evolution.record import Trial


def lineage(trials: Iterable[Trial], catalog: Catalog, champion: str) -> dict[str, Json]:
    """Each genome once, in the order of its first trial, and the champion's ancestors.

    `from` tells where the allele of a slot came from: ``method NAME`` of an installed method, the
    hash of a parent, ``drawn`` at random (as mutation does), or ``listed`` where a whole space
    was gone through. It is noted when a child is made, not worked out afterwards.
    """
    genomes: dict[str, dict[str, Json]] = {}
    for trial in trials:
        proposal = trial.place.proposal
        genomes.setdefault(
            trial.hash,
            {
                "hash": trial.hash,
                "arm": trial.place.arm,
                "generation": trial.place.generation,
                "parents": list(proposal.parents),
                "slots": {
                    slot: {
                        **allele.to_dict(),
                        "citation": catalog.operators[slot][allele.use].value.citation,
                        "from": proposal.origins[slot],
                    }
                    for slot, allele in proposal.genome.slots().items()
                },
            },
        )
    return {
        "champion": champion,
        "ancestors": list(_ancestors(champion, genomes)),
        "genomes": list(genomes.values()),
    }


def _ancestors(genome: str, genomes: Mapping[str, Mapping[str, Json]]) -> list[str]:
    """`genome` and everything it came from, nearest first."""
    found = [genome]
    for known in found:
        parents = genomes[known]["parents"]
        assert isinstance(parents, list)
        found += [parent for parent in map(str, parents) if parent not in found]
    return found
