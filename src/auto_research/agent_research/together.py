"""Many chains at once on one model: each asks from a thread of its own, all are answered at once.

The answers come when every thread that still runs is waiting for one, so that who is answered
together with whom does not depend on how the system schedules threads.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar

Question = TypeVar("Question")
Answer = TypeVar("Answer")
Result = TypeVar("Result")

_STACK = 512 * 1024  # bytes a thread: there may be hundreds


@dataclass
class _Waiting(Generic[Question, Answer]):
    number: int
    question: Question
    answer: Answer | None = None
    error: BaseException | None = None
    done: threading.Event = field(default_factory=threading.Event)


class Together(Generic[Question, Answer]):
    """`answer` gets the questions of all waiting threads, in the order of their tasks."""

    def __init__(self, answer: Callable[[Sequence[Question]], Sequence[Answer]]) -> None:
        self._answer = answer
        self._lock = threading.Lock()
        self._news = threading.Condition(self._lock)
        self._waiting: list[_Waiting[Question, Answer]] = []
        self._running = 0
        self._here = threading.local()

    def ask(self, question: Question) -> Answer:
        """The answer, together with everyone else's. Asked outside `run`: alone, at once.

        Raises what answering raised.
        """
        number = getattr(self._here, "number", None)
        if number is None:
            return self._answer([question])[0]
        mine: _Waiting[Question, Answer] = _Waiting(number, question)
        with self._news:
            self._waiting.append(mine)
            self._running -= 1
            self._news.notify_all()
        mine.done.wait()
        if mine.error is not None:
            raise mine.error
        return mine.answer  # type: ignore[return-value]

    def run(self, tasks: Sequence[Callable[[], Result]]) -> list[Result]:
        """Run every task in a thread of its own; results in their order.

        If tasks raised, the error of the first of them is raised, once all have ended.
        """
        results: dict[int, Result] = {}
        errors: dict[int, BaseException] = {}

        def work(number: int, task: Callable[[], Result]) -> None:
            self._here.number = number
            try:
                results[number] = task()
            except BaseException as error:
                errors[number] = error
            finally:
                with self._news:
                    self._running -= 1
                    self._news.notify_all()

        self._running = len(tasks)
        before = threading.stack_size(_STACK)
        try:
            threads = [
                threading.Thread(target=work, args=(number, task), daemon=True)
                for number, task in enumerate(tasks)
            ]
            for thread in threads:
                thread.start()
        finally:
            threading.stack_size(before)
        self._serve()
        for thread in threads:
            thread.join()
        if errors:
            raise errors[min(errors)]
        return [results[number] for number in range(len(tasks))]

    def _serve(self) -> None:
        """Answer whenever nobody runs, until nobody is left."""
        while True:
            with self._news:
                self._news.wait_for(lambda: self._running == 0)
                asked = sorted(self._waiting, key=lambda waiting: waiting.number)
                self._waiting.clear()
                self._running += len(asked)
            if not asked:
                return
            try:
                for waiting, answer in zip(
                    asked, self._answer([w.question for w in asked]), strict=True
                ):
                    waiting.answer = answer
            except BaseException as error:
                for waiting in asked:
                    waiting.error = error
            for waiting in asked:
                waiting.done.set()
