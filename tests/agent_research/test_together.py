"""Chains that ask together: who is answered with whom, in which order, and what an error does."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from auto_research.agent_research.together import Together


def test_all_waiting_tasks_are_answered_at_once_and_in_their_order() -> None:
    served: list[list[str]] = []

    def answer(questions: Sequence[str]) -> list[str]:
        served.append(list(questions))
        return [question.upper() for question in questions]

    together = Together(answer)

    def task(name: str, times: int) -> str:
        return "".join(together.ask(f"{name}{turn}") for turn in range(times))

    results = together.run([lambda n=n, t=t: task(n, t) for n, t in [("a", 2), ("b", 1), ("c", 3)]])
    assert results == ["A0A1", "B0", "C0C1C2"]
    assert served == [["a0", "b0", "c0"], ["a1", "c1"], ["c2"]]


def test_alone_a_question_is_answered_alone() -> None:
    assert Together(lambda questions: [len(questions)]).ask("x") == 1


def test_nobody_waits_for_a_task_that_raised_or_asks_nothing() -> None:
    together: Together[int, int] = Together(lambda questions: [q + 1 for q in questions])

    def broken() -> int:
        raise RuntimeError("mine")

    with pytest.raises(RuntimeError, match="mine"):
        together.run([lambda: together.ask(1), broken, lambda: 5])
    assert together.run([lambda: together.ask(1), lambda: 5]) == [2, 5]
    assert together.run([]) == []


def test_an_error_in_answering_reaches_everyone_who_asked() -> None:
    def answer(questions: Sequence[int]) -> list[int]:
        raise ValueError("no model")

    together = Together(answer)
    caught: list[str] = []

    def task() -> None:
        try:
            together.ask(1)
        except ValueError as error:
            caught.append(str(error))

    together.run([task, task])
    assert caught == ["no model", "no model"]


def test_hundreds_of_tasks_at_once() -> None:
    together: Together[int, int] = Together(lambda questions: [len(questions)] * len(questions))
    assert set(together.run([lambda: together.ask(0) for _ in range(400)])) == {400}
