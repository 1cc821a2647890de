"""Voyager (arXiv 2305.16291): keep a program once it is verified, overwrite by name, never delete.

    S <- S + {z} if verify(z) = 1

Retrieval is by embedded description, top 5 (`relevance.embedding`). The critic's verdict is the
agent's own check here; up to four rounds of refinement are the agent's own local repair.
"""

from __future__ import annotations

from collections.abc import Sequence

from auto_research.agent_research.library import Change, Create, LibraryView, Revise
from auto_research.agent_research.operators import (
    Context,
    CreditedGroup,
    EditRequest,
    Episode,
    LibraryUpdate,
)
from auto_research_operators.shared.changes import best_chain, fitting


class VerifiedUpdate(LibraryUpdate):
    """Add what the self-check verified and no skill brought about; a name clash overwrites.

    A name counts within its scenario (interpretation): the writer names skills by what they do,
    so that one name over all worlds would leave a single skill.
    """

    name = "voyager.verified"
    citation = "Voyager, arXiv 2305.16291, section 2.2-2.3 (add iff verified, never delete)"
    summary = "adds each verified program, overwrites by name, never deletes"

    def after_episode(
        self, episode: Episode, library: LibraryView, ctx: Context
    ) -> Sequence[Change]:
        if not episode.own_check or episode.used():
            return ()
        changes: list[Change] = []
        for skill in ctx.write(EditRequest("create", episode=episode)):
            if library.get(skill.id) is not None:
                continue
            older = [
                s
                for s in library.active()
                if s.name == skill.name and s.provenance.scenario == skill.provenance.scenario
            ]
            cause = (episode.id,)
            changes.append(Revise(older[-1].id, skill, cause) if older else Create(skill, cause))
        return changes

    def after_group(
        self, group: CreditedGroup, library: LibraryView, ctx: Context
    ) -> Sequence[Change]:
        return fitting(best_chain(group).changes, library)
