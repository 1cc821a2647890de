"""Talk to a sealed evaluator: a child process that reads and writes one JSON object a line.

The child gets ``{"id": n, "op": name, ...}`` and answers ``{"id": n, "result": ...}`` or
``{"id": n, "error": {"what", "where", "mend"}}`` (the user's mistake). Requests are pipelined: a
submission returns at once and a thread collects the answers, so the agent works meanwhile.
"""

from __future__ import annotations

import contextlib
import json
import subprocess
import threading
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import IO

from auto_research.benchmarks.base import Evaluator, Json, Submission, Verdict
from auto_research.errors import EvaluatorError, UserError

_MAX_LINE = 1_000_000  # characters of one submission; a longer one fails unread
_GRACE = 5.0  # seconds for the child to end by itself


class SealedProcess:
    """One child process; safe to use from several threads. An `Evaluator`.

    `environment` are its variables, by default those of this process.
    """

    def __init__(self, argv: Sequence[str], environment: Mapping[str, str] | None = None) -> None:
        self._child = subprocess.Popen(
            argv,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environment,
        )
        assert self._child.stdin and self._child.stdout and self._child.stderr
        self._stdin: IO[bytes] = self._child.stdin
        self._complaints: deque[str] = deque(maxlen=20)
        self._answers: dict[int, Mapping[str, Json]] = {}
        self._next_ticket = 0
        self._gone = self._closed = False
        self._sending = threading.Lock()
        self._news = threading.Condition()
        self._threads = [
            threading.Thread(target=self._hear, args=(self._child.stdout,), daemon=True),
            threading.Thread(target=self._heed, args=(self._child.stderr,), daemon=True),
        ]
        for thread in self._threads:
            thread.start()

    def request(self, op: str, **arguments: Json) -> Json:
        """Ask and wait. Raises UserError as the child reports it, EvaluatorError if it is gone."""
        return self._wait(self._send(json.dumps({"op": op, **arguments})))

    def submit(self, task_id: str, submission: Submission) -> int:
        """Hand in one finished submission; returns a ticket at once."""
        return self._send(_submission_line(task_id, submission))

    def verdict(self, ticket: int) -> Verdict:
        """Wait for the verdict of a ticket, once. Raises EvaluatorError if the process is gone."""
        result = self._wait(ticket)
        checks = result.get("checks") if isinstance(result, Mapping) else None
        if not isinstance(result, Mapping) or not isinstance(checks, Mapping):
            raise EvaluatorError(f"the sealed evaluator answered nonsense: {result!r:.100}")
        return Verdict(
            result.get("success") is True, {name: ok is True for name, ok in checks.items()}
        )

    def close(self) -> None:
        """End the process; safe to call twice."""
        if self._closed:
            return
        self._closed = True
        with contextlib.suppress(OSError):
            self._stdin.close()
        try:
            self._child.wait(timeout=_GRACE)
        except subprocess.TimeoutExpired:
            self._child.kill()
            self._child.wait()
        for thread in self._threads:
            thread.join()

    def _send(self, body: str) -> int:
        with self._sending:
            ticket = self._next_ticket
            self._next_ticket += 1
            try:
                self._stdin.write(f'{{"id": {ticket}, {body[1:]}\n'.encode())
                self._stdin.flush()
            except (OSError, ValueError):
                raise self._death() from None
        return ticket

    def _wait(self, ticket: int) -> Json:
        with self._news:
            self._news.wait_for(lambda: ticket in self._answers or self._gone)
            answer = self._answers.pop(ticket, None)
        if answer is None:
            raise self._death()
        error = answer.get("error")
        if isinstance(error, Mapping):
            where, mend = str(error["where"]), str(error["mend"])
            raise UserError(str(error["what"]), where=where, mend=mend)
        return answer.get("result")

    def _death(self) -> EvaluatorError:
        if self._closed:
            return EvaluatorError("the sealed evaluator is closed")
        self._threads[1].join()
        last = self._complaints[-1] if self._complaints else "it said nothing"
        return EvaluatorError(f"the sealed evaluator is gone: {last}")

    def _hear(self, stdout: IO[bytes]) -> None:
        try:
            for line in stdout:
                answer = json.loads(line)
                with self._news:
                    self._answers[int(answer["id"])] = answer
                    self._news.notify_all()
        except (ValueError, KeyError, TypeError):
            self._complaints.append("it wrote a line that is no answer")
            self._child.kill()
        finally:
            with self._news:
                self._gone = True
                self._news.notify_all()

    def _heed(self, stderr: IO[bytes]) -> None:
        for line in stderr:
            if text := line.decode(errors="replace").strip():
                self._complaints.append(text)


class SealedHandle:
    """One user's hold on a shared process: closing it leaves the process to the others."""

    def __init__(self, process: Evaluator, release: Callable[[], None]) -> None:
        self._process, self._release = process, release
        self._open = True

    def submit(self, task_id: str, submission: Submission) -> int:
        """See `Evaluator`."""
        return self._process.submit(task_id, submission)

    def verdict(self, ticket: int) -> Verdict:
        """See `Evaluator`."""
        return self._process.verdict(ticket)

    def close(self) -> None:
        """Let go; the last user's letting go ends the process. Safe to call twice."""
        if self._open:
            self._open = False
            self._release()


def _submission_line(task_id: str, submission: Submission) -> str:
    """The request as JSON; a submission that is too long or no JSON at all is sent as empty."""
    empty: Json = {"plan": None, "answer": None, "payload": {}}
    try:
        content = {
            "plan": submission.plan,
            "answer": submission.answer,
            "payload": submission.payload,
        }
        line = json.dumps({"op": "judge", "task": task_id, "submission": content})
    except (TypeError, ValueError, RecursionError):
        line = ""
    if not line or len(line) > _MAX_LINE:
        line = json.dumps({"op": "judge", "task": task_id, "submission": empty})
    return line
