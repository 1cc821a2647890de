"""What words do in a world, and what they are answered."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from micro_cases import WORDS

from auto_research.agent_research.agents.micro.language import Definition
from auto_research.agent_research.agents.micro.reader import Reader
from auto_research.benchmarks.workshop import WorkshopBenchmark
from auto_research.benchmarks.workshop.world import WorkshopWorld

BENCHMARK = WorkshopBenchmark("hid")
TASK = BENCHMARK.scenarios("validation", 7, 1)[0].tasks[0]
TARGET = BENCHMARK.truth(TASK.id).targets[0]
START, THING = TARGET.start, TARGET.thing
FETCH = Definition("s1", ("pa", "pb"), (("goto", "pa"), ("pick", "pb")))


def reader(
    library: dict[str, Definition] | None = None, words: int = 110, units: int = 1000
) -> tuple[Reader, WorkshopWorld]:
    world = BENCHMARK.environment(TASK)
    return Reader(WORDS, world.execute, library or {}, words, 9, units), world


def hear(text: str, reading: Reader) -> list[str]:
    """The answers to `text`, heard until the reader is done."""
    answers: list[str] = []
    for word in text.split():
        if reading.done:
            break
        answers += [answer] if (answer := reading.hear(word)) else []
    return answers


def test_actions_are_answered_by_the_world_and_a_last_try_decides() -> None:
    reading, world = reader()
    elsewhere = next(room for room in ("r0", "r1") if room != START)
    answers = hear(f"goto {elsewhere} pick {THING} goto {START} pick {THING} DONE", reading)
    assert answers == ["ok", "err", "ok", "ok"]
    assert reading.done and reading.end == "DONE" and reading.all_went_well
    assert (reading.heard, reading.acts, reading.steps, reading.erred) == (9, 4, 4, 1)
    assert world.submission()["actions"] == [
        ["goto", elsewhere],
        ["pick", THING],
        ["goto", START],
        ["pick", THING],
    ]


def test_an_action_that_failed_to_the_end_is_not_well() -> None:
    reading, _ = reader()
    assert hear(f"goto {START} wash {THING} DONE", reading) == ["ok", "err"]
    assert not reading.all_went_well


def test_neither_silence_nor_a_missing_done_is_well() -> None:
    silent, _ = reader()
    hear("DONE", silent)
    unfinished, _ = reader()
    hear(f"goto {START}", unfinished)
    assert not silent.all_went_well and not unfinished.all_went_well


def test_a_call_does_its_body_until_an_action_fails() -> None:
    reading, world = reader({"s1": FETCH})
    assert hear(f"CALL s1 {START} {THING} CALL s1 {START} {THING}", reading) == ["ok", "err"]
    assert reading.acts == reading.acts_in_calls == 4  # the thing is held: the last one failed
    assert [(call.name, call.ok, call.given) for call in reading.calls] == [
        ("s1", True, True),
        ("s1", False, True),
    ]
    reading, world = reader({"s1": Definition("s1", ("pa",), (("pick", "pa"), ("goto", "sink")))})
    assert hear(f"CALL s1 {THING}", reading) == ["err"]
    assert reading.acts == len(world.submission()["actions"]) == 1  # type: ignore[arg-type]


def test_a_definition_hides_a_given_skill_of_its_name() -> None:
    reading, _ = reader({"s1": FETCH})
    answers = hear("DEF s1 pa : goto pa END CALL s1 sink CALL s2 sink", reading)
    assert answers == ["ok", "ok", "err", "err"]  # s2 is unknown; then `sink` begins nothing
    assert reading.defined["s1"].body == (("goto", "pa"),)
    assert [(call.name, call.given) for call in reading.calls] == [("s1", False)]


def test_a_definition_that_does_not_end_is_an_error_at_its_longest() -> None:
    reading, _ = reader()
    assert hear("DEF s0 pa : " + "goto pa " * 16, reading) == ["err"]
    assert reading.heard == 36 and not reading.defined


def test_nine_errors_are_the_end() -> None:
    reading, _ = reader()
    assert hear("ok " * 20, reading) == ["err"] * 9
    assert reading.end == "errors" and reading.heard == 9


def test_the_budget_ends_an_episode_within_a_call() -> None:
    reading, world = reader({"s1": FETCH}, units=5)
    assert hear(f"CALL s1 {START} {THING} DONE", reading) == ["err"]
    assert reading.end == "budget"
    assert reading.heard + reading.acts == 5
    assert world.submission()["actions"] == [["goto", START]]


@given(
    st.lists(st.sampled_from(WORDS.words), min_size=1, max_size=80),
    st.integers(1, 60),
    st.integers(1, 60),
)
def test_whatever_is_said_no_limit_is_passed(words: list[str], most: int, units: int) -> None:
    reading, world = reader({"s1": FETCH}, most, units)
    answers = hear(" ".join(words), reading)
    assert reading.heard <= most and reading.heard + reading.acts <= units
    assert reading.acts == len(world.submission()["actions"])  # type: ignore[arg-type]
    assert answers.count("err") == reading.erred <= 9 and len(answers) == reading.steps
    assert reading.done or reading.heard == len(words)
