"""The benchmark planbench: real PDDL files for test, the generated mini-suite for training."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from auto_research.benchmarks.base import Scenario, Split
from auto_research.benchmarks.planbench.client import SealedPlanBench
from auto_research.benchmarks.planbench.contents import contents_hash
from auto_research.benchmarks.planbench.layout import find_domains
from auto_research.benchmarks.planbench.mini import MiniBenchmark
from auto_research.benchmarks.planbench.sizes import UNITS_PER_EPISODE, VERSION
from auto_research.benchmarks.sealed import SealedHandle


class PlanBench:
    """A PlanBench checkout (t1, t5, t7), or any folder of PDDL domains and problems, as test.

    Train and validation scenarios come from planbench-mini. Raises UserError if `data_dir` holds
    no domain with problems.
    """

    summary = "PDDL files: a PlanBench checkout or any folder of domain and problem files"

    def __init__(
        self,
        data_dir: str | Path,
        exclude: Sequence[str] = (),
        permutation: int | None = None,
    ) -> None:
        self.name = f"planbench@{VERSION}"
        self._data_dir = Path(data_dir)
        self._domains = find_domains(self._data_dir)
        self._sealed = SealedPlanBench(permutation)
        self._mini = MiniBenchmark(exclude, sealed=self._sealed)

    def scenarios(self, split: Split, seed: int, limit: int | None = None) -> Sequence[Scenario]:
        """Test: the files' instances by domain in rising size, at most three a scenario.

        `seed` decides their questions only. Raises UserError for a file that cannot be read.
        """
        if split != "test":
            return self._mini.scenarios(split, seed, limit)
        return self._sealed.scenarios("files", data_dir=str(self._data_dir), seed=seed, count=limit)

    def evaluator(self, split: Split, seed: int) -> SealedHandle:
        """A judge of every task that this benchmark hands out; all of them share one process."""
        return self._sealed.evaluator()

    def units_per_episode(self) -> int:
        """B in units, that of planbench-mini."""
        return UNITS_PER_EPISODE

    def content_hash(self) -> str:
        """Hash of the sources that judge the tasks, and of the data files."""
        paths = [path for d in self._domains for path in (d.domain, *d.problems)]
        return contents_hash({p.relative_to(self._data_dir).as_posix(): p for p in paths})
