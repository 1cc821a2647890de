"""SAGE's library update: S <- Update(S, trajectory, R).

`sage.save` is the paper's own rule. `sage.evolve`, the default, adds what the paper leaves out
(interpretation): revision after a failure, retirement after repeated failure, no near-duplicates.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar

from pydantic import Field

from auto_research.agent_research.library import (
    Change,
    Create,
    Fork,
    LibraryView,
    Merge,
    Retire,
    Revise,
    apply_changes,
)
from auto_research.agent_research.operators import (
    ChainResult,
    Context,
    CreditedGroup,
    EditRequest,
    Episode,
    LibraryUpdate,
    Settings,
    Use,
)
from auto_research.agent_research.skill import Skill
from auto_research.benchmarks.base import Task


class SaveUpdate(LibraryUpdate):
    """Store what ran without an error, overwrite by name, never delete.

    The agent's own check stands for "ran without an error", and a name counts within its scenario
    (interpretation). Content that an overwrite has superseded is not stored a second time.
    """

    name = "sage.save"
    citation = "SAGE, arXiv 2512.17102, section 3.1 (save and overwrite; no removal)"
    summary = "stores or overwrites by name what ran without an error"

    def after_episode(
        self, episode: Episode, library: LibraryView, ctx: Context
    ) -> Sequence[Change]:
        if not episode.own_check or episode.used():
            return ()
        written = ctx.write(EditRequest("create", episode=episode))
        return _saved([Create(skill, (episode.id,)) for skill in written], library)

    def after_group(
        self, group: CreditedGroup, library: LibraryView, ctx: Context
    ) -> Sequence[Change]:
        if ctx.phase == "training":
            return ()  # the paper trains the policy only: every chain's library is thrown away
        return _saved([c for c in group.chains[0].changes if not isinstance(c, Retire)], library)


def _saved(changes: Sequence[Create | Revise | Fork | Merge], library: LibraryView) -> list[Change]:
    """The skills of `changes` in turn, each new or over the one of its name and scenario."""
    saved: list[Change] = []
    for change in changes:
        skill = change.skill
        if library.get(skill.id) is not None:
            continue
        same = [
            s
            for s in library.active()
            if s.name == skill.name and s.provenance.scenario == skill.provenance.scenario
        ]
        saved.append(
            Revise(same[-1].id, skill, change.cause) if same else Create(skill, change.cause)
        )
        library = apply_changes(library, saved[-1:])
    return saved


class EvolveUpdate(LibraryUpdate):
    """Create from success, revise what ran by what the episode showed, retire what keeps failing.

    A skill is retired after `retire_streak` failures on end if its lifetime success rate is below
    `retire_below` too. `revise: false` leaves every skill as it was first written.
    """

    name = "sage.evolve"
    citation = "after SAGE, arXiv 2512.17102, section 3.1; revise and retire: interpretation"
    summary = "creates, revises and retires skills; one line a kind of world"

    class Options(Settings):
        revise: bool = True
        retire: bool = True
        retire_streak: int = Field(default=3, ge=1)
        retire_below: float = Field(default=0.5, ge=0, le=1)

    settings_type: ClassVar[type[Settings]] = Options
    settings: Options

    def after_episode(
        self, episode: Episode, library: LibraryView, ctx: Context
    ) -> Sequence[Change]:
        changes: list[Change] = []
        bases = self._to_revise(episode, library, ctx) if self.settings.revise else ()
        if bases:
            written = ctx.write(EditRequest("revise", episode=episode, bases=bases))
            changes += [c for s in written if (c := _revision(bases[0], s, episode, library))]
        elif episode.own_check and not episode.used():
            written = ctx.write(EditRequest("create", episode=episode))
            changes += [Create(s, (episode.id,)) for s in written if library.get(s.id) is None]
        if self.settings.retire:
            revised = {c.base for c in changes if isinstance(c, Revise)}
            changes += self._retirements(episode, library, revised)
        return changes

    def _to_revise(self, episode: Episode, library: LibraryView, ctx: Context) -> tuple[Skill, ...]:
        """The skill that ran; where it failed, with kin: a skill that knows a part of the world.

        Where none ran and a search succeeded, kin alone: a new line starts from what it knows.
        """
        ran = self._ran(episode, library)
        if ran is None and not episode.own_check:
            return ()
        if ran is not None and ran.id in episode.used():
            return (ran,)
        others = [s for s in library.active() if ran is None or s.id != ran.id]
        kin = [s for s in others if 0.0 < ctx.fit(episode.task, s) < 1.0]
        kin.sort(key=lambda s: (-s.usage.success_rate, s.id))
        return (*((ran,) if ran else ()), *kin[:1])

    def _ran(self, episode: Episode, library: LibraryView) -> Skill | None:
        """The skill whose code ran: the one that helped, else the first."""
        called = sorted((u for u in episode.uses if u.called), key=lambda u: not u.helped)
        return library.get(called[0].skill) if called else None

    def _retirements(
        self, episode: Episode, library: LibraryView, revised: set[str]
    ) -> list[Change]:
        return [
            Retire(use.skill, "keeps failing", (episode.id,))
            for use in episode.uses
            if use.called and use.skill not in revised and self._hopeless(use, library)
        ]

    def _hopeless(self, use: Use, library: LibraryView) -> bool:
        skill = library.get(use.skill)
        if skill is None or skill.status != "active":
            return False
        usage = skill.usage.after(called=use.called, helped=use.helped)
        failing = usage.streak >= self.settings.retire_streak
        return failing and usage.success_rate < self.settings.retire_below

    def after_group(
        self, group: CreditedGroup, library: LibraryView, ctx: Context
    ) -> Sequence[Change]:
        """Take over what the best sibling changed, fitted to what the library holds by now."""
        best = max(
            range(len(group.chains)),
            key=lambda i: (sum(r or 0.0 for r in group.rewards[i]), -i),
        )
        chain = group.chains[best]
        fitted: list[Change] = []
        for change in _net(chain):
            step = self._fitted(change, chain, library, ctx)
            library = apply_changes(library, step)
            fitted += step
        return fitted

    def _fitted(
        self, change: Change, chain: ChainResult, library: LibraryView, ctx: Context
    ) -> list[Change]:
        """The change as it can be made to `library`, which other groups may have moved on."""
        if isinstance(change, Retire):
            return [change] if _active(change.base, library) else []
        if isinstance(change, Merge):
            return []
        known = library.get(change.skill.id) is not None
        if isinstance(change, Revise) and _active(change.base, library):
            return [change] if not known or _active(change.skill.id, library) else []
        if known:
            return []
        task = _task_of(change, chain)
        twin = _twin(change.skill, task, library, ctx)
        if twin is None:
            whole = isinstance(change, Create) or (
                isinstance(change, Fork) and library.get(change.base) is not None
            )
            return [change if whole else Create(change.skill, change.cause)]
        if not self.settings.revise:
            return []
        merged = ctx.write(EditRequest("merge", task=task, bases=(twin, change.skill)))
        return [Revise(twin.id, s, change.cause) for s in merged[:1] if library.get(s.id) is None]


def _active(skill_id: str, library: LibraryView) -> bool:
    skill = library.get(skill_id)
    return skill is not None and skill.status == "active"


def _revision(base: Skill, skill: Skill, episode: Episode, library: LibraryView) -> Change | None:
    """None for what is no new version: the base itself, or content that was retired."""
    known = library.get(skill.id)
    if skill.id == base.id or (known is not None and known.status == "retired"):
        return None
    if skill.interface == base.interface:
        return Revise(base.id, skill, (episode.id,))
    return Fork(base.id, skill, (episode.id,)) if known is None else None


def _net(chain: ChainResult) -> list[Change]:
    """The chain's changes with every line taken straight to its last version."""
    changes: list[Change] = []
    for change in chain.changes:
        earlier = next(
            (
                c
                for c in changes
                if isinstance(change, Revise)
                and not isinstance(c, Retire)
                and c.skill.id == change.base
            ),
            None,
        )
        if earlier is not None and isinstance(change, Revise):
            spot = changes.index(earlier)
            cause = (*earlier.cause, *change.cause)
            changes[spot] = replace(earlier, skill=change.skill, cause=cause)
        else:
            changes.append(change)
    return changes


def _task_of(change: Create | Revise | Fork, chain: ChainResult) -> Task:
    """The task that a change came from."""
    caused = (e.task for e in chain.episodes if e.id in change.cause)
    return next(caused, chain.episodes[0].task)


def _twin(skill: Skill, task: Task, library: LibraryView, ctx: Context) -> Skill | None:
    """The first active skill for the same kind of world as `skill`, written for `task`."""
    return next(
        (s for s in library.active() if ctx.fit(task, s) == 1.0 and ctx.fit(task, skill) == 1.0),
        None,
    )
