"""Whole runs of the agent llm in the toy shops: counts, records, workers, a server that dies."""

from __future__ import annotations

import json
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
import toy_world
from evaluating import Brought, library, metrics, rows
from llm_cases import Half, HalfServer, patient
from model_server import MENDED, ModelServer, Raw, Reply, Say, Status, code, shopkeeper
from rich.console import Console
from shell import result

from auto_research.agent_research.agents.llm.agent import LlmAgent
from auto_research.agent_research.agents.llm.context import estimate
from auto_research.agent_research.agents.llm.options import Limits, read_options
from auto_research.agent_research.method import load_method
from auto_research.errors import RunStopped, UserError
from auto_research.evaluate import Evaluation, prepare
from auto_research.furnishing import EvalRequest
from auto_research.plugins import load_plugins
from auto_research.reporting.tables import headline_table

SLOTS = ("retrieval=sage.scenario", "update=sage.save", "rollout.siblings=2")


def prepared(server: str, method: str = "sage", **request: Any) -> Evaluation:
    """An evaluation in the toy shops by the agent `patient`: llm, but it waits no moment."""
    options = {"model": "scripted", "base_url": server, **request.pop("options", {})}
    settings = request.pop("settings", SLOTS if method == "sage" else ())
    limits = Limits(reply_bytes=100_000)
    plugin = Brought(agents={"patient": lambda o: LlmAgent(read_options(o), limits, patient())})
    registry = load_plugins([toy_world, plugin])
    defaults: dict[str, Any] = {
        "benchmark": "shops",
        "agent": "patient",
        "episodes": 6,
        "seed": 7,
        "train_scenarios": 2,
    }
    chosen = load_method(method, registry, settings)
    asked = EvalRequest(chosen, agent_options=options, **{**defaults, **request})
    return prepare(asked, registry)


def test_sage_on_it_writes_reuses_and_scores_and_the_ledger_is_the_servers_count(
    tmp_path: Path,
) -> None:
    run = tmp_path / "run"
    with ModelServer(shopkeeper) as server:
        prepared(server.url).run(run)
        mine = rows(run)
        assert sum(row["model_calls"] for row in mine) == server.calls
        assert sum(row["tokens"] for row in mine) == server.tokens
    test = [row for row in mine if row["phase"] == "test"]
    assert [row["steps"] for row in test] == [3, 1, 1] * 2  # written once a scenario, then used
    assert [bool(row["written"]) for row in test] == [True, False, False] * 2
    assert metrics(run)["metrics"]["tgc"]["value"] == metrics(run)["metrics"]["sgc"]["value"] == 1
    training = [row["reward"] for row in mine if row["phase"] == "training"]
    assert training and set(training) == {2.0}  # R1 = r1 + use by q2, R2 = r2 + use
    seeds = [request["seed"] for request in server.requests]
    assert len(set(seeds)) == len(seeds)  # siblings do not ask the same thing


def test_no_code_is_minus_one(tmp_path: Path) -> None:
    run = tmp_path / "run"
    with ModelServer(["I would rather not."]) as server:
        prepared(server.url).run(run)
    assert {row["reward"] for row in rows(run, "training")} == {-1.0}
    assert not any(row["success"] for row in rows(run))


def test_what_a_run_is_set_up_with_stands_in_run_yaml_and_no_key(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-very-secret")
    run = tmp_path / "run"
    with ModelServer(shopkeeper) as server:
        url = server.url.replace("://", "://me:pw-secret@")
        prepared(url, options={"temperature": "0.5"}, episodes=3, method="react").run(run)
        with pytest.raises(UserError, match=r"agent_config\.temperature"):
            prepared(url, episodes=3, method="react").run(run, resume=True)
    config = (run / "run.yaml").read_text()
    assert "model: scripted" in config and "temperature: 0.5" in config and "prompts:" in config
    for path in run.iterdir():
        assert b"secret" not in path.read_bytes()


def test_a_record_replays_without_a_server_for_any_number_of_workers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AUTO_RESEARCH_PLUGINS", "toy_world")  # for the workers
    replies, runs = tmp_path / "replies.jsonl", [tmp_path / name for name in ("a", "b", "c")]
    request: dict[str, Any] = {"agent": "llm", "episodes": 12, "train_scenarios": 1}
    with ModelServer(shopkeeper) as server:
        prepared(server.url, options={"record": str(replies)}, **request).run(runs[0])
        assert len(replies.read_bytes().splitlines()) == server.calls
    for run, workers in ((runs[1], 1), (runs[2], 2)):
        again = prepared(server.url, options={"replay": str(replies)}, **request)
        again.run(run, workers=workers)
    assert result(runs[0]) == result(runs[1]) == result(runs[2])


def test_a_server_that_dies_leaves_a_run_that_can_be_resumed(tmp_path: Path) -> None:
    run, whole = tmp_path / "run", tmp_path / "whole"
    asked = 0

    def dying(request: Any) -> Reply:
        nonlocal asked
        asked += 1
        return shopkeeper(request) if asked <= 16 else Status(500)

    with ModelServer(dying) as server:
        port = server.port
        with pytest.raises(RunStopped, match="HTTP 500"):
            prepared(server.url, method="react", episodes=12).run(run)
    lost = [json.loads(line) for line in (run / "attempts.jsonl").read_text().splitlines()]
    assert sum(attempt["totals"].get("model_calls", 0) for attempt in lost) > 0
    assert not (run / "metrics.json").exists()
    with ModelServer(shopkeeper, port) as server:
        prepared(server.url, method="react", episodes=12).run(run, resume=True)
        assert server.calls < 12 * 3  # what was finished is not asked again
        url = server.url
        prepared(url, method="react", episodes=12).run(whole)
    assert (run / "episodes.jsonl").read_bytes() == (whole / "episodes.jsonl").read_bytes()
    assert all(row["success"] and not row["error"] for row in rows(run))


def test_calls_that_failed_are_charged_and_the_run_says_so(tmp_path: Path) -> None:
    run, asked = tmp_path / "run", 0

    def shaky(request: Any) -> Reply:
        nonlocal asked
        asked += 1
        return Status(429) if asked % 3 == 0 else shopkeeper(request)

    with ModelServer(shaky) as server:
        prepared(server.url, method="react", episodes=3).run(run)
        assert sum(row["model_calls"] for row in rows(run)) == server.calls > 9
        assert sum(row["tokens"] for row in rows(run)) == server.tokens
    assert metrics(run)["flags"] == ["model-calls-repeated"]


TROUBLES: list[Any] = [
    Status(429),
    Status(500),
    Status(503),
    Half(b"HTTP/1.1 200 OK\r\ncontent-length: 90\r\n\r\n{"),
    Half(b"", cut=True),
    Raw(b'{"choices": []}'),
    Say("word " * 40_000, usage=False),
]


def test_a_run_amid_every_trouble_is_charged_for_what_the_server_counted(tmp_path: Path) -> None:
    run, asked, guessed = tmp_path / "run", 0, 0

    def troubled(request: Any) -> Any:
        nonlocal asked, guessed
        asked += 1
        if asked % 2:
            return shopkeeper(request)
        trouble = TROUBLES[asked // 2 % len(TROUBLES)]
        if not (isinstance(trouble, Status) and trouble.code in (429, 503)):  # it may have read it
            guessed += estimate(request["messages"])
        return trouble

    with HalfServer(troubled) as server:
        prepared(server.url).run(run)
        mine = rows(run)
        assert sum(row["model_calls"] for row in mine) == server.calls == asked
        assert sum(row["tokens"] for row in mine) == server.tokens + guessed
    assert asked > 4 * len(TROUBLES) and all(row["success"] for row in mine)
    assert any(row["written"] for row in mine) and any(row["uses"] for row in mine)
    assert metrics(run)["flags"] == ["model-calls-repeated", "tokens-estimated"]


def test_a_frozen_test_leaves_the_library_as_it_was(tmp_path: Path) -> None:
    run = tmp_path / "run"
    with ModelServer(shopkeeper) as server:
        prepared(server.url, frozen=True, train_scenarios=0).run(run)
    assert library(run) == []
    assert [row["steps"] for row in rows(run, "test")] == [3] * 6


INSTALLED = sorted(load_plugins().methods)


@pytest.mark.parametrize(
    "method",
    [name if name == "sage" else pytest.param(name, marks=pytest.mark.slow) for name in INSTALLED],
)
def test_each_method_runs_with_it_and_all_it_asked_is_charged(tmp_path: Path, method: str) -> None:
    run = tmp_path / "run"

    def willing(request: Any) -> Reply:
        writing = "You keep a collection" in request["messages"][0]["content"]
        return Say(code(MENDED)) if writing else shopkeeper(request)

    with ModelServer(willing) as server:
        prepared(server.url, method, settings=(), episodes=6, train_scenarios=3).run(run)
        assert sum(row["model_calls"] for row in rows(run)) == server.calls
        assert sum(row["tokens"] for row in rows(run)) == server.tokens
    assert all(row["error"] == "" for row in rows(run))
    assert len(rows(run, "test")) == 6


def test_planbench_runs_with_it_too(tmp_path: Path) -> None:
    run = tmp_path / "run"
    say = Say("```python\nprint(missing())\n```")
    with ModelServer([say, say, Say("I give up.")]) as server:
        evaluation = prepared(
            server.url, "react", benchmark="planbench-mini", split="validation", episodes=3
        )
        evaluation.run(run)
        opening = server.requests[0]["messages"][1]["content"]
    assert "Wanted in the end:" in opening and ":action" not in opening
    assert all(row["error"] == "" and row["success"] is False for row in rows(run))


def test_what_a_model_run_prints_has_the_columns_of_sages_tables(tmp_path: Path) -> None:
    run = tmp_path / "run"
    with ModelServer(shopkeeper) as server:
        prepared(server.url, train_scenarios=0).run(run)
        spoken = sum(row["generated"] for row in rows(run))
        assert 0 < spoken < server.tokens
    told = metrics(run)
    figures = told["metrics"]
    assert figures["generated_tokens"]["value"] == pytest.approx(spoken / 6, abs=1e-6)
    assert figures["skill_called"]["value"] == pytest.approx(4 / 6, abs=1e-6)
    result = {**told, "method": "sage", "benchmark": "shops@1", "episodes": 6, "seed": 7}
    console = Console(width=120, record=True, file=StringIO())
    console.print(headline_table({**result, "train_seed": 0, "budget": {"units": 1000}}))
    text = console.export_text()
    for row in ("Generated tokens", "Skill use", "Successful skill use", "Skills written a task"):
        assert row in text
