"""ASI, Agent Skill Induction (arXiv 2504.06821): save a program once a re-run with it passes.

A program induced from a success is saved iff, on a re-run of the same task with it,

    the task still succeeds  and  the program is called  and  each call of it changes the world

Interpretation: "changes the world" is read as: no call failed, and calls alone brought goals
about. At test nothing can be re-run, so the library stays as training left it.
"""

from collections.abc import Mapping, Sequence

from pydantic import Field

from auto_research.agent_research.library import Change, Create, LibraryView, view_of
from auto_research.agent_research.operators import (
    Context,
    CreditedGroup,
    EditRequest,
    Episode,
    LibraryUpdate,
    Operator,
    Settings,
    TaskRef,
)
from auto_research.agent_research.skill import Skill
from auto_research.benchmarks.base import Json
from auto_research.hookspecs import hookimpl


class Options(Settings):
    reruns: int = Field(default=3, ge=1, description="programs tried for each group, at most")


class SaveGate(LibraryUpdate):
    """Induce a program from every success that no skill brought about; save it if it passes."""

    name = "asi.save-gate"
    citation = "ASI, arXiv 2504.06821 (three checks on a re-run)"
    summary = (
        "saves a program iff a re-run with it succeeds, calls it, and each call does something"
    )
    settings_type = Options
    settings: Options

    def after_group(
        self, group: CreditedGroup, library: LibraryView, ctx: Context
    ) -> Sequence[Change]:
        if ctx.phase != "training":
            return ()
        saved: dict[str, Create] = {}
        tried: set[str] = set()
        for episode in (e for chain in group.chains for e in chain.episodes):
            if not episode.success or episode.used():
                continue
            for skill in ctx.write(EditRequest("create", episode=episode)):
                if library.get(skill.id) or skill.id in tried:
                    continue
                if len(tried) == self.settings.reruns:
                    return list(saved.values())
                tried.add(skill.id)
                if self.passes(skill, episode, ctx):
                    saved[skill.id] = Create(skill, cause=(episode.id,))
        return list(saved.values())

    def passes(self, skill: Skill, episode: Episode, ctx: Context) -> bool:
        """Run the task again with this one skill: a probe, charged like any other episode."""
        task = TaskRef(episode.task.scenario, episode.task.id)
        (again,) = ctx.probe([task], view_of([skill]))
        calls = [use for use in again.uses if use.called]
        return again.success and bool(calls) and all(use.sound and use.helped for use in calls)


@hookimpl
def register_operators() -> Sequence[type[Operator]]:
    return [SaveGate]


@hookimpl
def register_methods() -> Sequence[Mapping[str, Json]]:
    return [
        {
            "name": "asi",
            "summary": "programs saved once a re-run with them passes three checks",
            "citation": "ASI: Wang et al. 2025, arXiv 2504.06821",
            "retrieval": {"use": "relevance.scope", "top_k": 3},
            "update": SaveGate.name,
            "reward": "outcome",
            "rollout": "stream.scenarios",
        }
    ]
