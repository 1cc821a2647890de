"""SAPO: a candidate is promoted iff it gains in matched groups, is among the best, and is new."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import pytest
from desk import Desk, case, episode, group, operator, skill, task

from auto_research.agent_research.library import Create, LibraryView, Retire, view_of
from auto_research.agent_research.operators import Arm, CreditedGroup, Episode
from auto_research.agent_research.similarity import embedding_similarity
from auto_research.agent_research.skill import Skill

WORKED = case("sapo")
A, B = skill("a", body="return 'lift the crate'"), skill("b", body="return sum(range(10))")
TWIN = skill("twin", body="return 'lift the crates'")


def tried(label: str, candidate: Skill | None, outcomes: Sequence[int]) -> list[Episode]:
    """One sibling: two tasks in an arm, with that candidate in front."""
    arm = Arm(label=label)
    made = [
        episode(bool(won), name=f"{label}{i}", at=task(f"t{i}"), position=i, arm=arm)
        for i, won in enumerate(outcomes)
    ]
    if candidate is None:
        return made
    trace = {"candidate": candidate.id}
    return [replace(e, choice=replace(e.choice, trace=trace)) for e in made]


def matched(
    library: LibraryView, rewards: Mapping[str, Sequence[int]], **candidates: Skill
) -> CreditedGroup:
    return group(
        tried("without", None, rewards["without"]),
        *(
            tried(f"with-{n}", s, rewards[name])
            for n, (name, s) in enumerate(candidates.items(), 1)
        ),
        library=library,
    )


def test_only_what_gains_in_matched_groups_is_promoted() -> None:
    library = view_of([A, B])
    update = operator("update", "sapo.promotion", every=1)
    worked = matched(library, WORKED["rewards"], a=A, b=B)
    changes = update.after_group(worked, library, Desk(fits={"a": 1.0, "b": 1.0}))
    assert [c.base for c in changes if isinstance(c, Retire)] == [B.id]
    assert WORKED["refuses"] == ["b"]
    assert update.banks.long == [A.id]
    assert WORKED["accepts"] == ["a"]


def test_utilities_are_the_means_of_the_worked_differences() -> None:
    update = operator("update", "sapo.promotion", every=2)
    update.banks.take(matched(view_of([A, B]), WORKED["rewards"], a=A, b=B))
    for name, candidate in (("a", A), ("b", B)):
        assert update.banks.utility(candidate.id) == pytest.approx(WORKED["utility"][name])


def test_a_gain_does_not_save_what_is_like_a_skill_of_the_bank() -> None:
    assert embedding_similarity(A.source, TWIN.source) >= 0.8
    library = view_of([A, TWIN])
    update = operator("update", "sapo.promotion", every=1)
    gains = {"without": [0, 0], "a": [1, 1], "twin": [1, 1]}
    update.after_group(matched(library, gains, a=A), library, Desk())
    changes = update.after_group(matched(library, gains, twin=TWIN), library, Desk())
    assert [c.base for c in changes if isinstance(c, Retire)] == [TWIN.id]


def test_retrieval_keeps_the_same_bank_and_serves_nothing_else_at_test() -> None:
    library = view_of([A, B])
    retrieval = operator("retrieval", "sapo.likelihood", every=1)
    desk = Desk(fits={"a": 1.0, "b": 1.0}, phase="training", arm=Arm(label="with-1"))
    candidate = retrieval.choose(task(), library, desk)
    assert candidate.trace == {"candidate": candidate.ranked[0]}
    retrieval.learn(matched(library, WORKED["rewards"], a=A, b=B), desk)
    again = operator("retrieval", "sapo.likelihood", every=1)
    again.restore(retrieval.state())
    assert again.state() == retrieval.state()
    served = again.choose(task(), library, Desk(fits={"a": 1.0, "b": 1.0}, phase="test"))
    assert served.ranked == (A.id,)


def test_at_most_k_candidates_of_a_world_wait_and_each_comes_from_a_success() -> None:
    desk = Desk(fits={f"c{i}": 1.0 for i in range(9)})
    numbers = iter(range(9))
    desk.drafts = lambda request: [skill(f"c{next(numbers)}")]
    update = operator("update", "sapo.promotion", candidates=2)
    outcomes = [episode(won, name=f"e{won}") for won in (False, True, True, True)]
    changes = update.after_group(group(*([e] for e in outcomes)), LibraryView(), desk)
    assert [c.skill.name for c in changes if isinstance(c, Create)] == ["c0", "c1"]
    assert all(r.episode is not None and r.episode.success for r in desk.requests)
