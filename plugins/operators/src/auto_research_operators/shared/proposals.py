"""Candidate edits from a batch of episodes: ADD, MODIFY, REMOVE; all writing is the agent's.

Used by the gated editors. An operator cannot read what went wrong; it can tell which skills ran,
which of them helped, and, by `ctx.fit`, which attempts are of one kind.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Literal

from auto_research.agent_research.library import (
    Change,
    Create,
    Fork,
    LibraryView,
    Retire,
    Revise,
    bases_of,
)
from auto_research.agent_research.operators import Context, EditRequest, Episode
from auto_research.agent_research.skill import Skill

Kind = Literal["add", "modify", "remove"]
BaseOf = Callable[[Episode, LibraryView], Skill | None]


@dataclass(frozen=True, slots=True)
class Proposal:
    """One candidate edit: the skill that it brings (REMOVE: takes away) and what it came from."""

    kind: Kind
    change: Change
    skill: Skill
    sources: tuple[Episode, ...]

    @property
    def tasks(self) -> frozenset[str]:
        """Ids of the tasks that led to it."""
        return frozenset(e.task.id for e in self.sources)


def proposals(
    batch: Sequence[Episode], library: LibraryView, ctx: Context, *, shown: int = 3
) -> list[Proposal]:
    """Every edit that the batch suggests, those first that may help most of its failures."""
    found = [
        *modifications(batch, library, ctx, shown=shown),
        *additions(unaided(batch), library, ctx, shown=shown),
        *removals(batch, library),
    ]
    return by_need(found, batch, ctx)


def by_need(found: Sequence[Proposal], batch: Sequence[Episode], ctx: Context) -> list[Proposal]:
    """The edits, those first whose skill fits more of the batch's failures."""
    failures = [e for e in batch if not e.success]
    need = {id(p): _need(p, failures, ctx) for p in found}
    return sorted(found, key=lambda p: -need[id(p)])


def unaided(batch: Sequence[Episode]) -> list[Episode]:
    """The successes in which no skill ran."""
    return [e for e in batch if e.success and not e.error and not any(u.called for u in e.uses)]


def additions(
    successes: Sequence[Episode], library: LibraryView, ctx: Context, *, shown: int = 3
) -> list[Proposal]:
    """ADD: a skill for each kind of task among the successes.

    A kind is what one skill fits entirely; the skill takes in up to `shown` of its successes.
    """
    found: list[Proposal] = []
    for episode in successes:
        place = _place(episode, [p.skill for p in found], ctx)
        if place is None:
            written = ctx.write(EditRequest("create", episode=episode))
            known = {p.skill.id for p in found}
            found += [
                Proposal("add", Create(s, (episode.id,)), s, (episode,))
                for s in written
                if library.get(s.id) is None and s.id not in known
            ]
        elif len(found[place].sources) < shown:
            found[place] = _shown_more(found[place], episode, library, ctx)
    return found


def modifications(
    batch: Sequence[Episode],
    library: LibraryView,
    ctx: Context,
    *,
    shown: int = 3,
    limit: int | None = None,
    base_of: BaseOf | None = None,
) -> list[Proposal]:
    """MODIFY: new versions of the skills that ran and did not help, by what up to `shown` showed.

    A version for another kind of task than the skill's own starts a line of its own. `limit`: at
    most so many new pieces of knowledge an episode. `base_of`: the skill that an episode calls to
    revise (default `stuck_skill`).
    """
    found: list[Proposal] = []
    for episode in batch:
        base = None if episode.error else (base_of or stuck_skill)(episode, library)
        if base is None:
            continue
        mine = [p for p in found if base.id in bases_of(p.change)]
        place = _place(episode, [p.skill for p in mine], ctx)
        if place is not None and len(mine[place].sources) >= shown:
            continue
        if place is not None:
            spot = found.index(mine[place])
            found[spot] = _shown_more(mine[place], episode, library, ctx, limit)
            continue
        bases = (base, *_kin(episode, base, library, ctx))
        for skill in ctx.write(EditRequest("revise", episode=episode, bases=bases, limit=limit)):
            if library.get(skill.id) is None and all(p.skill.id != skill.id for p in found):
                change = version(base, skill, (episode.id,))
                found.append(Proposal("modify", change, skill, (episode,)))
    return found


def removals(batch: Sequence[Episode], library: LibraryView) -> list[Proposal]:
    """REMOVE: skills that failed in the batch more often than they helped."""
    found: list[Proposal] = []
    for skill in library.active():
        ran = [e for e in batch if any(u.skill == skill.id and u.called for u in e.uses)]
        harmed = tuple(e for e in ran if not e.success)
        if len(harmed) > sum(skill.id in e.used() for e in ran):
            change = Retire(skill.id, "failed more often than it helped", _ids(harmed))
            found.append(Proposal("remove", change, skill, harmed))
    return found


def stuck_skill(episode: Episode, library: LibraryView) -> Skill | None:
    """The active skill that ran first in an attempt that none of the skills carried to its end."""
    if episode.used():
        return None
    called = [s for u in episode.uses if u.called and (s := library.get(u.skill))]
    return next((s for s in called if s.status == "active"), None)


def worst(library: LibraryView, but: Collection[str] = ()) -> Skill | None:
    """The active skill with the poorest record, none of those in `but`; ties by id."""
    others = [s for s in library.active() if s.id not in but]
    return min(others, key=lambda s: (s.usage.success_rate, s.id), default=None)


def version(base: Skill, skill: Skill, cause: Sequence[str]) -> Revise | Fork:
    """`skill` as a new version of `base`; as a line of its own if it is for another world."""
    kind = Revise if skill.interface == base.interface else Fork
    return kind(base.id, skill, tuple(cause))


def _place(episode: Episode, skills: Sequence[Skill], ctx: Context) -> int | None:
    """Index of the first skill that fits the episode's task entirely."""
    return next((i for i, s in enumerate(skills) if ctx.fit(episode.task, s) == 1.0), None)


def _shown_more(
    proposal: Proposal,
    episode: Episode,
    library: LibraryView,
    ctx: Context,
    limit: int | None = None,
) -> Proposal:
    """The proposal with what one more episode showed; as it was if that is nothing new."""
    request = EditRequest("revise", episode=episode, bases=(proposal.skill,), limit=limit)
    written = [s for s in ctx.write(request) if library.get(s.id) is None]
    if not written or written[0].interface != proposal.skill.interface:
        return proposal
    skill, sources = written[0], (*proposal.sources, episode)
    change = proposal.change
    if isinstance(change, Create):
        change = Create(skill, _ids(sources))
    elif isinstance(change, Revise | Fork):
        change = type(change)(change.base, skill, _ids(sources))
    return Proposal(proposal.kind, change, skill, sources)


def _kin(episode: Episode, base: Skill, library: LibraryView, ctx: Context) -> tuple[Skill, ...]:
    """The skill with the best record that knows a part of a failed task's world, if any."""
    if episode.success:
        return ()
    others = [s for s in library.active() if s.id != base.id and 0 < ctx.fit(episode.task, s) < 1]
    return tuple(sorted(others, key=lambda s: (-s.usage.success_rate, s.id))[:1])


def _need(proposal: Proposal, failures: Sequence[Episode], ctx: Context) -> float:
    if proposal.kind == "remove":
        return float(len(proposal.sources))
    return sum(ctx.fit(e.task, proposal.skill) for e in failures)


def _ids(episodes: Sequence[Episode]) -> tuple[str, ...]:
    return tuple(e.id for e in episodes)
