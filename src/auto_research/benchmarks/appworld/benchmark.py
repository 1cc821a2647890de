"""The benchmark appworld as the harness sees it: public tasks, their worlds, a sealed judge."""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Sequence
from pathlib import Path

from auto_research.benchmarks.appworld.home import PACKAGE, SETUP, Home, required
from auto_research.benchmarks.appworld.scratch import Scratch
from auto_research.benchmarks.appworld.worlds import World, Worlds, can_be_shut_in
from auto_research.benchmarks.base import Scenario, Split, Task
from auto_research.benchmarks.sealed import SealedHandle, SealedProcess
from auto_research.errors import UserError
from auto_research.rng import derive

MINI_VERSION = 1
DATA_VERSION = "0.1.0"  # of the official data that this version of AppWorld reads
KIND = "appworld"  # of the tasks; `observation` has the keys of `PUBLIC`
PUBLIC = ("first_name", "last_name", "email", "phone_number", "datetime")
TURNS = 40  # of the agent in one task (SAGE, section 4)
CALLS_PER_TURN = 10  # that the budget allows for on average; interpretation, no source says
STEP_UNITS, CALL_UNITS = 10, 1  # as in the tariff
UNITS_PER_EPISODE = TURNS * (STEP_UNITS + CALLS_PER_TURN * CALL_UNITS)

DATASETS: dict[Split, str] = {"train": "train", "validation": "dev", "test": "test_normal"}
CHALLENGE = "test_challenge"


class AppWorldBenchmark:
    """Scenarios of three tasks, in AppWorld's own splits; `challenge` takes the harder test set.

    `root` is a data root. Raises UserError if AppWorld is not set up, if the root has no tasks, or
    if worlds cannot be isolated here and `unsafe` does not say that they need not be.
    """

    summary = "tasks in a world of apps, done by writing code; AppWorld's engine and evaluation"

    def __init__(
        self, name: str, root: Path | None = None, *, challenge: bool = False, unsafe: bool = False
    ) -> None:
        home = required()
        self.name = f"{name}@{MINI_VERSION if name.startswith('appworld-mini') else DATA_VERSION}"
        self._root = root_of(name, home, root)
        self._datasets = {**DATASETS, "test": CHALLENGE} if challenge else DATASETS
        self._unsafe = unsafe
        if not (self._root / "data" / "datasets").is_dir():
            raise UserError(
                "this is no AppWorld data root: it has no data/datasets",
                where=str(self._root),
                mend=f"run `{SETUP}`, or give the folder that holds `data`",
            )
        if not unsafe and (why := can_be_shut_in(home)):
            raise UserError(
                f"worlds cannot be isolated on this system: {why}",
                mend="allow unprivileged user namespaces, or accept with --unsafe-worlds that a "
                "task's code could read its answer",
            )
        self._home = home
        self._lock = threading.Lock()
        self._users = 0
        self._judge: SealedProcess | None = None
        self._scratch: Scratch | None = None
        self._worlds: Worlds | None = None

    def scenarios(self, split: Split, seed: int, limit: int | None = None) -> Sequence[Scenario]:
        """The first `limit` scenarios of the split, in an order that `seed` decides."""
        found = self._scenarios(self._datasets[split])
        derive(seed, "appworld", split).shuffle(found)
        return found[:limit]

    def environment(self, task: Task, keep: Path | None = None) -> World:
        """Open the task's world anew; what AppWorld writes of it is kept in the folder `keep`."""
        with self._lock:
            if self._worlds is None:
                place = self._place()
                self._worlds = Worlds(self._home, self._root, place, unsafe=self._unsafe)
            worlds = self._worlds
        return worlds.open(task.id, keep)

    def evaluator(self, split: Split, seed: int) -> SealedHandle:
        """A judge of every task; all of them share one process, with AppWorld's full root."""
        with self._lock:
            self._users += 1
            if self._judge is None:
                module = "auto_research.benchmarks.appworld.inside.judge"
                argv = [str(self._home.python), "-m", module, "--root", str(self._root)]
                variables = {**self._home.environment(), "TMPDIR": str(self._place())}
                self._judge = SealedProcess(argv, variables)
            return SealedHandle(self._judge, self._release)

    def reference(self, task: Task) -> str:
        """The reference program of a task, for agents that read answers. Raises UserError."""
        path = self._root / "data" / "tasks" / task.id / "ground_truth" / "reference.py"
        try:
            return path.read_text(encoding="utf-8")
        except OSError:
            raise UserError(
                f"the task {task.id!r} has no reference program", where=str(self._root)
            ) from None

    def units_per_episode(self) -> int:
        """B in units: the paper's 40 turns, with ten API calls each."""
        return UNITS_PER_EPISODE

    def content_hash(self) -> str:
        """Hash of the tasks as they stand on disk, of B, and of how worlds are served."""
        digest = hashlib.sha256(f"{UNITS_PER_EPISODE} {self._unsafe}".encode())
        for path in sorted(self._hashed()):
            content = path.read_bytes()
            digest.update(f"{path.name} {len(content)}\n".encode() + content)
        return digest.hexdigest()[:16]

    def _hashed(self) -> list[Path]:
        data = self._root / "data"
        inside = PACKAGE / "benchmarks" / "appworld" / "inside"
        return [
            *data.glob("datasets/*.txt"),
            *data.glob("tasks/*/specs.json"),
            *data.glob("tasks/*/ground_truth/*.json"),
            *data.glob("tasks/*/ground_truth/evaluation.py"),
            *inside.glob("*.py"),
        ]

    def _scenarios(self, dataset: str) -> list[Scenario]:
        """Scenarios in the data set's order, each with its tasks in theirs."""
        path = self._root / "data" / "datasets" / f"{dataset}.txt"
        try:
            ids = [line.partition(":")[0].strip() for line in path.read_text().splitlines()]
        except OSError as error:
            raise UserError(f"no data set {dataset!r}: {error}", where=str(self._root)) from None
        groups: dict[str, list[str]] = {}
        for task in filter(None, ids):
            groups.setdefault(task.partition("_")[0], []).append(task)
        return [
            Scenario(name, tuple(self._task(i, name, n) for n, i in enumerate(sorted(tasks))))
            for name, tasks in groups.items()
        ]

    def _task(self, task: str, scenario: str, position: int) -> Task:
        path = self._root / "data" / "tasks" / task / "specs.json"
        try:
            specs = json.loads(path.read_text(encoding="utf-8"))
            person = {**specs["supervisor"], "datetime": specs["datetime"]}
            instruction = str(specs["instruction"])
            public = {key: str(person[key]) for key in PUBLIC}
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise UserError(f"a task cannot be read: {error!r}", where=str(path)) from None
        return Task(task, scenario, position, KIND, instruction, public)

    def _place(self) -> Path:
        """The folder for what worlds and judge write."""
        self._scratch = self._scratch or Scratch()
        return self._scratch.path

    def _release(self) -> None:
        """The last user of the judge lets go of every process.

        The folder stays: what was done is handed in once more where a judge died.
        """
        with self._lock:
            self._users -= 1
            if self._users:
                return
            judge, worlds = self._judge, self._worlds
            self._judge = self._worlds = None
        if judge is not None:
            judge.close()
        if worlds is not None:
            worlds.close()


def root_of(name: str, home: Home, given: Path | None = None) -> Path:
    """The data root of a benchmark, or the one `given`. Raises UserError if there is none."""
    if given is not None and given != Path():
        return given
    state = home.state()
    if name.startswith("appworld-mini"):
        if "mini" not in state:
            raise UserError("appworld-mini is not built", mend=f"run `{SETUP}`")
        return home.mini
    if "official" not in state:
        raise UserError(
            "AppWorld's official data is not here",
            mend=f"run `{SETUP} --data official`, or name a root with --data-dir",
        )
    return Path(state["official"])
