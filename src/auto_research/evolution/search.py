"""The two arms of a search and the rounds they go in; nothing here runs a method.

Evolution and random search start from the same population, the installed methods, and are charged
the same number of genomes, so whatever sets them apart is the search itself. Each round asks both
arms for a batch, has it evaluated, and tells them: workers and resumed runs see the same genomes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from math import isfinite
from typing import Literal, Protocol

from auto_research.agent_research.method import Method
from auto_research.agent_research.operators import SLOTS, Slot
from auto_research.evolution.genome import Genome
from auto_research.evolution.space import Space
from auto_research.rng import derive

ArmName = Literal["evolution", "random"]
DRAWN = "drawn"  # an allele taken from the space at random
LISTED = "listed"  # an allele of a space that was gone through whole
TRIES = 100  # proposals that were there before, until one is drawn at random


@dataclass(frozen=True, slots=True)
class Fitness:
    """Joint success (up) and total cost (down) on validation. Failed genomes have none."""

    joint: float
    cost: float

    @property
    def order(self) -> tuple[float, float]:
        """Sorts the better first: more success, then less cost."""
        return -self.joint, self.cost


def fitness_of(joint: object, cost: object) -> Fitness | None:
    """The fitness, or None if either is no finite number: a bool, NaN, a text, nothing."""
    if not all(isinstance(v, int | float) and not isinstance(v, bool) for v in (joint, cost)):
        return None
    assert isinstance(joint, int | float) and isinstance(cost, int | float)
    try:
        found = Fitness(float(joint), float(cost))
    except OverflowError:
        return None
    return found if isfinite(found.joint) and isfinite(found.cost) else None


@dataclass(frozen=True, slots=True)
class Proposal:
    """A genome to evaluate, and where it comes from.

    `origins` says for each slot where its allele is from: ``method NAME``, the hash of a parent,
    `DRAWN` or `LISTED`.
    """

    genome: Genome
    origins: Mapping[Slot, str]
    parents: tuple[str, ...] = ()


class Arm(Protocol):
    """Proposes batches and is told what they came to. Never proposes a genome twice."""

    name: ArmName

    def ask(self) -> Sequence[Proposal]:
        """The next batch; empty when there is nothing more."""

    def tell(self, results: Sequence[Fitness | None]) -> None:
        """The fitness of each genome of the last batch, in its order; None for a failed one."""


@dataclass
class RandomArm:
    """Starts from `zero`, then draws uniformly: an operator for each slot, then its settings."""

    space: Space
    zero: Sequence[Proposal]
    population: int
    seed: int
    name: ArmName = "random"
    generation: int = 0
    seen: set[str] = field(default_factory=set)

    def ask(self) -> Sequence[Proposal]:
        batch = list(self.zero) if self.generation == 0 else []
        self.seen.update(proposal.genome.hash for proposal in batch)
        while len(batch) < self.population:
            names = ("evolve", "random", self.generation, len(batch))
            genome = draw_unseen(self.space, self.seen, self.seed, *names)
            batch.append(Proposal(genome, dict.fromkeys(SLOTS, DRAWN)))
        self.generation += 1
        return batch

    def tell(self, results: Sequence[Fitness | None]) -> None:
        """Nothing is learnt."""


@dataclass
class EnumerationArm:
    """Goes through a whole space, `zero` first; `shuffled` for the random arm."""

    space: Space
    zero: Sequence[Proposal]
    population: int
    seed: int
    name: ArmName

    def __post_init__(self) -> None:
        known = {proposal.genome.hash for proposal in self.zero}
        rest = [
            Proposal(genome, dict.fromkeys(SLOTS, LISTED))
            for genome in self.space.everything()
            if genome.hash not in known
        ]
        if self.name == "random":
            derive(self.seed, "evolve", "random", "order").shuffle(rest)
        self._left = iter([*self.zero, *rest])

    def ask(self) -> Sequence[Proposal]:
        return list(islice(self._left, self.population))

    def tell(self, results: Sequence[Fitness | None]) -> None:
        """The order is fixed."""


def draw_unseen(space: Space, seen: set[str], seed: int, *names: object) -> Genome:
    """A genome that is not in `seen`, which it joins. There must be one."""
    drawn = (space.draw(derive(seed, *names, attempt)) for attempt in range(TRIES))
    found = next(g for source in (drawn, space.everything()) for g in source if g.hash not in seen)
    seen.add(found.hash)
    return found


def population_zero(
    space: Space, methods: Sequence[Method], population: int, seed: int
) -> list[Proposal]:
    """The first batch: the `methods` projected on the space, each once, filled up by draws.

    The first method, the baseline, always comes first; the others in a drawn order, so that no
    place in the alphabet is an advantage.
    """
    others = list(methods[1:])
    derive(seed, "evolve", "population zero").shuffle(others)
    found: dict[str, Proposal] = {}
    for method in [*methods[:1], *others]:
        genome = space.project(method)
        origins = {
            slot: f"method {method.name}" if allele.use == method.slots()[slot].use else DRAWN
            for slot, allele in genome.slots().items()
        }
        found.setdefault(genome.hash, Proposal(genome, origins))
    batch = list(found.values())[:population]
    seen = {proposal.genome.hash for proposal in batch}
    while len(batch) < min(population, space.size):
        genome = draw_unseen(space, seen, seed, "evolve", "zero", len(batch))
        batch.append(Proposal(genome, dict.fromkeys(SLOTS, DRAWN)))
    return batch


def open_arms(
    space: Space, methods: Sequence[Method], population: int, generations: int, seed: int
) -> list[Arm]:
    """Evolution and random search; both go through the whole space where the budget covers it."""
    zero = population_zero(space, methods, population, seed)
    if enumerates(space, population, generations):
        names: tuple[ArmName, ArmName] = ("evolution", "random")
        return [EnumerationArm(space, zero, population, seed, name) for name in names]
    from auto_research.evolution.nsga2 import EvolutionArm  # heavy: it loads optuna

    return [
        EvolutionArm(space, zero, population, seed),
        RandomArm(space, zero, population, seed),
    ]


def enumerates(space: Space, population: int, generations: int) -> bool:
    """Whether the budget covers the whole space."""
    return space.size <= population * generations


@dataclass(frozen=True, slots=True)
class Place:
    """Where a proposal stands in a search."""

    arm: ArmName
    generation: int
    proposal: Proposal


def rounds(
    arms: Iterable[Arm],
    generations: int,
    evaluate: Callable[[Sequence[Place]], Sequence[Fitness | None]],
) -> Iterator[int]:
    """Run the search; yields the number of each round that is done.

    `evaluate` is given a batch of every arm at once, and answers in its order.
    """
    arms = list(arms)
    for generation in range(generations):
        batches = [(arm, arm.ask()) for arm in arms]
        places = [Place(arm.name, generation, p) for arm, batch in batches for p in batch]
        if not places:
            return
        answers = iter(evaluate(places))
        for arm, batch in batches:
            arm.tell(list(islice(answers, len(batch))))
        yield generation
