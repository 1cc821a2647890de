"""The benchmark planbench-mini as the agent's process sees it: public tasks and a sealed judge."""

from __future__ import annotations

from collections.abc import Sequence

from auto_research.benchmarks.base import Scenario, Split
from auto_research.benchmarks.planbench.client import SealedPlanBench
from auto_research.benchmarks.planbench.contents import contents_hash
from auto_research.benchmarks.planbench.sizes import (
    DEFAULT_SCENARIOS,
    SIZES,
    UNITS_PER_EPISODE,
    VERSION,
)
from auto_research.benchmarks.sealed import SealedHandle
from auto_research.errors import UserError, did_you_mean


class MiniBenchmark:
    """Generated scenarios of three tasks: small, a related one, large; each with one question.

    `exclude` names base worlds left out of the train and validation splits. `permutation` is for
    the leak tests: it moves the sealed halves of the tasks about and leaves the public ones alone.
    `sealed` is a process to share.
    """

    summary = "four classical planning worlds, plain, renamed, misleading and drifted; generated"

    def __init__(
        self,
        exclude: Sequence[str] = (),
        permutation: int | None = None,
        sealed: SealedPlanBench | None = None,
    ) -> None:
        for world in exclude:
            if world not in SIZES:
                raise UserError(
                    f"unknown base domain {world!r}",
                    where="planbench-mini: exclude",
                    mend=did_you_mean(world, SIZES),
                )
        if set(exclude) == set(SIZES):
            raise UserError("every base domain is excluded", where="planbench-mini: exclude")
        self.name = f"planbench-mini@{VERSION}"
        self._exclude = sorted(set(exclude))
        self._sealed = sealed or SealedPlanBench(permutation)

    def scenarios(self, split: Split, seed: int, limit: int | None = None) -> Sequence[Scenario]:
        """The first `limit` scenarios of a split (default 40); any number may be asked for."""
        return self._sealed.scenarios(
            "mini",
            split=split,
            seed=seed,
            count=DEFAULT_SCENARIOS if limit is None else limit,
            exclude=[] if split == "test" else self._exclude,
        )

    def evaluator(self, split: Split, seed: int) -> SealedHandle:
        """A judge of every task that this benchmark hands out; all of them share one process."""
        return self._sealed.evaluator()

    def units_per_episode(self) -> int:
        """B in units."""
        return UNITS_PER_EPISODE

    def content_hash(self) -> str:
        """Hash of the sources that make and judge the tasks, sizes and B among them."""
        return contents_hash()
