"""A document that travels from task to task: one a task, the newest, rewritten as it goes.

For `search` a document is a function skill, and rewriting it is the skill writer's revision
(interpretation). The papers let a model rewrite freely; here there are a few ways, which the
siblings of a group try side by side.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, get_args

from auto_research.agent_research.library import Change, Create, LibraryView, Revise
from auto_research.agent_research.operators import (
    Choice,
    Context,
    EditRequest,
    Episode,
    RetrievalPolicy,
)
from auto_research.agent_research.skill import Skill
from auto_research.benchmarks.base import Task
from auto_research_operators.shared.relevance import certain

Way = Literal["whole", "brief", "anew"]
WAYS: tuple[Way, ...] = get_args(Way)
BRIEF = 2  # new pieces of knowledge that a brief rewriting takes in


def rewritten(episode: Episode, way: str, library: LibraryView, ctx: Context) -> Sequence[Change]:
    """The document of `episode` rewritten by what it showed: all of it, the briefest, or anew.

    Without a document for this very kind of world, one is written from a success.
    """
    document = _document(episode, library)
    if document is None:
        if not episode.own_check:
            return ()
        made = ctx.write(EditRequest("create", episode=episode))
        return [Create(s, (episode.id,)) for s in made[:1] if library.get(s.id) is None]
    if way == "anew":
        request = EditRequest("create", episode=episode)
    else:
        limit = BRIEF if way == "brief" else None
        request = EditRequest("revise", episode=episode, bases=(document,), limit=limit)
    return [
        Revise(document.id, s, (episode.id,))
        if s.interface == document.interface
        else Create(s, (episode.id,))
        for s in ctx.write(request)[:1]
        if library.get(s.id) is None
    ]


def _document(episode: Episode, library: LibraryView) -> Skill | None:
    """What the episode was given."""
    return library.get(episode.choice.ranked[0]) if episode.choice.ranked else None


class DocumentRetrieval(RetrievalPolicy):
    """The document of the task's kind of world, else of a kin; of equals the one written last."""

    name = "documents.newest"
    citation = "SkillRise, arXiv 2607.26784; Skill-R1, arXiv 2605.09359 (one skill, no choice)"
    summary = "the one document that fits the task best, in its newest version"

    def choose(self, task: Task, library: LibraryView, ctx: Context) -> Choice:
        newest = list(reversed(library.active()))
        ctx.spend("retrieve", len(newest))
        fit = {s.id: ctx.fit(task, s) for s in newest}
        fitting = sorted((s for s in newest if fit[s.id] > 0), key=lambda s: -fit[s.id])
        return certain(fitting[:1])
