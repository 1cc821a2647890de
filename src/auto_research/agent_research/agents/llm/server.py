"""One attempt at one request over HTTP: the reply, or in plain words why there is none.

The key comes from the environment (OPENAI_API_KEY), goes into the request's header and nowhere
else: no message of the server is passed on unless the key has been taken out of it.
"""

from __future__ import annotations

import json
import logging
import os
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from auto_research.agent_research.agents.llm.options import Options
from auto_research.agent_research.agents.llm.record import Answer, Request
from auto_research.errors import UserError

KEY = "OPENAI_API_KEY"
_OVERFLOWS = ("context length", "context_length", "maximum context", "too many tokens", "too long")


class Failed(Exception):
    """An attempt failed in a way that may pass. `after` is when to try again, in seconds.

    `reached`: the server may have worked on the request; `sent`: it got it.
    """

    def __init__(
        self, why: str, *, sent: bool = True, reached: bool = True, after: float | None = None
    ) -> None:
        super().__init__(why)
        self.why, self.sent, self.reached, self.after = why, sent, reached, after


class Refused(Exception):
    """The server refuses such requests for good: another attempt would be refused too."""


@dataclass
class ModelServer:
    """A connection to an OpenAI-compatible server, opened at the first request.

    `seconds` is how long one reply may take, `max_bytes` how long it may be.
    """

    options: Options
    max_bytes: int
    seconds: float = 600.0
    _client: Any = None

    def ask(self, request: Request) -> Answer:
        """The server's reply. Raises Failed or Refused; UserError if openai is not installed."""
        client = self._opened()
        import httpx2
        import openai

        try:
            with client.chat.completions.with_streaming_response.create(**request) as response:
                body = b"".join(self._chunks(response))
        except openai.APIStatusError as error:
            return _refusal(error.status_code, _words(error.body), error.response.headers)
        except (openai.APITimeoutError, httpx2.TimeoutException) as error:
            connecting = isinstance(error.__cause__ or error, httpx2.ConnectTimeout)
            raise Failed("no reply in time", sent=not connecting, reached=not connecting) from None
        except (openai.APIConnectionError, httpx2.HTTPError) as error:
            cause = error.__cause__ or error
            if isinstance(cause, httpx2.ConnectError):
                raise Failed("no connection", sent=False, reached=False) from None
            raise Failed("the connection broke off") from None
        return _answer(body)

    def close(self) -> None:
        """Let go of the connection; the next request opens it again."""
        if self._client is not None:
            self._client.close()
            self._client = None

    def _opened(self) -> Any:
        if self._client is None:
            try:
                import httpx2  # noqa: F401  (not there in versions that do not do)
                from openai import OpenAI
            except ModuleNotFoundError:
                raise UserError(
                    "agent 'llm' needs the package openai, in version 3",
                    mend="pip install 'auto-research[llm]', or give --replay FILE",
                ) from None
            for name in ("httpx2", "httpcore2", "openai"):  # they would log the whole URL
                logging.getLogger(name).setLevel(logging.WARNING)
            self._client = OpenAI(
                api_key=os.environ.get(KEY) or "none",  # a server of one's own asks for none
                base_url=self.options.base_url,
                timeout=self.seconds,
                max_retries=0,  # each attempt is charged, so they are made in one place
            )
        return self._client

    def _chunks(self, response: Any) -> Iterator[bytes]:
        size, end = 0, time.monotonic() + self.seconds
        for chunk in response.iter_bytes():
            size += len(chunk)
            if size > self.max_bytes:
                raise Failed(f"a reply of more than {self.max_bytes} bytes")
            if time.monotonic() > end:
                raise Failed("no reply in time")
            yield chunk


def _refusal(status: int, words: str, headers: Any) -> Answer:
    """What an HTTP status means: an overflow, or something raised."""
    if status in (400, 413, 422) and any(sign in words.lower() for sign in _OVERFLOWS):
        return Answer(overflow=True)
    if status in (408, 409, 425, 429) or status >= 500:
        busy = status in (425, 429, 503)  # turned away unread
        raise Failed(f"HTTP {status}", reached=not busy, after=_seconds(headers.get("retry-after")))
    mend = {
        401: f"; is {KEY} set?",
        403: f"; is {KEY} set?",
        404: "; is --base-url right, and the model served there?",
    }
    told = "" if status in (401, 403) else f" ({words})" if words else ""
    raise Refused(f"HTTP {status}{told}{mend.get(status, '')}")


def _seconds(text: str | None) -> float | None:
    try:
        return max(0.0, float(text or ""))
    except ValueError:
        return None


def _words(body: object) -> str:
    """What the server says of an error, without the key."""
    if isinstance(body, dict):
        inner = body.get("error", body)
        body = inner.get("message", inner) if isinstance(inner, dict) else inner
    text = " ".join(str(body or "").split())
    key = os.environ.get(KEY)
    return (text.replace(key, "[key]") if key else text)[:200]


def _answer(body: bytes) -> Answer:
    """A chat completion read from JSON. Raises Failed if it is none."""
    try:
        data = json.loads(body)
        choice = data["choices"][0]
        text = choice["message"].get("content")
        usage = data.get("usage") or {}
        total, spoken = _whole(usage.get("total_tokens")), _whole(usage.get("completion_tokens"))
        if text is not None and not isinstance(text, str):
            raise TypeError
    except (ValueError, KeyError, IndexError, TypeError, AttributeError, RecursionError):
        raise Failed("a malformed reply") from None
    return Answer(
        text=(text or "").encode(errors="replace").decode(),  # half a character is no text
        tokens=max(total, spoken),
        generated=spoken,
        estimated=not total,
        cut=choice.get("finish_reason") == "length",
    )


def _whole(value: object) -> int:
    """A count that a server told; 0 for anything else."""
    return value if isinstance(value, int) and value > 0 else 0
