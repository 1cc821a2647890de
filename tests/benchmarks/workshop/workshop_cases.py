"""Small tasks of the workshop for its tests, and what the sealed judge says in this process."""

from __future__ import annotations

from collections.abc import Sequence

from auto_research.benchmarks.base import Split, Task
from auto_research.benchmarks.workshop import WorkshopBenchmark, generate, sealed
from auto_research.benchmarks.workshop.jobs import Job, Piece
from auto_research.benchmarks.workshop.rules import ENTRANCE, OPERATIONS, STATIONS, State

HOME = dict(zip(OPERATIONS, STATIONS, strict=True))  # the stations of `base`

# o1 must get from r1 to r2, washed and wrapped; o2 is of no use.
SMALL = Job(
    (Piece("o2", "r1"), Piece("o1", "r1", ("wrapped", "clean"), "r2")), ("wash", "wrap"), HOME
)


def state_after(*actions: str, job: Job = SMALL) -> State:
    """The workshop after actions all of which can be done."""
    state = job.state()
    for action in actions:
        assert state.do(*action.split()), action
    return state


def judged(job: Job, actions: Sequence[Sequence[str]], *, as_plan: bool = False) -> bool:
    """Whether the judge takes `actions`, done in the world or handed in as a plan."""
    done = [list(action) for action in actions]
    submission = {"plan": done} if as_plan else {"payload": {"actions": done}}
    return sealed.judge(job, submission)["success"] is True


def as_steps(actions: Sequence[Sequence[str]]) -> list[tuple[str, str, str]]:
    """Actions as the steps of a plan, which also say where one is."""
    here, steps = ENTRANCE, []
    for verb, thing in actions:
        steps.append((verb, thing, here))
        here = thing if verb == "goto" else here
    return steps


def first_task(benchmark: WorkshopBenchmark, split: Split = "validation", seed: int = 7) -> Task:
    return benchmark.scenarios(split, seed, 1)[0].tasks[0]


def jobs(variant: str, count: int = 20, seed: int = 7) -> list[Job]:
    """The tasks of the first scenarios of a validation split."""
    assert variant in ("base", "hid")
    chosen = "base" if variant == "base" else "hid"
    return [
        job
        for number in range(count)
        for job in generate.scenario(chosen, "validation", seed, number)
    ]
