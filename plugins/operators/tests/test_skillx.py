"""SkillX: three tiers of general skills, merged where they are alike, found where similar."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from auto_research_operators.papers.skillx import tier_of
from desk import Desk, case, episode, group, operator, skill, task

from auto_research.agent_research.library import Create, LibraryView, Merge, view_of
from auto_research.agent_research.operators import CreditedGroup, EditRequest
from auto_research.agent_research.similarity import embedding_similarity
from auto_research.agent_research.skill import Skill

WORKED = case("skillx")


def successes(rows: Sequence[Sequence[str]]) -> CreditedGroup:
    return group([episode(True, name=f"e{i}", actions=row) for i, row in enumerate(rows)])


class Always(dict[str, float]):
    """Every skill fits."""

    def get(self, key: str, default: object = None) -> float:
        return 1.0


def test_only_spans_that_two_successes_show_are_written() -> None:
    desk = Desk()
    update = operator("update", "skillx.tiers")
    update.after_group(successes(WORKED["attempts"]), LibraryView(), desk)
    asked = [list(request.span) for request in desk.requests]
    assert [span for span in WORKED["accepts"] if span not in asked] == []
    assert [span for span in WORKED["refuses"] if span in asked] == []
    again = operator("update", "skillx.tiers")
    again.restore(update.state())
    assert again.state() == update.state()


def test_what_is_alike_in_a_tier_is_merged_and_what_is_not_is_added() -> None:
    old = skill("old", body="return 'lift the crate'")
    near = skill("near", body="return 'lift the crates'")
    far = skill("far", body="return [x * x for x in range(100) if x % 7]")
    both = skill("both", body="return 'lift the crate or crates'")
    assert embedding_similarity(old.source, near.source) >= 0.90
    assert embedding_similarity(old.source, far.source) < 0.90

    def placed(draft: Skill) -> list[object]:
        def drafts(request: EditRequest) -> list[Skill]:
            return [both] if request.kind == "merge" else [draft]

        update = operator("update", "skillx.tiers", generality=99)
        desk = Desk(fits=Always(), drafts=drafts)
        return list(update.after_group(successes([["a"]]), view_of([old]), desk))

    (merged,) = placed(near)
    assert isinstance(merged, Merge)
    assert (merged.bases, merged.skill.id) == ((old.id,), both.id)
    (added,) = placed(far)
    assert isinstance(added, Create)
    assert added.skill.id == far.id


def test_a_skill_that_does_not_fit_its_own_task_is_filtered_out() -> None:
    desk = Desk(fits={"odd": 0.5}, drafts=lambda request: [skill("odd")])
    update = operator("update", "skillx.tiers")
    assert update.after_group(successes([["a"]]), LibraryView(), desk) == []


def test_similar_skills_of_each_tier_are_rewritten_into_one_for_the_task() -> None:
    def shelf(name: str, tier: str, query: str) -> Skill:
        made = skill(name, query=query)
        return replace(made, docstring=f"{tier}: {made.docstring}")

    at = task("open the red door with a key")
    library = view_of(
        [
            shelf("open_door", "plan", at.instruction),
            shelf("turn_key", "atomic", at.instruction),
            shelf("bake", "plan", "knead the dough and bake bread in a hot oven"),
        ]
    )
    assert [tier_of(s) for s in library] == ["plan", "atomic", "plan"]
    own = skill("own")
    desk = Desk(drafts=lambda request: [own])
    choice = operator("retrieval", "skillx.tiers").choose(at, library, desk)
    assert choice.ranked == (own.id,)
    (request,) = desk.requests
    assert (request.kind, [s.name for s in request.bases]) == ("adapt", ["open_door", "turn_key"])
    as_they_are = operator("retrieval", "skillx.tiers").choose(at, library, Desk())
    assert [library.skills[i].name for i in as_they_are.ranked] == ["open_door", "turn_key"]
