"""The whole of `evolve`: read the direction, search, run champions on test, say what came of it.

Everything that decides a result is in the config; workers, kills and clocks are not. The search is
gone through from its start on every resume: what stands in `trials.jsonl` is not run again.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import yaml

from auto_research.benchmarks.base import Json
from auto_research.errors import UserError
from auto_research.evolution.claim import best, differences, read_final_run, verdict
from auto_research.evolution.genome import Genome, genome_of
from auto_research.evolution.lineage import lineage
from auto_research.evolution.lines import outcome_of
from auto_research.evolution.plan import Plan
from auto_research.evolution.pool import RESUME, Pool
from auto_research.evolution.record import EvolveDir, Trial
from auto_research.evolution.search import Fitness, Place, open_arms, rounds
from auto_research.evolution.trial import Bench, Job, Outcome

ENDLESS = 10  # a trial may run so many times the episodes that its units pay for at full price
FINAL_SECONDS = 10  # a run on test may take so many times as long as a trial

Told = Callable[[Sequence[Trial]], None]  # the trials of each round, when it is done


def evolve(
    planned: Plan, path: Path, *, workers: int, resume: bool, told: Told = lambda trials: None
) -> dict[str, Json]:
    """Carry the search out in `path`, and give what `result.json` then holds.

    Raises UserError, also if every genome failed, and if the machine or what runs on it did.
    """
    try:
        return _evolve(planned, path, workers, resume, told)
    except BrokenPipeError:  # nobody reads what is told
        raise
    except OSError as error:
        raise UserError(
            f"the search cannot go on: {error.strerror or error}", where=str(path), mend=RESUME
        ) from error


def _evolve(planned: Plan, path: Path, workers: int, resume: bool, told: Told) -> dict[str, Json]:
    units = planned.trial.config.run_units or 0
    most = ENDLESS * max(1, units // planned.trial.config.budget_units)
    bench = Bench(planned.trial.request, planned.final, most)
    with EvolveDir(path, planned.config(), resume) as folder:
        pool = Pool(bench, workers)
        try:
            search = Search(planned, folder, pool)
            for number in search.run():
                told([trial for trial in search.trials if trial.place.generation == number])
            champions = search.champions()
            _write_champion(planned, folder, search, champions["champion"])
            tested = _on_test(planned, folder, pool, champions)
        finally:
            pool.close()
            folder.tidy()
        result = _result(planned, folder, search.trials, champions, tested)
        folder.write("result.json", json.dumps(result, indent=2, ensure_ascii=False) + "\n")
    return {"run_dir": str(path), **result}


class Search:
    """A search in progress: its trials so far, in the order in which they were proposed."""

    def __init__(self, planned: Plan, folder: EvolveDir, pool: Pool) -> None:
        self.planned, self._folder, self._pool = planned, folder, pool
        self.trials: list[Trial] = []
        self._written = folder.lines()
        self._known: dict[str, Outcome] = {}

    def run(self) -> Iterator[int]:
        """Yields the number of each generation that is done."""
        request, planned = self.planned.request, self.planned
        arms = open_arms(
            planned.space, planned.methods, request.population, request.generations, request.seed
        )
        yield from rounds(arms, request.generations, self._evaluated)
        if len(self.trials) < len(self._written):
            raise self._stranger(len(self.trials))

    def champions(self) -> dict[str, Trial]:
        """The best of each arm. Raises UserError if every genome of evolution failed."""
        found = {}
        for side, arm in (("champion", "evolution"), ("random_champion", "random")):
            trial = best(t for t in self.trials if t.place.arm == arm)
            if trial is None:
                reason = next(t.outcome.reason for t in self.trials if t.place.arm == arm)
                raise UserError(
                    f"every genome of {arm} failed, the first one so: {reason}",
                    where=str(self._folder.trials_path),
                )
            found[side] = trial
        return found

    def _evaluated(self, places: Sequence[Place]) -> list[Fitness | None]:
        """Evaluate a batch, each content once, and write its lines in order."""
        first = len(self.trials)
        for number, place in enumerate(places, first):
            if number < len(self._written):
                self._recall(number, place)
        jobs = {p.proposal.genome.hash: p.proposal.genome for p in places}
        fresh = {h: genome for h, genome in jobs.items() if h not in self._known}
        outcomes = self._pool.run(
            [self._job(genome) for genome in fresh.values()], self.planned.request.max_seconds
        )
        for number, place in enumerate(places, first):
            genome = place.proposal.genome.hash
            cached = any(trial.hash == genome for trial in self.trials)
            if genome not in self._known:
                self._known[genome], seconds = next(outcomes)
                self._folder.time({"hash": genome, "seconds": round(seconds, 3)})
            trial = Trial(number, place, self._known[genome], cached)
            self.trials.append(trial)
            if number >= len(self._written):
                self._folder.append(trial)
            elif self._written[number] != json.loads(trial.line()):
                raise self._stranger(number)
        return [trial.outcome.fitness for trial in self.trials[first:]]

    def _recall(self, number: int, place: Place) -> None:
        line = self._written[number]
        if (line["hash"], line["arm"]) != (place.proposal.genome.hash, place.arm):
            raise self._stranger(number)
        self._known[place.proposal.genome.hash] = outcome_of(line)

    def _stranger(self, number: int) -> UserError:
        return UserError(
            f"line {number + 1} is not of this search",
            where=str(self._folder.trials_path),
            mend="the file was changed; search again elsewhere",
        )

    def _job(self, genome: Genome) -> Job:
        method = genome.method(self.planned.registry).to_dict()
        return Job(method, self._folder.running(genome.hash))


def _write_champion(planned: Plan, folder: EvolveDir, search: Search, champion: Trial) -> None:
    method = champion.place.proposal.genome.method(planned.registry).to_dict()
    folder.write("champion.yaml", yaml.safe_dump(method, sort_keys=False, allow_unicode=True))
    told = lineage(search.trials, planned.registry, champion.hash)
    folder.write("lineage.json", json.dumps(told, indent=1, sort_keys=True) + "\n")


def _on_test(
    planned: Plan, folder: EvolveDir, pool: Pool, champions: Mapping[str, Trial]
) -> dict[str, Outcome]:
    """Run the champions and the baseline on test, each content once; outcomes by hash."""
    sage = planned.methods[0]
    genomes = [trial.place.proposal.genome for trial in champions.values()]
    methods = {genome.hash: genome.method(planned.registry) for genome in genomes}
    methods[genome_of(sage).hash] = sage
    jobs = [Job(m.to_dict(), folder.test(h), final=True) for h, m in methods.items()]
    seconds = FINAL_SECONDS * planned.request.max_seconds
    done = list(pool.run(jobs, seconds))
    for genome, (_, took) in zip(methods, done, strict=True):
        folder.time({"test": genome, "seconds": round(took, 3)})
    return dict(zip(methods, (outcome for outcome, _ in done), strict=True))


def _result(
    planned: Plan,
    folder: EvolveDir,
    trials: Sequence[Trial],
    champions: Mapping[str, Trial],
    tested: Mapping[str, Outcome],
) -> dict[str, Json]:
    sides = {side: trial.hash for side, trial in champions.items()}
    sides["sage"] = genome_of(planned.methods[0]).hash
    runs = {
        side: read_final_run(folder.test(genome), genome)
        for side, genome in sides.items()
        if not tested[genome].reason
    }
    test: dict[str, Json] = {
        side: runs[side].to_json(f"test/{genome[:16]}")
        if side in runs
        else {"hash": genome, "failed": tested[genome].reason}
        for side, genome in sides.items()
    }
    request, distinct = planned.request, {trial.hash: trial for trial in trials}
    result: dict[str, Json] = {
        "direction": request.direction,
        "reading": planned.reading.to_json(),
        "benchmark": planned.trial.config.benchmark,
        "agent": request.agent,
        "seed": request.seed,
        "train_seed": request.train_seed,
        "generations": request.generations,
        "population": request.population,
        "searched": "enumeration" if planned.enumerated else "nsga2",
        "space": planned.space.size,
        "evaluations": {
            **{arm: sum(t.place.arm == arm for t in trials) for arm in ("evolution", "random")},
            "distinct": len(distinct),
            "failed": sum(t.outcome.fitness is None for t in distinct.values()),
            "units": sum(t.outcome.units.get("total", 0) for t in distinct.values()),
        },
        "champions": {side: _champion(trial) for side, trial in champions.items()},
        "flags": sorted({flag for trial in trials for flag in trial.outcome.flags}),
        "test": test,
        "claim": differences(runs),
    }
    return {**result, "verdict": list(verdict(result))}


def _champion(trial: Trial) -> dict[str, Json]:
    return {
        "hash": trial.hash,
        "generation": trial.place.generation,
        "validation": {"joint_success": trial.outcome.joint, "total_cost": trial.outcome.cost},
        "method": trial.place.proposal.genome.to_dict(),
    }
