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


class SaveUpdate(LibraryUpdate):
    """Store what ran without an error, overwrite by name, never delete."""

    name = "sage.save"
    citation = "SAGE, arXiv 2512.17102, section 3.1 (save and overwrite; no removal)"
    summary = "stores or overwrites by name what ran without an error"

    def after_episode(
        self, episode: Episode, library: LibraryView, ctx: Context
    ) -> Sequence[Change]:
        if not episode.own_check or episode.used():
            return ()
        written = ctx.write(EditRequest("create", episode=episode))
        return [_saved(skill, library, (episode.id,)) for skill in written]

    def after_group(
        self, group: CreditedGroup, library: LibraryView, ctx: Context
    ) -> Sequence[Change]:
        if ctx.phase == "training":
            return ()  # in training each chain starts from an empty library
        new = [c for c in group.chains[0].changes if not isinstance(c, Retire)]
        return [_saved(c.skill, library, c.cause) for c in new]


def _saved(skill: Skill, library: LibraryView, cause: tuple[str, ...]) -> Change:
    same = [
        s
        for s in library.active()
        if s.name == skill.name and s.provenance.scenario == skill.provenance.scenario
    ]
    return Revise(same[-1].id, skill, cause) if same else Create(skill, cause)


class EvolveUpdate(LibraryUpdate):
    """Create from success, revise after failure or repair, retire what keeps failing."""

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
        base = self._to_revise(episode, library)
        if base is not None and self.settings.revise:
            written = ctx.write(EditRequest("revise", episode=episode, bases=(base,)))
            changes += [c for s in written if (c := _revision(base, s, episode)) is not None]
        elif episode.own_check and base is None and not episode.used():
            written = ctx.write(EditRequest("create", episode=episode))
            changes += [Create(s, (episode.id,)) for s in written]
        if self.settings.retire:
            revised = {c.base for c in changes if isinstance(c, Revise)}
            changes += self._retirements(episode, library, revised)
        return changes

    def _to_revise(self, episode: Episode, library: LibraryView) -> Skill | None:
        """The skill whose code ran (the one that helped, else the first), if it has to learn."""
        called = sorted((u for u in episode.uses if u.called), key=lambda u: not u.helped)
        if not called:
            return None
        return library.get(called[0].skill)

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
        return _fitted(_net(chain), chain, library, ctx)


def _revision(base: Skill, skill: Skill, episode: Episode) -> Change | None:
    if skill.id == base.id:
        return None
    if skill.interface == base.interface:
        return Revise(base.id, skill, (episode.id,))
    return Fork(base.id, skill, (episode.id,))


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


def _fitted(
    changes: Sequence[Change], chain: ChainResult, library: LibraryView, ctx: Context
) -> list[Change]:
    """The changes as they can be made to `library`, which other groups may have moved on."""
    active = {s.id: s for s in library.active()}
    fitted: list[Change] = []
    task = chain.episodes[0].task
    for change in changes:
        if isinstance(change, Merge):
            continue
        if isinstance(change, Retire):
            if change.base in active:
                fitted.append(change)
                active.pop(change.base)
            continue
        if isinstance(change, Revise) and change.base in active:
            fitted.append(change)
            active.pop(change.base)
            active[change.skill.id] = change.skill
            continue
        twin = next(
            (
                s
                for s in active.values()
                if s.id != change.skill.id
                and ctx.fit(task, s) == 1.0
                and ctx.fit(task, change.skill) == 1.0
            ),
            None,
        )
        if twin is None:
            fitted.append(Create(change.skill, change.cause))
            active[change.skill.id] = change.skill
            continue
        for merged in ctx.write(EditRequest("merge", bases=(twin, change.skill))):
            if merged.id != twin.id:
                fitted.append(Revise(twin.id, merged, change.cause))
                active.pop(twin.id)
                active[merged.id] = merged
    return fitted
