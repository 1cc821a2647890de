"""The runs that a comparison needs: every method on every seed, one training each, in order."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from auto_research.agent_research.method import Method, load_method
from auto_research.agent_research.run import RunDir
from auto_research.agent_research.runner import Progressed
from auto_research.benchmarks.base import Json
from auto_research.benchmarks.shared import SharedBenchmark
from auto_research.errors import UserError
from auto_research.evaluate import Evaluation, prepare
from auto_research.furnishing import EvalRequest, made, opened_benchmark
from auto_research.plugins import Registry
from auto_research.shared_training import run_from_training

TRAININGS = "training"  # the folder of the shared trainings in a comparison's directory
_MOST_SEEDS, _LAST_SEED = 1000, 2**63


class Plan:
    """Methods times seeds under one directory, with one benchmark for all. A context manager.

    `request` is what all runs have in common; its method and seed are of no account.
    """

    def __init__(
        self,
        request: EvalRequest,
        methods: Sequence[Method],
        seeds: Sequence[int],
        directory: Path,
        registry: Registry,
    ) -> None:
        self.directory = directory
        self._registry = registry
        self._methods = methods
        self._seeds = seeds
        self._request = request
        self._benchmark = SharedBenchmark(opened_benchmark(request, registry))
        agent = made("agent", request.agent, registry.agents, request.agent_options)
        self.reads_answers = agent.reads_answers
        agent.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._benchmark.close()

    def runs(self) -> Iterator[tuple[Method, int, Path]]:
        """Method, seed and directory of each run; those of a seed follow each other."""
        for seed in self._seeds:  # the judge keeps a seed's tasks prepared for the next method
            for method in self._methods:
                yield method, seed, self.directory / f"{method.name}-{seed}"

    def begin(self) -> None:
        """Make the directory, which may be there already. Raises UserError."""
        try:
            self.directory.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise UserError(
                f"cannot make the comparison's directory: {error.strerror}",
                where=str(self.directory),
            ) from None

    def prepared(self, method: Method, seed: int) -> Evaluation:
        """One of the runs, ready to be carried out. Raises UserError."""
        request = replace(self._request, method=method, seed=seed)
        return prepare(request, self._registry, self._benchmark)

    def carry_out(
        self, evaluation: Evaluation, path: Path, *, workers: int, progressed: Progressed
    ) -> None:
        """Carry one run out, or go on with it, from a shared training.

        Raises UserError, EvaluatorError.
        """
        trainings = self.directory / TRAININGS
        run_from_training(evaluation, path, trainings, workers=workers, progressed=progressed)

    def told(self) -> dict[str, Json]:
        """What would be run: episodes, and the units that they may spend at most, by method.

        A training is run once and charged to each of its runs. Probes are not among the units.
        """
        each = [self.prepared(method, self._seeds[0]) for method in self._methods]
        planned: Any = {e.request.method.name: e.planned() for e in each}
        runs = len(self._seeds)
        config = each[0].config.to_json()
        shared = ("benchmark", "benchmark_hash", "split", "agent", "train_seed", "budget")
        return {
            "config": {key: config[key] for key in shared},
            "seeds": list(self._seeds),
            "directory": str(self.directory),
            "runs": runs * len(each),
            "methods": [
                {
                    "method": name,
                    "episodes": {
                        "training": one["episodes"]["training"],
                        "test": one["episodes"]["test"] * runs,
                    },
                    "units_at_most": {
                        "training": one["units_at_most"]["training"],
                        "test": one["units_at_most"]["test"] * runs,
                    },
                }
                for name, one in planned.items()
            ],
        }


def is_finished(evaluation: Evaluation, path: Path) -> bool:
    """Whether the run stands finished in `path`. Raises UserError if it is another run."""
    if not (path / "metrics.json").is_file():
        return False
    with RunDir.open(path) as run:
        run.check_config(evaluation.config.to_json())
    return True


def read_methods(names: str, registry: Registry) -> list[Method]:
    """The methods of a list with commas: names, or YAML files.

    Raises UserError if there are fewer than two, or if two have the same name or content: the
    second would be paid for to no end.
    """
    methods = [load_method(name.strip(), registry) for name in names.split(",") if name.strip()]
    if len(methods) < 2:
        raise UserError("a comparison needs two methods", where="--methods", mend="name another")
    by_name: dict[str, Method] = {}
    by_content: dict[str, Method] = {}
    for method in methods:
        if method.name in by_name:
            raise UserError(f"two methods are named {method.name!r}", where="--methods")
        twin = by_content.setdefault(method.content_hash(), method)
        if twin is not method:
            raise UserError(
                f"{method.name!r} and {twin.name!r} have the same operators and settings",
                where="--methods",
                mend="name one of them",
            )
        by_name[method.name] = method
    return methods


def read_seeds(text: str) -> list[int]:
    """Seeds in ascending order from ``1..5``, ``1,2,3`` or both mixed. Raises UserError."""
    seeds: list[int] = []
    for part in text.split(","):
        found = re.fullmatch(r"\s*(\d{1,19})(?:\s*\.\.\s*(\d{1,19}))?\s*", part, re.ASCII)
        if found is None:
            raise _not_seeds(f"{part.strip()!r} is no seed")
        first, last = int(found[1]), int(found[2] or found[1])
        if last < first:
            raise _not_seeds(f"{part.strip()!r} runs backwards")
        if last > _LAST_SEED:
            raise _not_seeds(f"{last} is out of range, 0 to {_LAST_SEED}")
        if last - first + len(seeds) >= _MOST_SEEDS:
            raise _not_seeds(f"more than {_MOST_SEEDS} seeds")
        seeds += range(first, last + 1)
    seeds.sort()
    for one, other in pairwise(seeds):
        if one == other:
            raise _not_seeds(f"seed {one} is named twice")
    return seeds


def _not_seeds(what: str) -> UserError:
    return UserError(what, where="--seeds", mend="write 1..5 or 1,2,3 or 1..3,7")
