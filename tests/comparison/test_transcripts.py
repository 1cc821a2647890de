"""Two methods are one if nothing that they retrieved, called or handed in differs."""

from __future__ import annotations

from typing import Any

from compared_runs import Did, line

from auto_research.agent_research.skill import function_skill
from auto_research.comparison.figures import episodes
from auto_research.comparison.transcripts import alike, transcript_of

ROW: dict[str, Any] = {
    "choice": {"ranked": ["a", "b"], "propensities": [0.5, 0.5]},
    "uses": [{"skill": "a", "called": True}, {"skill": "b", "called": False}],
    "plan": [["go", "x"]],
    "answer": "yes",
    "units": 7,
    "written": ["c"],
}
USED = {**ROW, "uses": [{"skill": "a", "called": True}, {"skill": "b", "called": True}]}
RANKED = {**ROW, "choice": {"ranked": ["b", "a"], "propensities": [0.5, 0.5]}}


def test_a_transcript_is_what_was_ranked_called_and_handed_in() -> None:
    assert transcript_of(ROW) == (("a", "b"), ("a",), (("go", "x"),), "yes")
    assert transcript_of({**ROW, "plan": None, "answer": None})[2:] == (None, None)


def test_charges_and_what_was_written_do_not_count() -> None:
    assert transcript_of({**ROW, "units": 900, "written": []}) == transcript_of(ROW)


def test_each_part_tells_two_episodes_apart() -> None:
    others = [USED, RANKED, {**ROW, "plan": [["go", "y"]]}, {**ROW, "answer": "no"}]
    assert len({transcript_of(row) for row in (ROW, *others)}) == 5


def test_a_skill_under_another_name_is_the_same_skill() -> None:
    one = function_skill("def fetch(box):\n    return box\n")
    twin = function_skill("def bring(thing):\n    # fetch\n    return thing\n")
    other = function_skill("def fetch(box):\n    return None\n")

    def told(skill_id: str) -> Any:
        choice = {"ranked": [skill_id], "propensities": [1.0]}
        return transcript_of({**ROW, "choice": choice, "uses": []})

    assert told(one.id) == told(twin.id) != told(other.id)


def test_one_episode_that_differs_sets_a_method_apart() -> None:
    same, other = transcript_of(ROW), transcript_of({**ROW, "answer": "no"})
    streams = {
        "first": {1: same, 2: same},
        "other": {1: same, 2: other},
        "twin": {2: same, 1: same},
        "short": {1: same},
    }
    assert alike(streams) == [["first", "twin"], ["other"], ["short"]]


def test_the_transcripts_of_a_run_are_read_from_its_rows(tmp_path: Any) -> None:
    did = Did(ranked=("a", "b"), called=("b",), answer="no")
    (episode,) = episodes(line(tmp_path, "sage", [did])).values()
    assert episode.outcome.transcript == (("a", "b"), ("b",), (("go", "here"),), "no")
