"""What a trial comes to: the run that `agent-eval` would make, whatever was evaluated before it."""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
import small_world
from evaluating import Brought, prepared, rows
from small_world import TellingAgent, TellingSession

from auto_research.agent_research.agents.base import Attempt
from auto_research.agent_research.budget import Meter
from auto_research.agent_research.library import Change, LibraryView
from auto_research.agent_research.method import load_method
from auto_research.agent_research.operators import (
    Context,
    CreditedGroup,
    LibraryUpdate,
    TaskRef,
)
from auto_research.agent_research.run import RunDir
from auto_research.agent_research.skill import Skill
from auto_research.benchmarks.base import Environment, Task
from auto_research.errors import RunStopped, UserError
from auto_research.evolution.trial import (
    Bench,
    Job,
    TrialEvaluator,
    Unfinished,
    transcript_path,
)
from auto_research.furnishing import EvalRequest
from auto_research.plugins import Registry, load_plugins

REGISTRY = load_plugins([small_world, Brought()])


def job(folder: Path, method: str = "sage", *settings: str) -> Job:
    found = load_method(method, REGISTRY, settings)
    return Job(found.to_dict(), folder / "running" / found.content_hash()[:16])


def evaluator(
    folder: Path, units: int | None = None, registry: Registry = REGISTRY, agent: str = "search"
) -> TrialEvaluator:
    for name in ("running", "transcripts"):
        (folder / name).mkdir(exist_ok=True)
    request = EvalRequest(
        load_method("sage", REGISTRY),
        benchmark="small",
        agent=agent,
        episodes=6,
        seed=7,
        train_scenarios=2,
        split="validation",
        run_units=units,
    )
    return TrialEvaluator(Bench(request, replace(request, split="test"), 1000), registry)


@pytest.fixture
def evaluate(tmp_path: Path) -> Iterator[TrialEvaluator]:
    made = evaluator(tmp_path)
    yield made
    made.close()


def test_a_trial_is_the_run_that_agent_eval_makes(evaluate: TrialEvaluator, tmp_path: Path) -> None:
    outcome = evaluate(job(tmp_path))
    metrics = prepared(split="validation").run(tmp_path / "plain")
    run = rows(tmp_path / "plain", "test")
    assert outcome.episodes == "".join("1" if row["success"] else "0" for row in run)
    assert outcome.joint == metrics.metrics["joint_success"]["value"]
    assert outcome.units == metrics.spending["units"]
    assert outcome.cost == round(outcome.units["total"] / 6 / small_world.UNITS, 6)
    packed = transcript_path(job(tmp_path).path).read_bytes()
    shown = json.loads(zlib.decompress(packed))
    assert [row["transcript"] for row in shown] == [row["transcript"] for row in run]


def test_what_was_evaluated_before_changes_nothing(
    evaluate: TrialEvaluator, tmp_path: Path
) -> None:
    jobs = [job(tmp_path), job(tmp_path, "raw-trace"), job(tmp_path, "sage-paper"), job(tmp_path)]
    first, _, _, last = map(evaluate, jobs)
    assert first == last
    assert list((tmp_path / "running").iterdir()) == []


def test_a_trial_that_uses_up_its_units_has_failed(tmp_path: Path) -> None:
    made = evaluator(tmp_path, units=500)
    outcome = made(job(tmp_path, "sage-paper"))
    made.close()
    assert outcome.reason == "used up what a trial may spend, 500 units"
    assert outcome.fitness is None
    assert outcome.units["total"] <= 500


def test_a_final_run_is_kept_and_goes_on_where_it_was(
    evaluate: TrialEvaluator, tmp_path: Path
) -> None:
    path = tmp_path / "final"
    final = replace(job(tmp_path), path=path, final=True)
    assert evaluate(final).reason == ""
    before = (path / "metrics.json").read_bytes()
    assert evaluate(final).reason == ""
    assert (path / "metrics.json").read_bytes() == before


def failing(error: BaseException) -> Registry:
    """An installation whose agent `failing` meets `error` at each attempt."""

    class Session(TellingSession):
        def attempt(self, skills: Sequence[Skill], world: Environment | None = None) -> Attempt:
            raise error

    class Agent(TellingAgent):
        def session(self, task: Task, meter: Meter) -> TellingSession:
            return Session(self.settings, self._sandbox, task, meter)

    return load_plugins([small_world, Brought(agents={"failing": lambda options: Agent()})])


@pytest.mark.parametrize("final", [False, True])
@pytest.mark.parametrize(
    ("error", "told"),
    [
        (RunStopped("the server is gone"), "the server is gone"),
        (OSError(28, "No space left on device"), r"OSError: \[Errno 28\] No space left on device"),
        (MemoryError(), "MemoryError"),
    ],
)
def test_what_no_method_is_to_blame_for_is_no_outcome(
    tmp_path: Path, error: Exception, told: str, final: bool
) -> None:
    made = evaluator(tmp_path, registry=failing(error), agent="failing")
    with pytest.raises(Unfinished, match=f"^{told}$"):
        made(replace(job(tmp_path), final=final))
    made.close()


def test_a_run_directory_that_is_in_use_fails_no_method(tmp_path: Path) -> None:
    made = evaluator(tmp_path)
    final = replace(job(tmp_path), path=tmp_path / "final", final=True)
    assert made(final).reason == ""
    with RunDir.open(final.path, write=True), pytest.raises(Unfinished, match="is in use by"):
        made(final)
    made.close()


class Misuses(LibraryUpdate):
    """Probes what it may not, or says itself that it cannot go on."""

    name = "wrong.probe"
    citation = "a test"
    summary = "breaks"

    def after_group(
        self, group: CreditedGroup, library: LibraryView, ctx: Context
    ) -> Sequence[Change]:
        ctx.probe([TaskRef("elsewhere", "elsewhere")], library)
        return ()


class Refuses(Misuses):
    name = "wrong.refuses"

    def after_group(
        self, group: CreditedGroup, library: LibraryView, ctx: Context
    ) -> Sequence[Change]:
        raise UserError("seven weights, the saved one six")


@pytest.mark.parametrize(
    ("use", "reason"),
    [
        ("wrong.probe", "UserError: 'elsewhere' is not a train task"),
        ("wrong.refuses", "UserError: seven weights"),
    ],
)
def test_a_users_error_of_an_operator_is_its_methods_own(
    tmp_path: Path, use: str, reason: str
) -> None:
    registry = load_plugins([small_world, Brought([Misuses, Refuses])])
    made = evaluator(tmp_path, registry=registry)
    method = load_method("sage", registry, [f"update={use}"])
    outcome = made(Job(method.to_dict(), tmp_path / "running" / "wrong"))
    made.close()
    assert outcome.reason.startswith(reason)
