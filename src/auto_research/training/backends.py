"""What trains a model: the contract of a training backend, and how one is found by name.

A plugin registers backends through the hook `register_backends`: a name, and a factory that is
given the registry. The same request goes to every backend; what only one of them knows (a model's
size, a cluster's shape) stands in its config file, which it checks itself.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Protocol, runtime_checkable

from auto_research import strict_yaml
from auto_research.agent_research.catalog import find
from auto_research.agent_research.method import Method
from auto_research.benchmarks.base import Json
from auto_research.errors import UserError
from auto_research.hookspecs import BenchmarkOptions
from auto_research.plugins import Registry


@dataclass(frozen=True, slots=True)
class TrainRequest:
    """What the user asked for.

    `config` is what stands in the file `config_path` (empty and None without one). The run's
    directory is `path`. `agent` is empty for the backend's own. With `dry_run` nothing is
    started, submitted or written. With `resume` a run that stands in `path` goes on.
    """

    method: Method
    benchmark: str
    path: Path
    seed: int = 0
    agent: str = ""
    config: Mapping[str, Json] = field(default_factory=dict)
    config_path: Path | None = None
    benchmark_options: BenchmarkOptions = field(default_factory=BenchmarkOptions)
    dry_run: bool = False
    resume: bool = False

    @property
    def name(self) -> str:
        """The run's name, which is also the name of a job that carries it out."""
        return self.path.name


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a training has come: `done` of `planned` steps of a stage, and its figures."""

    stage: str
    done: int = 0
    planned: int = 0
    figures: Mapping[str, float] = field(default_factory=dict)

    def line(self) -> str:
        """It on one line, for a log."""
        count = f" {self.done}/{self.planned}" if self.planned else ""
        figures = "".join(f" {name}={value:.4g}" for name, value in self.figures.items())
        return f"{self.stage}{count}{figures}"


Told = Callable[[Progress], None]
JOB_RECORD = "job.json"  # in the directory of a run that a job carries out; its `backend` is a name

State = Literal["planned", "submitted", "finished"]


@dataclass(frozen=True, slots=True)
class Trained:
    """What came of a request.

    ``planned``: a dry run, nothing happened. ``submitted``: a job does it, see
    `auto-research jobs`. ``finished``: `path` is the directory of the run, and `checkpoint` that
    of its model. `text` is what a reader wants to see as it stands, such as a rendered command.
    """

    state: State
    path: Path
    checkpoint: Path | None = None
    metrics: Mapping[str, Json] = field(default_factory=dict)
    details: Mapping[str, Json] = field(default_factory=dict)
    text: str = ""

    def to_json(self) -> dict[str, Json]:
        """It as plain JSON values."""
        return {
            "state": self.state,
            "run_dir": str(self.path),
            "checkpoint": None if self.checkpoint is None else str(self.checkpoint),
            "metrics": self.metrics,
            **self.details,
        }


class Backend(Protocol):
    """Trains a model with a method. `benchmark` is what it trains on unless told otherwise."""

    name: str
    benchmark: str

    def train(self, request: TrainRequest, told: Told) -> Trained:
        """Carry the request out, telling of each step.

        Raises UserError before anything is started or submitted if the request cannot be served:
        a method whose slots cannot train, a config that contradicts itself, a missing data root.
        """


BackendFactory = Callable[[Registry], Backend]


@runtime_checkable
class KeepsJobs(Protocol):
    """A backend whose trainings are jobs elsewhere. `path` is the run's directory."""

    def status(self, path: Path) -> Mapping[str, Json]:
        """The job's record and how it stands: at least ``job``, ``state`` and ``launcher``."""

    def logs(self, path: Path) -> str:
        """What the job has written so far."""

    def cancel(self, path: Path) -> Mapping[str, Json]:
        """End the job; its status then. One that has ended stays as it is."""


@dataclass(frozen=True, slots=True)
class DispatchRequest:
    """Methods times seeds at one budget: `common` is every training's request but for `method`,
    `seed` and `path`, which is the directory of them all."""

    common: TrainRequest
    methods: Sequence[Method]
    seeds: Sequence[int]


@runtime_checkable
class Dispatches(Protocol):
    """A backend that launches whole comparisons and collects what came of them."""

    def dispatch(self, request: DispatchRequest, told: Told) -> Mapping[str, Json]:
        """Launch every training, or with `dry_run` say what would be: the dispatch's record."""

    def collect(self, path: Path, storage: Path | None = None) -> Mapping[str, Json]:
        """Gather what the finished jobs of a dispatch in `path` left behind, as runs.

        `storage` is where their storage is to be seen from here, if not where the nodes see it.
        Gives ``runs`` (directories, for `compare`), ``open`` (what is not finished) and
        ``unmatched`` (in words, what was spent unequally).
        """


def opened_backend(name: str, registry: Registry) -> Backend:
    """The backend of that name. Raises UserError with the nearest name."""
    factory: BackendFactory = find("backend", name, registry.backends, where="--backend")
    return factory(registry)


CONFIG = "config."  # how an override of the config file begins, as in config.budget.steps=5


def read_config(path: Path | None, overrides: Sequence[str] = ()) -> Mapping[str, Json]:
    """What stands in a backend's config file after `overrides`; empty without either.

    An override is ``config.KEY.KEY=VALUE``. Raises UserError.
    """
    data: Any = {} if path is None else strict_yaml.read(path)
    if not isinstance(data, Mapping):
        raise UserError("a config must be a mapping of keys to values", where=str(path))
    for override in overrides:
        where = f"--set {override}"
        key, equals, text = override.removeprefix(CONFIG).partition("=")
        steps = key.strip().split(".")
        if not equals or not all(steps):
            raise UserError("not an override", where=where, mend="write config.key.key=value")
        data = _with(data, steps, strict_yaml.parse(text, where=where))
    return dict(data)


def _with(data: Mapping[str, Json], path: Sequence[str], value: Json) -> dict[str, Json]:
    """A copy of `data` with `value` at `path`; mappings on the way are made as needed."""
    first, *rest = path
    if not rest:
        return {**data, first: value}
    inner = data.get(first)
    return {**data, first: _with(inner if isinstance(inner, Mapping) else {}, rest, value)}
