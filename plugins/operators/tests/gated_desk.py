"""A desk for gated editors: probes whose outcome and skill runs a worked case sets, by library."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any

from desk import EMPTY, Desk, episode, group, operator, task

from auto_research.agent_research.library import Change, LibraryView
from auto_research.agent_research.operators import Episode, TaskRef, Use
from auto_research.benchmarks.base import Verdict

Attempted = Callable[[str, LibraryView], Episode]  # task, library it runs with


def attempt(
    name: str,
    success: bool,
    *,
    uses: Sequence[Use] = (),
    parts: Sequence[bool] = (),
    actions: Sequence[str] = (),
) -> Episode:
    """One attempt at task `name`; `parts` are the named checks of its verdict, if it has any."""
    made = episode(success, name=f"e-{name}", at=task(name, f"s{name[1:]}"), uses=uses)
    checks = {f"part-{i}": passed for i, passed in enumerate(parts)}
    return replace(made, verdict=Verdict(success, checks), actions=tuple(actions))


def batch(outcomes: dict[str, bool]) -> list[Episode]:
    """Attempts without any skill, in order."""
    return [attempt(name, success) for name, success in outcomes.items()]


def passing(names: Collection[str]) -> Attempted:
    """A world in which just these tasks succeed, whatever the library."""
    return lambda name, library: attempt(name, name in names)


@dataclass
class GatedDesk(Desk):
    """A desk that makes each probe with `attempted`."""

    attempted: Attempted = lambda name, library: attempt(name, False)

    def probe(self, tasks: Sequence[TaskRef], library: LibraryView) -> Sequence[Episode]:
        super().probe(tasks, library)
        return [self.attempted(ref.task, library) for ref in tasks]


def edited(
    update: Any, episodes: Sequence[Episode], desk: Desk, library: LibraryView = EMPTY
) -> list[Change]:
    """What the update makes of a batch; nothing at test, whatever the batch."""
    testing = replace(desk, phase="test", requests=[], probed=[])
    assert list(update.after_group(group(episodes), library, testing)) == []
    assert not testing.probed and not testing.requests
    return list(update.after_group(group(episodes), library, desk))


def reborn(update: Any) -> Any:
    """A new operator with the state of this one, after a round trip through a file."""
    told = json.loads(json.dumps(update.state()))
    fresh = operator(update.slot, update.name, **update.settings.model_dump())
    fresh.restore(told)
    assert fresh.state() == update.state()
    return fresh
