"""The client against a server that fails in every way: retries, charges, secrets, records."""

from __future__ import annotations

import json
import logging
import traceback
from pathlib import Path

import pytest
from llm_cases import Half, HalfServer, attempt, patient
from model_server import Drip, Raw, Reply, Say, Silence, Status, code
from model_server import ModelServer as Scripted

from auto_research.agent_research.agents.llm.client import Client
from auto_research.agent_research.agents.llm.context import estimate
from auto_research.agent_research.agents.llm.options import Options, read_options
from auto_research.agent_research.agents.llm.record import Answer, Record
from auto_research.agent_research.agents.llm.server import ModelServer
from auto_research.agent_research.budget import Budget, Meter
from auto_research.errors import RunStopped, UserError

ASKED = [{"role": "user", "content": "Say something, please."}]
CUT = Raw(b'{"choices": [{"message": {"content": "hal', length=5000)


def ask(
    options: Options,
    meter: Meter | None = None,
    waits: list[float] | None = None,
    record: Record | None = None,
    seconds: float = 60.0,
    seed: int = 5,
    max_bytes: int = 100_000,
) -> Answer:
    client = Client(options, ModelServer(options, max_bytes, seconds), patient(waits), record)
    try:
        return client.ask(ASKED, seed, meter or Meter(Budget()))
    finally:
        client.close()


@pytest.mark.parametrize(
    "failure",
    [
        Status(429),
        Status(500),
        Status(503),
        CUT,
        Raw(b"<html>oops</html>"),
        Raw(b'{"choices": []}'),
        Raw(b'{"choices": [{"message": {"content": 7}}]}'),
        Raw(b"[]"),
        Say("word " * 40_000, usage=False),
    ],
)
def test_a_failure_that_may_pass_is_tried_again_and_charged(failure: Reply) -> None:
    meter, waits = Meter(Budget()), list[float]()
    with Scripted([failure, failure, "At last."]) as server:
        answer = ask(server.options(), meter, waits)
        assert answer.text == "At last." and len(answer.failures) == 2
        assert waits == [1.0, 2.0]
        assert meter.totals["model_calls"] == server.calls == 3
        guessed = sum(f.tokens for f in answer.failures)
        assert meter.totals["tokens"] == server.tokens + guessed
        turned_away = isinstance(failure, Status) and failure.code in (429, 503)
        assert guessed == (0 if turned_away else 2 * estimate(ASKED))


HEAD = b"HTTP/1.1 200 OK\r\n"


@pytest.mark.parametrize("cut", [False, True], ids=["half-closed", "cut"])
@pytest.mark.parametrize(
    "sent",
    [
        b"",
        HEAD + b"content-le",
        HEAD + b'content-length: 500\r\n\r\n{"choi',
        HEAD + b'transfer-encoding: chunked\r\n\r\n6\r\n{"choi',
        HEAD + b'\r\n{"choi',
        b"SSH-2.0 no web server\r\n",
    ],
    ids=["silent", "headers", "length", "chunk", "no-length", "no-http"],
)
def test_a_line_that_ends_in_the_middle_is_tried_again_at_once_and_charged(
    sent: bytes, cut: bool
) -> None:
    meter, half = Meter(Budget()), Half(sent, cut)
    with HalfServer([half, half, "At last."]) as server:  # type: ignore[list-item]
        answer = ask(server.options(), meter)
    assert answer.text == "At last." and len(answer.failures) == 2
    assert "no reply in time" not in {failure.why for failure in answer.failures}
    assert meter.totals["model_calls"] == server.calls == 3
    assert meter.totals["tokens"] == server.tokens + 2 * estimate(ASKED)


@pytest.mark.parametrize("slow", [Silence(), Drip()])
def test_a_server_that_says_nothing_or_never_ends_is_not_waited_for_forever(slow: Reply) -> None:
    meter = Meter(Budget())
    with Scripted([slow, "At last."]) as server:
        answer = ask(server.options(), meter, seconds=1.5)
    assert answer.text == "At last." and answer.failures[0].why == "no reply in time"
    assert meter.totals["model_calls"] == server.calls == 2
    assert meter.totals["tokens"] == server.tokens + estimate(ASKED)


def test_the_server_may_say_when_to_come_back() -> None:
    waits: list[float] = []
    busy = Status(429, headers={"retry-after": "7"})
    with Scripted([busy, Status(429, headers={"retry-after": "soon"}), "At last."]) as server:
        ask(server.options(), waits=waits)
    assert waits == [7.0, 2.0]


def test_a_server_that_keeps_failing_ends_the_run_with_everything_charged() -> None:
    meter, waits = Meter(Budget()), list[float]()
    with Scripted([Status(500)]) as server, pytest.raises(RunStopped, match="HTTP 500") as caught:
        ask(server.options(), meter, waits)
    assert meter.totals["model_calls"] == server.calls == 6
    assert waits == [1.0, 2.0, 4.0, 8.0, 16.0] and "--resume" in str(caught.value)


def test_no_server_at_all_ends_the_run_and_nothing_is_charged() -> None:
    meter = Meter(Budget())
    with Scripted(["Hello."]) as server:
        options = server.options()
    with pytest.raises(RunStopped, match="no connection"):
        ask(options, meter)
    assert not meter.totals["model_calls"] and not meter.totals["tokens"]


@pytest.mark.parametrize(
    ("status", "word"),
    [(400, "bad thing"), (401, "OPENAI_API_KEY"), (403, "OPENAI_API_KEY"), (404, "--base-url")],
)
def test_a_refusal_ends_the_run_at_once(status: int, word: str) -> None:
    meter = Meter(Budget())
    with Scripted([Status(status, "bad thing")]) as server:
        with pytest.raises(RunStopped, match=word):
            ask(server.options(), meter)
        assert meter.totals["model_calls"] == server.calls == 1


@pytest.mark.parametrize(
    "words", ["maximum context length is 99", "the prompt is too long", "context_length_exceeded"]
)
def test_a_prompt_that_is_too_long_is_an_answer_of_its_own(words: str) -> None:
    with Scripted([Status(400, words)]) as server:
        assert ask(server.options()).overflow


def test_tokens_that_the_server_does_not_tell_are_estimated_and_flagged() -> None:
    with Scripted([Say(code("print(1)"), usage=False), "Done."]) as server:
        tried = attempt(server)
    assert "tokens-estimated" in tried.attempt.flags
    assert tried.meter.totals["tokens"] > server.tokens > 0


def test_calls_that_had_to_be_repeated_are_flagged() -> None:
    with Scripted([Status(429), "Done."]) as server:
        tried = attempt(server)
    assert tried.attempt.flags == ("model-calls-repeated",)


def test_the_request_is_what_the_options_say_and_the_key_goes_into_the_header_only(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-very-secret")
    path = tmp_path / "replies"
    with Scripted(["Hello."]) as server:
        options = server.options(temperature=0.5, max_tokens=77, record=path)
        ask(options, record=Record(path, write=True), seed=11)
    assert server.requests == [
        {
            "model": "scripted",
            "messages": ASKED,
            "temperature": 0.5,
            "max_tokens": 77,
            "seed": 11,
        }
    ]
    assert server.headers[0]["authorization"] == "Bearer sk-very-secret"
    assert "secret" not in path.read_text()


@pytest.mark.parametrize("status", [400, 401, 500])
def test_no_message_and_no_traceback_holds_the_key(
    monkeypatch: pytest.MonkeyPatch, status: int
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-very-secret")
    with Scripted([Status(status, "the key sk-very-secret is no good")]) as server:
        try:
            ask(server.options())
        except RunStopped as error:
            shown = "".join(traceback.format_exception(error))
            assert "sk-very-secret" not in shown and str(status) in shown
        else:
            pytest.fail("it was not refused")


def test_nothing_is_logged_of_a_request(caplog: pytest.LogCaptureFixture) -> None:
    with Scripted(["Hello."]) as server, caplog.at_level(logging.DEBUG):
        url = server.url.replace("://", "://me:secret@")
        ask(Options(model="scripted", base_url=url))
    assert caplog.text == ""


def test_a_recorded_reply_is_given_and_charged_alike_without_a_server(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "replies"
    meters = [Meter(Budget()), Meter(Budget()), Meter(Budget())]
    with Scripted([CUT, "Once."]) as server:
        options = server.options(record=path)
        first = ask(options, meters[0], record=Record(path, write=True))
        again = ask(options, meters[1], record=Record(path, write=True))
        assert server.calls == 2  # the second time the file knew
    replay = server.options(replay=path)
    third = ask(replay, meters[2], record=Record(path, write=False))
    assert first == again == third
    assert meters[0].totals == meters[1].totals == meters[2].totals


def test_a_reply_that_was_not_recorded_is_one_clear_error(tmp_path: Path) -> None:
    path = tmp_path / "replies"
    with Scripted(["Once."]) as server:
        ask(server.options(record=path), record=Record(path, write=True))
    replay = server.options(replay=path)
    with pytest.raises(RunStopped, match="holds no reply to a request of this run"):
        ask(replay, record=Record(path, write=False), seed=6)


def test_a_line_that_a_kill_cut_short_is_as_good_as_absent(tmp_path: Path) -> None:
    path = tmp_path / "replies"
    Record(path, write=True).add("a", Answer("whole", 1))
    line = path.read_bytes()
    path.write_bytes(line + line.replace(b'"a"', b'"b"')[:-20])
    record = Record(path, write=False)
    assert record.get("a") == Answer("whole", 1) and record.get("b") is None


def test_two_processes_may_record_into_one_file(tmp_path: Path) -> None:
    path = tmp_path / "replies"
    one, other = Record(path, write=True), Record(path, write=True)
    one.add("a", Answer("x", 1))
    other.add("b", Answer("y", 2))
    assert one.get("b") == Answer("y", 2) and other.get("a") == Answer("x", 1)


def test_a_record_that_cannot_be_written_to_ends_the_run_and_no_episode(tmp_path: Path) -> None:
    record = Record(tmp_path / "replies", write=True)
    (tmp_path / "replies").unlink()
    (tmp_path / "replies").mkdir()
    with pytest.raises(RunStopped, match=r"cannot record: Is a directory .* --resume"):
        record.add("a", Answer("x", 1))


@pytest.mark.parametrize("content", [b"nonsense\n", b"{}\n", b"[1]\n", b'{"key": "a"}\n'])
def test_a_file_that_is_no_record_is_one_clear_error(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "replies"
    path.write_bytes(content)
    with pytest.raises(UserError, match="no recorded reply"):
        Record(path, write=False)
    with pytest.raises(UserError, match="cannot read"):
        Record(tmp_path / "absent", write=False)


@pytest.mark.parametrize(
    ("given", "word"),
    [
        ({}, "--model"),
        ({"model": "m", "base_url": "localhost:8000"}, "--base-url"),
        ({"model": "m", "temperature": "hot"}, "--temperature"),
        ({"model": "m", "max_tokens": "0"}, "--max-tokens"),
        ({"model": "m", "max_tokens": "500", "context_tokens": "400"}, "no room"),
        ({"model": "m", "record": "a", "replay": "b"}, "together"),
        ({"model": "m", "colour": "red"}, "--colour"),
    ],
)
def test_options_are_checked(given: dict[str, str], word: str) -> None:
    with pytest.raises(UserError, match=word):
        read_options(given)


def test_what_run_yaml_says_of_a_server_holds_no_secret() -> None:
    options = read_options({"model": "m", "base_url": "https://me:pw@host:81/v1?key=k#f"})
    assert options.server() == "https://host:81/v1"
    assert "pw" not in json.dumps(options.server())
