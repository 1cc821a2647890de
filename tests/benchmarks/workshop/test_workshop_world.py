"""The world: one action a line, ok or err, and a record of everything that was tried."""

from __future__ import annotations

from workshop_cases import SMALL

from auto_research.benchmarks.base import Observation
from auto_research.benchmarks.workshop.world import WorkshopWorld


def world() -> WorkshopWorld:
    return WorkshopWorld(SMALL.state())


def test_an_action_is_ok_or_err_and_one_call() -> None:
    here = world()
    assert here.execute("goto r1") == Observation("ok", calls=1)
    assert here.execute("pick o7") == Observation("err", failed=True, calls=1)
    assert here.execute("pick o1") == Observation("ok", calls=1)


def test_several_lines_stop_at_the_first_that_fails() -> None:
    here = world()
    seen = here.execute("goto r1\npick o1\n\nwash o1\ngoto r2")
    assert seen == Observation("err", failed=True, calls=3)
    assert here.execute("drop o1 r1") == Observation("ok", calls=1)


def test_no_more_actions_are_done_than_allowed() -> None:
    here = world()
    assert here.execute("goto r1\npick o1", calls=1) == Observation("err", failed=True, calls=1)
    assert here.execute("pick o1", calls=0) == Observation("err", failed=True, calls=0)
    assert here.submission() == {"actions": [["goto", "r1"]]}


def test_lines_that_are_no_action_fail() -> None:
    here = world()
    for line in ("goto", "goto r1 entrance now", "r1", "goto r99", "import os", "__init__ o1"):
        assert here.execute(line).text == "err"
    assert here.execute("") == Observation("ok")


def test_what_was_tried_is_handed_in_with_its_failures() -> None:
    here = world()
    here.execute("pick o1")
    here.execute("goto r1\npick o1 r1")
    tried = [["pick", "o1"], ["goto", "r1"], ["pick", "o1", "r1"]]
    assert here.submission() == {"actions": tried}
    assert here.flags() == ()


def test_two_worlds_of_a_task_do_not_touch() -> None:
    one, two = world(), world()
    assert one.execute("goto r1\npick o1").text == "ok"
    assert two.execute("goto r1\npick o1").text == "ok"
