"""Agent Workflow Memory (arXiv 2409.07429): every success adds workflows; none is ever taken away.

    M <- M + induce(trajectory)  if the judge accepts the trajectory

Workflows of the task's own site are put into context (`relevance.scope`). The library is built
offline from train tasks, or online along the stream; here both, as the judge needs no verdict.

Interpretation: a site is a kind of world, told by the agent's fit; the judge is the agent's own
check; a workflow with its values abstracted into variables is the function that the skill writer
makes of a success. What a success did with the help of an older workflow is induced too.
"""

from __future__ import annotations

from collections.abc import Sequence

from auto_research.agent_research.library import Change, Create, LibraryView
from auto_research.agent_research.operators import (
    Context,
    CreditedGroup,
    EditRequest,
    Episode,
    LibraryUpdate,
)
from auto_research_operators.shared.changes import best_chain, fitting


class AppendUpdate(LibraryUpdate):
    """Appends what the judge accepts; never revises, merges or retires."""

    name = "awm.append"
    citation = "AWM, arXiv 2409.07429 (induce from accepted trajectories, append only)"
    summary = "a workflow from each attempt that its own check accepts, append only"

    def after_episode(
        self, episode: Episode, library: LibraryView, ctx: Context
    ) -> Sequence[Change]:
        if not episode.own_check:
            return ()
        written = ctx.write(EditRequest("create", episode=episode))
        return [Create(s, (episode.id,)) for s in written if library.get(s.id) is None]

    def after_group(
        self, group: CreditedGroup, library: LibraryView, ctx: Context
    ) -> Sequence[Change]:
        return fitting(best_chain(group).changes, library)
