"""Evolution by NSGA-II, from Optuna: it selects who may have children; the children are made here.

Optuna does not tell a child's parents, and its mutation knows no operators. So the sampler is
given a strategy of this project's for children, which crosses whole slots, draws a new allele
now and then, and notes where each allele came from. Everything is drawn by name, so the study
need not be stored: telling it the same results again brings it to the same state.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import optuna
from optuna.distributions import BaseDistribution
from optuna.trial import FrozenTrial

from auto_research.agent_research.operators import SLOTS, Slot
from auto_research.evolution.genome import Allele, Genome
from auto_research.evolution.search import (
    DRAWN,
    TRIES,
    ArmName,
    Fitness,
    Proposal,
    draw_unseen,
)
from auto_research.evolution.space import Space
from auto_research.rng import derive

CROSSOVER = 0.9  # the chance that a child has two parents (Optuna's default)
MUTATION = 0.25  # the chance that a slot of a child is drawn anew: one in four slots
FAILED = (-1.0, 1e12)  # worse than anything that ran


class _Sampler(optuna.samplers.NSGAIISampler):
    """NSGA-II whose first population, and what has but one value, come from `given`."""

    given: Mapping[str, str]

    def sample_independent(
        self,
        study: optuna.Study,
        trial: FrozenTrial,
        param_name: str,
        param_distribution: BaseDistribution,
    ) -> Any:
        return self.given[param_name]


class EvolutionArm:
    """NSGA-II over the four slots (Deb et al. 2002): joint success up, total cost down."""

    name: ArmName = "evolution"

    def __init__(self, space: Space, zero: Sequence[Proposal], population: int, seed: int) -> None:
        self.space, self.seed, self.population = space, seed, population
        self._zero = list(zero)
        self._seen: set[str] = set()
        self._made: Proposal | None = None
        self._place = (0, 0)  # generation and number in it, which name the draws
        self._asked: list[optuna.Trial] = []
        self._genomes: dict[int, Genome] = {}  # by number of the trial
        self._alleles: dict[Slot, dict[str, Allele]] = {
            slot: {allele.key: allele for allele in space.alleles[slot]} for slot in SLOTS
        }
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
            self._sampler = _Sampler(
                population_size=population,
                seed=derive(seed, "evolve", "optuna").getrandbits(32),
                child_generation_strategy=self._child,
            )
        optuna.logging.set_verbosity(optuna.logging.WARNING)
        self._study = optuna.create_study(
            directions=["maximize", "minimize"], sampler=self._sampler
        )

    def ask(self) -> Sequence[Proposal]:
        """Population zero, then children of the best of all that was told."""
        generation = self._place[0]
        batch = []
        for number in range(self.population):
            self._place, self._made = (generation, number), None
            if generation == 0:
                self._made = self._zero[number]
                self._seen.add(self._made.genome.hash)
                self._sampler.given = _parameters(self._made.genome)
            batch.append(self._asked_for())
        self._place = (generation + 1, 0)
        return batch

    def tell(self, results: Sequence[Fitness | None]) -> None:
        """A failed genome takes part as the worst there is, and has no children."""
        for trial, fitness in zip(self._asked, results, strict=True):
            values = FAILED if fitness is None else (fitness.joint, fitness.cost)
            self._study.tell(trial, values)
        self._asked = []

    def _asked_for(self) -> Proposal:
        trial = self._study.ask()
        for slot in SLOTS:
            trial.suggest_categorical(slot, list(self._alleles[slot]))
        if self._made is None:
            raise RuntimeError("the sampler asked for no child")
        self._asked.append(trial)
        self._genomes[trial.number] = self._made.genome
        if trial.params != _parameters(self._made.genome):
            raise RuntimeError("the sampler changed a child")
        return self._made

    def _child(
        self,
        study: optuna.Study,
        search_space: dict[str, BaseDistribution],
        population: list[FrozenTrial],
    ) -> dict[str, Any]:
        """A child that was not there before, as the sampler wants it: a value for each slot."""
        able = [trial for trial in population if tuple(trial.values) != FAILED] or population
        self._made = next(
            (child for n in range(TRIES) if (child := self._bred(able, n)) is not None),
            None,
        ) or Proposal(
            draw_unseen(self.space, self._seen, self.seed, "evolve", "instead", *self._place),
            dict.fromkeys(SLOTS, DRAWN),
        )
        self._seen.add(self._made.genome.hash)
        values = _parameters(self._made.genome)
        self._sampler.given = values
        return {name: values[name] for name in search_space}

    def _bred(self, population: Sequence[FrozenTrial], attempt: int) -> Proposal | None:
        """One child; None if that genome was there before."""
        rng = derive(self.seed, "evolve", "child", *self._place, attempt)
        count = 2 if len(population) > 1 and rng.random() < CROSSOVER else 1
        parents: list[FrozenTrial] = []
        for _ in range(count):
            first, second = rng.choice(population), rng.choice(population)
            parents.append(second if _dominates(second, first) else first)
        chosen, origins = [], dict[Slot, str]()
        for slot in SLOTS:
            parent = self._genomes[rng.choice(parents).number]
            allele, origins[slot] = parent.slots()[slot], parent.hash
            if len(self._alleles[slot]) > 1 and rng.random() < MUTATION:
                allele, origins[slot] = self.space.draw_allele(slot, rng), DRAWN
            chosen.append(allele)
        genome = Genome(tuple(chosen))
        if genome.hash in self._seen:
            return None
        hashes = dict.fromkeys(self._genomes[parent.number].hash for parent in parents)
        return Proposal(genome, origins, tuple(hashes))


def _dominates(one: FrozenTrial, other: FrozenTrial) -> bool:
    """At least as good in both objectives, better in one."""
    (joint, cost), (other_joint, other_cost) = one.values, other.values
    no_worse = joint >= other_joint and cost <= other_cost
    return no_worse and (joint, cost) != (other_joint, other_cost)


def _parameters(genome: Genome) -> dict[str, str]:
    return {slot: allele.key for slot, allele in genome.slots().items()}
