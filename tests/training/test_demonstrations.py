"""The expert's demonstrations: what they show, that the world accepts them, and their file."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from random import Random

import pytest

from auto_research.agent_research.agents.micro.language import from_words
from auto_research.benchmarks.base import Submission
from auto_research.benchmarks.workshop.benchmark import WorkshopBenchmark
from auto_research.benchmarks.workshop.jobs import Truth
from auto_research.errors import UserError
from auto_research.training.demonstrations import (
    WORKSHOP,
    Demonstrated,
    Demonstration,
    Mixture,
    demonstrate,
    expert,
    export,
    imported,
)


@pytest.fixture(scope="module")
def shown() -> Demonstrated:
    return demonstrate(WorkshopBenchmark("hid"), 90, 7)


class Misled(WorkshopBenchmark):
    """Its expert believes in other stations than there are."""

    def truth(self, task_id: str) -> Truth:
        other = WorkshopBenchmark("hid", permutation=1)
        for split, seed in self.asked:
            other.scenarios(split, seed, self.most)  # type: ignore[arg-type]
        return other.truth(task_id)

    def __init__(self) -> None:
        super().__init__("hid")
        self.asked: set[tuple[str, int]] = set()
        self.most = 0

    def scenarios(self, split, seed, limit=None):  # type: ignore[no-untyped-def]
        self.asked.add((split, seed))
        self.most = max(self.most, limit or 0)
        return super().scenarios(split, seed, limit)


def actions(demonstration: Demonstration) -> list[list[str]]:
    """What was done in the world, calls worked out from the words alone."""
    said = [w for w, m in zip(demonstration.response, demonstration.mask, strict=True) if m]
    skills = {}
    text = [*demonstration.prompt]
    while "DEF" in text:
        start, end = text.index("DEF"), text.index("END")
        definition = from_words(text[start : end + 1], WORKSHOP)
        skills[definition.name] = definition
        del text[: end + 1]
    done: list[list[str]] = []
    while said and said[0] != "DONE":
        if said[0] == "DEF":
            definition = from_words(said[: said.index("END") + 1], WORKSHOP)
            skills[definition.name] = definition
            del said[: said.index("END") + 1]
        elif said[0] == "CALL":
            definition = skills[said[1]]
            size = len(definition.parameters)
            done += [list(pair) for pair in definition.actions(said[2 : 2 + size])]
            del said[: 2 + size]
        else:
            done.append(said[:2])
            del said[:2]
    return done


def test_the_judge_accepts_what_the_words_of_each_demonstration_say(shown: Demonstrated) -> None:
    """Read back from its text, by a judge of another process: skills in the prompt are enough."""
    stream = _stream(7)
    benchmark = WorkshopBenchmark("hid")
    benchmark.scenarios("train", stream, 40)
    judge = benchmark.evaluator("train", stream)
    try:
        tickets = [
            judge.submit(d.task, Submission(payload={"actions": actions(d)})) for d in shown.kept
        ]
        assert all(judge.verdict(ticket).success for ticket in tickets)
    finally:
        judge.close()
    assert shown.rejected == 0


def test_every_style_is_there_and_reuse_only_with_a_skill_at_hand(shown: Demonstrated) -> None:
    styles = Counter(d.style for d in shown.kept)
    assert set(styles) == {"plain", "define", "library"}
    for d in shown.kept:
        assert ("DEF" in d.prompt) or d.style != "library"
        assert ("DEF" in d.response) == (d.style == "define")
        assert d.response[-1] == "DONE"


def test_what_the_world_answers_is_masked_and_nothing_else_is(shown: Demonstrated) -> None:
    for d in shown.kept:
        for word, mask in zip(d.response, d.mask, strict=True):
            assert (word in ("ok", "err")) == (mask == 0)


def test_where_stations_are_hidden_only_the_first_thing_is_tried_out(shown: Demonstrated) -> None:
    assert any("err" in d.response for d in shown.kept)
    for d in shown.kept:
        if "err" in d.response:
            assert d.style != "library"
            last = len(d.response) - 1 - d.response[::-1].index("err")
            assert Counter(d.response[:last])["drop"] == 0  # the first thing is still in hand
    known = demonstrate(WorkshopBenchmark("base"), 30, 7)
    assert not any("err" in d.response for d in known.kept)


def test_what_the_judge_turns_down_is_not_kept() -> None:
    """An expert that is wrong about the stations fails where it does not try them: its skills."""
    benchmark = Misled()
    defining = Mixture(plain=0, define=1, plain_with_skills=0, define_with_skills=1, library=0)
    shown = demonstrate(benchmark, 9, 7, defining)
    assert len(shown.kept) == 9
    assert shown.rejected > 9


def test_a_mixture_decides_the_styles() -> None:
    plain = Mixture(plain=1, define=0, plain_with_skills=1, define_with_skills=0, library=0)
    assert {d.style for d in demonstrate(WorkshopBenchmark("base"), 30, 7, plain).kept} == {"plain"}
    with pytest.raises(ValueError, match="weights"):
        Mixture(plain=0, define=0).draw(Random(0), skills=False)


def test_the_same_seed_shows_the_same_and_another_something_else(shown: Demonstrated) -> None:
    assert demonstrate(WorkshopBenchmark("hid"), 20, 7).kept == shown.kept[:20]
    assert demonstrate(WorkshopBenchmark("hid"), 20, 8).kept != shown.kept[:20]


def test_it_asks_for_train_scenarios_only() -> None:
    benchmark = Misled()
    benchmark.truth = lambda task_id: WorkshopBenchmark.truth(benchmark, task_id)  # type: ignore[method-assign]
    demonstrate(benchmark, 9, 7)
    assert {split for split, _ in benchmark.asked} == {"train"}


def test_a_benchmark_without_an_expert_is_refused() -> None:
    class Silent:
        name = "silent@1"

    with pytest.raises(UserError, match="silent@1 has no expert"):
        demonstrate(Silent(), 1, 7)  # type: ignore[arg-type]


def test_the_file_is_plain_prompts_and_responses_and_comes_back_whole(
    shown: Demonstrated, tmp_path: Path
) -> None:
    path = tmp_path / "shown.jsonl"
    export(shown.kept, path)
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    assert len(rows) == len(shown.kept)
    for row, d in zip(rows, shown.kept, strict=True):
        assert row["prompt"].split() == list(d.prompt)
        assert row["response"].split() == list(d.response)
        assert " ".join(part["text"] for part in row["segments"]) == row["response"]
        learned = [w for part in row["segments"] if part["mask"] for w in part["text"].split()]
        assert not {"ok", "err"} & set(learned)
    assert imported(path) == shown.kept


@pytest.mark.parametrize(
    "line",
    [
        "{",
        "[]",
        '{"prompt": "LIB", "response": "DONE"}',
        '{"prompt": "LIB", "response": "DONE", "segments": [{"text": "goto r1", "mask": 1}]}',
        '{"prompt": "LIB", "response": "ok", "segments": [{"text": "ok", "mask": 0}]}',
    ],
)
def test_a_line_that_is_no_demonstration_is_named(line: str, tmp_path: Path) -> None:
    path = tmp_path / "bad.jsonl"
    path.write_text(line + "\n")
    with pytest.raises(UserError, match=r"bad\.jsonl:1"):
        imported(path)


def test_an_expert_gives_a_new_skill_a_name_that_is_free() -> None:
    benchmark = WorkshopBenchmark("base")
    truth = benchmark.truth(benchmark.scenarios("train", 7, 1)[0].tasks[0].id)
    words = expert(truth, "define", [], Random(0))
    start, end = words.index("DEF"), words.index("END")
    skill = from_words(words[start : end + 1], WORKSHOP)
    again = expert(truth, "define", [skill], Random(0))
    assert again[again.index("DEF") + 1] != skill.name


def _stream(seed: int) -> int:
    """The scenarios that a seed's demonstrations are of."""
    from auto_research.rng import derive

    return derive(seed, "demonstrations").randrange(2**31)
