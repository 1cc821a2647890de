"""An operator that looks for a way around ledger, split or seal, through all that it is given.

It runs in real runs: whatever it can reach without an underscore is searched, every try to probe
what may not be probed is made, and what came of each is told to the test.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import pytest

from auto_research.agent_research.agents.base import Attempt
from auto_research.agent_research.budget import Meter
from auto_research.agent_research.library import Change, LibraryView
from auto_research.agent_research.method import load_method
from auto_research.agent_research.operators import (
    Chain,
    ChainResult,
    Choice,
    Context,
    CreditedGroup,
    Episode,
    LibraryUpdate,
    Operator,
    Progress,
    RetrievalPolicy,
    Reward,
    Rollout,
    TaskRef,
)
from auto_research.benchmarks.base import Scenario, Task, Verdict
from auto_research.errors import UserError
from auto_research.evaluate import prepare
from auto_research.furnishing import EvalRequest
from auto_research.hookspecs import hookimpl
from auto_research.plugins import load_plugins

MADE_UP = TaskRef("made-up", "made-up")
PLAIN = (str, bytes, int, float, bool, type(None), type)


def reachable(given: Any, depth: int = 8) -> Iterator[tuple[str, Any]]:
    """Everything that can be had from an object without calling it, with the way to it."""
    seen: set[int] = set()
    rest: list[tuple[str, Any, int]] = [("", given, 0)]
    while rest:
        way, thing, level = rest.pop()
        if isinstance(thing, PLAIN) or id(thing) in seen or level > depth:
            continue
        seen.add(id(thing))
        yield way, thing
        rest += [(f"{way}.{name}", part, level + 1) for name, part in _parts(thing)]


def _parts(thing: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(thing, Mapping):
        yield from ((str(key), value) for key, value in thing.items())
    elif isinstance(thing, list | tuple | set | frozenset):
        yield from ((str(place), value) for place, value in enumerate(thing))
    else:
        for name in dir(thing):
            if not name.startswith("_") and hasattr(thing, name):
                yield name, getattr(thing, name)


def tools(given: Any) -> list[str]:
    """Ways to something that runs attempts, judges, or keeps the accounts."""
    wanted = ("attempt", "verdict", "submit", "session", "reserve", "settle", "run", "commit")
    return [
        way
        for way, thing in reachable(given)
        if isinstance(thing, Meter | Attempt)
        or (callable(thing) and way.rsplit(".", 1)[-1] in wanted)
    ]


class Log:
    """What the operators of one run found, by where they looked."""

    found: ClassVar[dict[str, set[str]]] = {}

    @classmethod
    def note(cls, where: str, *what: str) -> None:
        cls.found.setdefault(where, set()).update(what)

    @classmethod
    def refused(cls, where: str, way: Callable[[], Any]) -> None:
        """Try a way; note why it was refused, or that it was open."""
        try:
            way()
        except UserError as error:
            cls.note(where, str(error))
        else:
            cls.note(where, "OPEN")

    @classmethod
    def look(cls, where: str, *given: Any) -> None:
        """Search what was given for tools and, with their way, sealed verdicts."""
        cls.note(f"tools {where}", *tools(given))
        verdicts = [way for way, thing in reachable(given) if isinstance(thing, Verdict)]
        cls.note(f"verdicts {where}", *verdicts)


class NosyRetrieval(RetrievalPolicy):
    """Tries to probe while a task is at hand."""

    name, citation, summary = "nosy.retrieval", "test", "test"

    def choose(self, task: Task, library: LibraryView, ctx: Context) -> Choice:
        Log.look(f"choose {ctx.phase}", task, library, ctx)
        own = TaskRef(task.scenario, task.id)
        Log.refused(f"probe own task from choose {ctx.phase}", lambda: ctx.probe([own], library))
        Log.refused(
            f"probe train task from choose {ctx.phase}", lambda: ctx.probe(ctx.pool[:1], library)
        )
        return Choice()


class NosyUpdate(LibraryUpdate):
    """Tries to probe test tasks and made-up ones, and to find verdicts and tools."""

    name, citation, summary = "nosy.update", "test", "test"

    def after_episode(
        self, episode: Episode, library: LibraryView, ctx: Context
    ) -> Sequence[Change]:
        Log.look(f"after_episode {ctx.phase}", episode, episode.choice, library, ctx)
        Log.refused(
            f"probe from after_episode {ctx.phase}", lambda: ctx.probe(ctx.pool[:1], library)
        )
        return ()

    def after_group(
        self, group: CreditedGroup, library: LibraryView, ctx: Context
    ) -> Sequence[Change]:
        Log.look(f"after_group {ctx.phase}", group, library, ctx)
        Log.refused(f"probe made-up {ctx.phase}", lambda: ctx.probe([MADE_UP], library))
        disguised = TaskRef(ctx.pool[0].scenario, MADE_UP.task)
        Log.refused(f"probe disguised {ctx.phase}", lambda: ctx.probe([disguised], library))
        if ctx.phase == "test":
            task = group.chains[0].episodes[0].task
            own = [TaskRef(task.scenario, task.id)]
            Log.refused("probe test task", lambda: ctx.probe(own, library))
            Log.refused("probe widened pool", lambda: widened_probe(own, library, ctx))
        else:
            ctx.probe(ctx.pool[:2], library)  # this way is open, and charged
        with pytest.raises(ValueError, match="paid back"):
            ctx.spend("expand", -1000)
        for episode in group.chains[0].episodes:  # the accounts are not the operator's to change
            episode.spending.units_by_kind.clear()  # type: ignore[attr-defined]
            episode.spending.totals.clear()  # type: ignore[attr-defined]
        ctx.spend("retrieve", 1)
        return ()


def widened_probe(tasks: Sequence[TaskRef], library: LibraryView, ctx: Context) -> None:
    """Put the task into the pool first."""
    try:
        ctx.pool = (*ctx.pool, *tasks)  # type: ignore[misc]
    except AttributeError as error:
        raise UserError(f"read-only: {error}") from None
    ctx.probe(tasks, library)


class NosyReward(Reward):
    """Looks for verdicts in what it credits."""

    name, citation, summary = "nosy.reward", "test", "test"

    def credit(self, group: Sequence[ChainResult]) -> Sequence[Sequence[float | None]]:
        at_test = all(e.id.startswith("test") for chain in group for e in chain.episodes)
        Log.look(f"credit {'test' if at_test else 'training'}", group)
        return [[0.0 for _ in chain.episodes] for chain in group]


class NosyRollout(Rollout):
    """Trains on one scenario, and tries to slip a made-up task in."""

    name, citation, summary = "nosy.rollout", "test", "test"

    def next(self, pool: Sequence[Scenario], progress: Progress, ctx: Context) -> Sequence[Chain]:
        Log.look("rollout", pool, progress, ctx)
        ctx.probe(ctx.pool[:1], LibraryView())  # open too: between groups
        Log.refused("probe from rollout", lambda: ctx.probe([MADE_UP], LibraryView()))
        return [Chain(pool[0].id, pool[0].tasks, 1, "carry")] if progress.groups == 0 else ()


class Nosy:
    """The plugin that brings them."""

    @hookimpl
    def register_operators(self) -> Sequence[type[Operator]]:
        return [NosyRetrieval, NosyUpdate, NosyReward, NosyRollout]

    @hookimpl
    def register_methods(self) -> Sequence[Mapping[str, str]]:
        slots = ("retrieval", "update", "reward", "rollout")
        return [{"name": "nosy", **{slot: f"nosy.{slot}" for slot in slots}}]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """The rows and metrics of a run of the nosy method; what it found is in `Log`."""
    Log.found.clear()
    registry = load_plugins([Nosy()])
    path: Path = tmp_path_factory.mktemp("nosy") / "run"
    request = EvalRequest(
        load_method("nosy", registry), split="validation", seed=7, episodes=3, train_scenarios=2
    )
    prepare(request, registry).run(path)
    lines = (path / "episodes.jsonl").read_bytes().splitlines()
    return [*map(json.loads, lines)], json.loads((path / "metrics.json").read_bytes())


PROBES = {
    "probe own task from choose training": "is not a train task|probes run only between groups",
    "probe own task from choose test": "is not a train task",
    "probe train task from choose training": "probes run only between groups",
    "probe train task from choose test": "probes run only between groups",
    "probe from after_episode training": "probes run only between groups",
    "probe from after_episode test": "probes run only between groups",
    "probe from rollout": "is not a train task",
    "probe made-up training": "is not a train task",
    "probe made-up test": "is not a train task",
    "probe disguised training": "is not a train task",
    "probe disguised test": "is not a train task",
    "probe test task": "is not a train task",
    "probe widened pool": "read-only",
}


@pytest.mark.parametrize("where", PROBES)
def test_a_probe_of_what_may_not_be_probed_is_refused_and_says_why(where: str, run: Any) -> None:
    assert Log.found[where]
    for told in Log.found[where]:
        assert any(why in told for why in PROBES[where].split("|")), told


PLACES = ["choose", "after_episode", "after_group", "credit"]


@pytest.mark.parametrize("where", [*(f"{p} test" for p in PLACES), "choose training", "rollout"])
def test_nothing_it_is_given_runs_an_attempt_or_keeps_the_accounts(where: str, run: Any) -> None:
    assert Log.found[f"tools {where}"] == set()


@pytest.mark.parametrize("place", PLACES)
def test_no_sealed_verdict_can_be_reached_at_test(place: str, run: Any) -> None:
    assert Log.found[f"verdicts {place} test"] == set()


def test_the_search_for_verdicts_finds_them_where_they_may_be_seen(run: Any) -> None:
    assert Log.found["verdicts credit training"]
    assert Log.found["verdicts after_group training"]


def test_all_that_ran_is_charged_whatever_it_did_to_its_copies(run: Any) -> None:
    rows, metrics = run
    phases = [row["phase"] for row in rows]
    assert {phase: phases.count(phase) for phase in phases} == {
        "training": 3,
        "probes": 4,  # two after the group, one before each of the two times it asked for more
        "test": 3,
    }
    for row in rows:
        assert row["units"] == sum(row["units_by_kind"].values())
        assert row["units_by_kind"].get("expand", 0) > 0
    assert metrics["spending"]["units"]["total"] == sum(row["units"] for row in rows)
    assert [row["error"] for row in rows if row["error"]] == []
