"""A scripted model server: real HTTP, the chat completions of OpenAI, and its own count of calls.

What it says is a function of the request alone, so that it does not matter who asks first.
"""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any

from auto_research.agent_research.agents.llm.options import Options


@dataclass(frozen=True)
class Say:
    """A reply of the model. `usage`: whether the server says how many tokens it took."""

    text: str | None
    finish: str = "stop"
    usage: bool = True


@dataclass(frozen=True)
class Status:
    """An HTTP error."""

    code: int
    message: str = "no"
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Raw:
    """A body of its own making. `length` may promise more than comes before the line is cut."""

    body: bytes
    length: int | None = None


@dataclass(frozen=True)
class Silence:
    """No reply, ever."""


@dataclass(frozen=True)
class Drip:
    """A reply that goes on and on, a byte now and then."""


Reply = Say | Status | Raw | Silence | Drip
Script = Callable[[Mapping[str, Any]], Reply]


class ModelServer:
    """Serves a script until it is closed; counts what it served. A context manager."""

    def __init__(self, script: Script | Sequence[Reply | str], port: int = 0) -> None:
        replies = None if callable(script) else list(script)
        self.requests: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.tokens = 0
        self._lock, self._over = threading.Lock(), threading.Event()
        server = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                request = json.loads(self.rfile.read(int(self.headers["content-length"])))
                with server._lock:
                    server.requests.append(request)
                    server.headers.append({k.lower(): v for k, v in self.headers.items()})
                    place = len(server.requests) - 1
                if replies is not None:
                    reply = replies[min(place, len(replies) - 1)]
                else:
                    assert callable(script)
                    reply = script(request)
                server._answer(self, Say(reply) if isinstance(reply, str) else reply, request)

            def log_message(self, *args: object) -> None:
                """Not a word."""

        self._server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
        self._server.daemon_threads = True
        self.port = self._server.server_address[1]
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    @property
    def calls(self) -> int:
        return len(self.requests)

    def options(self, **more: Any) -> Options:
        """Options of an agent that asks this server."""
        return Options(model="scripted", base_url=self.url, **more)

    def close(self) -> None:
        self._over.set()
        self._server.shutdown()
        self._server.server_close()

    def __enter__(self) -> ModelServer:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _answer(self, handler: BaseHTTPRequestHandler, reply: Reply, request: Any) -> None:
        if isinstance(reply, Silence):
            self._over.wait()
            handler.close_connection = True
            return
        if isinstance(reply, Drip):
            handler.send_response(200)
            handler.end_headers()
            handler.close_connection = True
            while not self._over.wait(0.05):
                handler.wfile.write(b" ")
            return
        headers: Mapping[str, str] = {}
        code = 200
        if isinstance(reply, Status):
            code, headers = reply.code, reply.headers
            body = json.dumps({"error": {"message": reply.message}}).encode()
        elif isinstance(reply, Raw):
            body = reply.body
        else:
            body = json.dumps(self._completion(reply, request)).encode()
        handler.send_response(code)
        for name, value in headers.items():
            handler.send_header(name, value)
        length = reply.length if isinstance(reply, Raw) and reply.length else len(body)
        handler.send_header("content-type", "application/json")
        handler.send_header("content-length", str(length))
        handler.end_headers()
        handler.wfile.write(body)
        if length != len(body):
            handler.close_connection = True

    def _completion(self, reply: Say, request: Any) -> dict[str, Any]:
        """A chat completion; a token is a word here."""
        prompt = sum(len(m["content"].split()) for m in request["messages"])
        spoken = len((reply.text or "").split())
        choice = {
            "index": 0,
            "finish_reason": reply.finish,
            "message": {"role": "assistant", "content": reply.text},
        }
        told: dict[str, Any] = {"id": "x", "object": "chat.completion", "choices": [choice]}
        if reply.usage:
            with self._lock:
                self.tokens += prompt + spoken
            counts = {"prompt_tokens": prompt, "completion_tokens": spoken}
            told["usage"] = {**counts, "total_tokens": prompt + spoken}
        return told


def code(text: str) -> str:
    """A reply with one block of code."""
    return f"Now this.\n\n```python\n{text}\n```"


BROKEN = '''def total_price(kind: str) -> int:
    """What all goods of a kind cost together."""
    return sum(g["prize"] for g in apis.shop.show_goods(page=0) if g["kind"] == kind)


print(total_price("KIND"))'''
MENDED = '''def all_goods() -> list:
    """Every page of the shop's goods."""
    goods, page = [], 0
    while more := apis.shop.show_goods(page=page):
        goods += more
        page += 1
    return goods


def total_price(kind: str) -> int:
    """What all goods of a kind cost together."""
    return sum(g["price"] for g in all_goods() if g["kind"] == kind)


print(total_price("KIND"))'''
DONE = 'apis.supervisor.complete_task(answer=total_price("KIND"))'


def shopkeeper(request: Mapping[str, Any]) -> Reply:
    """Plays SAGE's agent in the toy shops: writes a function, breaks, mends and reuses it."""
    _, opening, *turns = [m["content"] for m in request["messages"]]
    asked = re.search(r"goods of the kind (\w+)", opening)
    assert asked is not None
    said = sum("total_price" in reply for reply in turns[::2])
    step = 2 if "def total_price" in opening else said
    text = (BROKEN, MENDED, DONE)[step]
    return Say(code(text.replace("KIND", asked[1])))
