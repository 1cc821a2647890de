"""Where papers that only select get their skills from: one a kind of world, as first written."""

from __future__ import annotations

from collections.abc import Sequence

from auto_research.agent_research.library import Change, Create, LibraryView, apply_changes
from auto_research.agent_research.operators import (
    Context,
    CreditedGroup,
    EditRequest,
    Episode,
    LibraryUpdate,
)


def carried(episode: Episode, library: LibraryView) -> bool:
    """Whether a function brought the episode to its end; a text that had a say did not."""
    used = [library.get(i) for i in episode.used()]
    return any(skill is None or skill.kind == "function" for skill in used)


def first_of_kind(episodes: Sequence[Episode], library: LibraryView, ctx: Context) -> list[Change]:
    """A skill for each kind of world, from the first unaided success in it.

    Kinds for which a function was ever written are passed over, retired ones too: what was
    withdrawn is not written again.
    """
    made: list[Change] = []
    for episode in episodes:
        known = [s for s in library.skills.values() if s.kind == "function"]
        if not episode.success or episode.error or carried(episode, library):
            continue
        if any(ctx.fit(episode.task, s) == 1.0 for s in known):
            continue
        written = ctx.write(EditRequest("create", episode=episode))
        new: list[Change] = [Create(s, (episode.id,)) for s in written if not library.get(s.id)]
        library = apply_changes(library, new)
        made += new
    return made


def contrast(episodes: Sequence[Episode]) -> tuple[Episode, Episode | None] | None:
    """A success, and a failure to hold it against, if there are any.

    Two tries of the same task first; else the last success, the hardest task of a scenario, and
    the last failure.
    """
    successes = [e for e in episodes if e.success and not e.error]
    failures = [e for e in episodes if not e.success and not e.error]
    pairs = [(s, f) for s in successes for f in failures if s.task.id == f.task.id]
    if pairs or not successes:
        return pairs[0] if pairs else None
    return max(successes, key=_place), max(failures, key=_place, default=None)


def _place(episode: Episode) -> tuple[int, str]:
    return episode.position, episode.id


def episodes_of(group: CreditedGroup) -> list[Episode]:
    """All episodes of the group, sibling by sibling."""
    return [episode for chain in group.chains for episode in chain.episodes]


class FirstWriting(LibraryUpdate):
    """Writes in training alone, one skill a kind of world; what is written stays as it is."""

    name = "written.first"
    citation = "interpretation: a given, fixed library, for papers that only select from one"
    summary = "one skill a kind of world from an unaided success in training, then fixed"

    def after_group(
        self, group: CreditedGroup, library: LibraryView, ctx: Context
    ) -> Sequence[Change]:
        if ctx.phase != "training":
            return ()
        return first_of_kind(episodes_of(group), library, ctx)
