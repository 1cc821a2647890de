"""One genome's evaluation in a worker process, which keeps judge, agent and tasks between genomes.

A trial is an ordinary run on the validation split at a small training size. What is kept of it is
its fitness, a letter an episode, and the transcripts, packed; its run directory is removed.
"""

from __future__ import annotations

import json
import re
import shutil
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from auto_research.agent_research.budget import Phase
from auto_research.agent_research.catalog import MethodSource
from auto_research.agent_research.durable import write_atomic
from auto_research.agent_research.method import resolve_method
from auto_research.agent_research.metrics import Metrics
from auto_research.agent_research.operators import Operator
from auto_research.agent_research.rows import EpisodeRow
from auto_research.agent_research.run import RunDir
from auto_research.agent_research.workers import Workplace
from auto_research.benchmarks.base import Benchmark, Json
from auto_research.errors import AutoResearchError
from auto_research.evaluate import Evaluation, prepare
from auto_research.evolution.blame import ends_search
from auto_research.evolution.search import Fitness, fitness_of
from auto_research.furnishing import EvalRequest
from auto_research.plugins import Registry, load_plugins

SHOWN = (  # what the report shows of an episode
    "episode",
    "scenario",
    "position",
    "success",
    "checks",
    "units",
    "cost",
    "error",
    "plan",
    "answer",
    "transcript",
)


@dataclass(frozen=True, slots=True)
class Job:
    """A method to run in `path`; plain data. A final run is kept whole and may be gone on with."""

    method: Mapping[str, Json]
    path: Path
    final: bool = False


@dataclass(frozen=True, slots=True)
class Outcome:
    """What an evaluation came to. A `reason` says why it failed; then nothing else counts.

    `episodes` has a letter for each validation episode in stream order: ``1`` success, ``0``
    failure, ``e`` error, ``?`` not judged. `units` are by phase, with their total.
    """

    reason: str = ""
    joint: float | None = None
    cost: float | None = None
    units: Mapping[str, int] = field(default_factory=dict)
    episodes: str = ""
    flags: tuple[str, ...] = ()

    @property
    def fitness(self) -> Fitness | None:
        """None if it failed, whatever its numbers say."""
        return None if self.reason else fitness_of(self.joint, self.cost)


class Endless(AutoResearchError):
    """A training phase that goes on and on."""


class Unfinished(AutoResearchError):
    """An evaluation that came to nothing by no fault of its method: another try may tell."""


@dataclass(frozen=True, slots=True)
class Bench:
    """Makes a worker's `Evaluator`; everything is looked up anew there. `trial` and `final` are
    requests whose method is a placeholder; `episodes` is what training and probes may run.
    """

    trial: EvalRequest
    final: EvalRequest
    episodes: int

    def __call__(self) -> TrialEvaluator:
        return TrialEvaluator(self, load_plugins())


class TrialEvaluator:
    """Evaluates one method after another. Never raises for what a method does.

    What no method is to blame for is raised, so that nothing is written down of it.
    """

    def __init__(self, bench: Bench, registry: Registry) -> None:
        self.bench, self.registry = bench, registry
        self._benchmark: Benchmark | None = None
        self._here: Workplace | None = None
        self._operators: Sequence[Operator] = ()

    def __call__(self, job: Job) -> Outcome:
        """Raises Unfinished if what failed was not the method, but the disk or a server, say."""
        try:
            return self._final(job) if job.final else self._trial(job)
        except (Exception, SystemExit) as error:
            self.close()  # a call that was broken off may have left anything behind
            if why := ends_search(error, self._operators):
                raise Unfinished(why) from error
            if job.final:
                return Outcome(_line(error))
            failed = Outcome(_line(error), units=_units(_spent(job.path)))
            shutil.rmtree(job.path, ignore_errors=True)
            return failed

    def close(self) -> None:
        """Let go of every process; the next call opens them again."""
        if self._here is not None:
            self._here.close()
            self._here = None

    def _trial(self, job: Job) -> Outcome:
        evaluation = self._prepared(job, self.bench.trial)
        if self._here is None:
            self._here = evaluation.open_workplace()
        shutil.rmtree(job.path, ignore_errors=True)
        metrics = evaluation.run(job.path, progressed=self._watch(), at=self._here)
        with RunDir.open(job.path) as run:
            rows = [row for row in run.rows() if row.phase == "test"]
            flags = json.loads(run.metrics_path.read_bytes())["flags"]
        write_atomic(transcript_path(job.path), pack(rows))
        shutil.rmtree(job.path)
        return _outcome(metrics, rows, flags, evaluation)

    def _final(self, job: Job) -> Outcome:
        evaluation = self._prepared(job, self.bench.final)
        evaluation.run(job.path, resume=job.path.exists())
        return Outcome()

    def _prepared(self, job: Job, request: EvalRequest) -> Evaluation:
        self._operators = ()
        method = resolve_method(MethodSource(job.method, "genome"), self.registry)
        self._operators = [*method.build(self.registry).by_slot().values()]
        found = prepare(replace(request, method=method), self.registry, self._benchmark)
        self._benchmark = found.benchmark
        return found

    def _watch(self) -> Callable[[Phase, int], None]:
        """Ends a training that runs more episodes than any within the budget could."""
        left = self.bench.episodes

        def progressed(phase: Phase, count: int) -> None:
            nonlocal left
            left -= count if phase != "test" else 0
            if left < 0:
                most = self.bench.episodes
                raise Endless(f"training and probes ran more than {most} episodes")

        return progressed


def pack(rows: Iterable[EpisodeRow]) -> bytes:
    """What the report shows of `rows`, deflated JSON; the same bytes for the same rows."""
    shown = [{name: row.to_json()[name] for name in SHOWN} for row in rows]
    return zlib.compress(json.dumps(shown, separators=(",", ":"), sort_keys=True).encode(), 9)


def transcript_path(run: Path) -> Path:
    """Where the transcripts of the trial that runs in ``running/HASH`` go."""
    return run.parent.parent / "transcripts" / f"{run.name}.json.z"


def _outcome(
    metrics: Metrics, rows: Iterable[EpisodeRow], flags: Iterable[str], evaluation: Evaluation
) -> Outcome:
    joint, spent = metrics.metrics["joint_success"], metrics.spending
    units, per_episode = spent["units"], spent["total_units_per_test_episode"]
    assert isinstance(joint, Mapping) and isinstance(units, Mapping)
    cap, share = evaluation.config.run_units, evaluation.config.budget_units
    reason, cost = "", None
    if cap is not None and int(str(units["total"])) + share > cap:
        reason = f"used up what a trial may spend, {cap} units"
    if isinstance(per_episode, int | float):
        cost = round(per_episode / evaluation.config.units_per_episode, 6)
    value = joint["value"]
    if not reason and fitness_of(value, cost) is None:
        reason = f"its fitness is no number: {value!r}, {cost!r}"
    return Outcome(
        reason=reason,
        joint=value if fitness_of(value, 0) else None,  # type: ignore[arg-type]
        cost=cost,
        units={phase: int(str(count)) for phase, count in units.items()},
        episodes="".join(map(_letter, rows)),
        flags=tuple(flags),
    )


def _letter(row: EpisodeRow) -> str:
    return "e" if row.error else {True: "1", False: "0", None: "?"}[row.success]


def _spent(path: Path) -> Counter[str]:
    """Units by phase that a trial which broke off had spent, as far as its directory tells."""
    spent: Counter[str] = Counter()
    try:
        with RunDir.open(path) as run:
            for row in run.rows():
                spent[row.phase] += row.units
            for attempt in run.attempts():
                totals = attempt["totals"]
                if isinstance(totals, Mapping):
                    spent[str(attempt["phase"])] += int(str(totals.get("units", 0)))
    except (AutoResearchError, OSError, ValueError, KeyError):
        return spent
    return spent


def _units(spent: Counter[str]) -> dict[str, int]:
    phases = {phase: spent[phase] for phase in ("training", "probes", "test")}
    return {**phases, "total": sum(phases.values())}


def _line(error: BaseException) -> str:
    """An error on one line, without addresses, which differ from run to run."""
    text = " ".join(f"{type(error).__name__}: {error}".split())[:300]
    return re.sub(r" at 0x[0-9a-f]+", "", text).rstrip(": ")
