"""Whatever breaks, the run goes on: samples stay valid, faults are counted, nothing is raised."""

from __future__ import annotations

import asyncio
import json
import logging
import threading
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from auto_research_openrlhf.executor.engine import Engine as Asked
from auto_research_openrlhf.executor.engine import EngineFault
from auto_research_openrlhf.executor.node import Node
from executor_bench import Sums
from executor_cases import check, label, node, rows_in
from executor_engine import Engine, Params, Say, Script, code, responses

Samples = list[dict[str, Any]]


def right(prompt: str) -> str:
    """Does the task, as the prompt states it."""
    question = prompt[prompt.rindex("what is ") + 8 :].partition("?")[0]
    return code(f"complete(answer={question})")


class Nth:
    """Does the task, but says something else the first `times` it is asked."""

    def __init__(self, instead: Any, times: int = 1) -> None:
        self.left, self.instead = times, instead
        self.lock = threading.Lock()

    def __call__(self, prompt: str) -> Any:
        with self.lock:
            self.left -= 1
            return self.instead if self.left >= 0 else right(prompt)


def run(made: Node, script: Script, samples: int = 8, *, told: str = "", **more: Any) -> Samples:
    """A group's samples, all of them checked."""
    group = asyncio.run(
        responses(made, Engine(script), "a prompt", told or label(), samples, **more)
    )
    assert len(group) == samples
    for sample in group:
        check(sample, more.get("max_length", 20_000))
    return group


def kinds(storage: Path) -> Counter[str]:
    """The faults that were kept, by kind."""
    lines = [x for p in (storage / "faults").iterdir() for x in p.read_text().splitlines()]
    return Counter(json.loads(line)["kind"] for line in lines)


def faulty(samples: Iterable[dict[str, Any]]) -> list[bool]:
    return [sample["extra_logs"]["fault"] == 1.0 for sample in samples]


def solved(samples: Iterable[dict[str, Any]]) -> list[bool]:
    return [sample["scores"] == 1.0 for sample in samples]


def test_a_world_that_breaks_off_fails_its_episode_alone(tmp_path: Path) -> None:
    with node(tmp_path, turns=2) as made:
        group = run(made, Nth(code("crash()")))
        assert made.records.faults == {"world": 1} == kinds(tmp_path)
        assert sum(solved(group)) == 7 and not any(faulty(group))  # the policy's own doing
        (failed,) = [s for s in group if not s["scores"]]
        assert failed["extra_logs"]["raw_reward"] == 0.0 and failed["reward"] < 0
        assert all(solved(run(made, right)))  # and the next group is served


def test_code_that_has_to_be_stopped_is_counted_and_paid_as_a_failure(tmp_path: Path) -> None:
    with node(tmp_path, turns=1) as made:
        group = run(made, Nth(code("hang()")))
    assert kinds(tmp_path) == {"clock": 1}
    assert sum(solved(group)) == 7 and sum(s["reward"] for s in group) == pytest.approx(0.0)


def test_an_engine_that_fails_costs_the_episode_and_teaches_nothing(tmp_path: Path) -> None:
    with node(tmp_path) as made:
        group = run(made, Nth(RuntimeError("out of memory")))
    assert faulty(group).count(True) == 1 and sum(solved(group)) == 7
    (failed,) = [s for s in group if s["extra_logs"]["fault"]]
    assert failed["reward"] == 0.0 and failed["extra_logs"]["raw_reward"] == -1.0
    assert kinds(tmp_path) == {"error": 1, "no-action": 1}
    (row,) = [row for row in rows_in(tmp_path) if row.error]
    assert "out of memory" in row.error and row.model_calls == 1 and row.tokens > 0


def test_an_engine_that_fails_in_the_middle_leaves_the_tokens_that_there_are(
    tmp_path: Path,
) -> None:
    def script(prompt: str) -> Any:
        return RuntimeError("gone") if "half done" in prompt else code("print('half done')")

    with node(tmp_path) as made:
        group = run(made, script)
    assert all(faulty(group)) and not any(s["reward"] for s in group)
    assert all(s["extra_logs"]["generated_tokens"] > 20 for s in group)
    assert all(end - start > 20 for s in group for start, end in s["action_ranges"])


def test_a_silent_engine_is_not_waited_for_forever() -> None:
    class Silent:
        async def generate(self, ids: object, params: object) -> None:
            await asyncio.Event().wait()

    async def ask() -> None:
        engine = Asked(asyncio.get_running_loop(), Silent(), Params(), seconds=0.01)
        with pytest.raises(EngineFault, match="no reply"):
            await asyncio.to_thread(engine.generate, [1], 5)

    asyncio.run(ask())


def test_a_sibling_that_raises_leaves_the_others_as_they_are(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    boom = code("complete(answer='explode')")
    with (
        node(tmp_path, overrides=["update=sums.explosive"]) as made,
        caplog.at_level(logging.ERROR),
    ):
        group = run(made, Nth(boom))
    assert faulty(group).count(True) == 2  # both tasks of its chain
    assert sum(solved(group)) == 6
    assert kinds(tmp_path)["chain"] == 1 and "an operator has a bug" in caplog.text
    broken = [row for row in rows_in(tmp_path) if "an operator has a bug" in row.error]
    assert len(broken) == 2 and broken[0].units >= 10 and broken[0].success is None
    assert len(rows_in(tmp_path)) == 8


def test_a_world_that_cannot_be_opened_fails_its_episode_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Sums, "broken", frozenset({"train7x0_2"}))
    with node(tmp_path) as made:
        group = run(made, right)
    assert faulty(group) == [False, True] * 4 and solved(group) == [True, False] * 4
    assert not any(s["reward"] for s in group)
    assert kinds(tmp_path)["error"] == 4


def test_a_judge_that_dies_is_replaced_and_asked_again(tmp_path: Path) -> None:
    with node(tmp_path, worlds=1) as made:
        group = run(made, Nth(code("complete(answer='die')")))
        again = run(made, right, told=label(1))
    assert sum(faulty(group)) <= 2 and sum(solved(group)) >= 6
    assert all(solved(again))


def test_a_prompt_that_is_too_long_gives_a_sample_that_fits(tmp_path: Path) -> None:
    with node(tmp_path) as made:
        group = run(made, right, max_length=500)
    assert all(len(s["observation_tokens"]) == 500 for s in group)
    assert all(s["action_ranges"] == [(499, 500)] and s["truncated"] for s in group)
    assert all(faulty(group)) and not any(s["reward"] for s in group)
    assert {s["extra_logs"]["raw_reward"] for s in group} == {-1.0}
    assert kinds(tmp_path) == {"no-action": 8}


def test_a_context_that_fills_up_ends_the_attempt_with_what_was_done(tmp_path: Path) -> None:
    with node(tmp_path, turns=40) as made:
        group = run(made, lambda prompt: code("print('x' * 300)"), max_length=8000)
        assert made.records.faults == {}
    for sample in group:
        assert sample["truncated"] and len(sample["action_ranges"]) > 2
        assert sample["extra_logs"]["raw_reward"] == 0.0 and not sample["extra_logs"]["fault"]


@pytest.mark.parametrize("reply", [Say(""), Say("", end=False)])
def test_an_empty_reply_is_a_reply_without_code(tmp_path: Path, reply: Say) -> None:
    with node(tmp_path, method="grpo") as made:
        group = run(made, Nth(reply))
    (failed,) = [s for s in group if not s["scores"]]
    assert failed["extra_logs"]["raw_reward"] == -1.0
    ((start, end),) = failed["action_ranges"]
    assert end - start == 1
    if reply.end:  # it chose to say nothing, and learns from it
        assert failed["reward"] < 0 and not any(faulty(group))
    else:
        assert failed["reward"] == 0.0 and kinds(tmp_path)["no-action"] == 1


@pytest.mark.parametrize(
    "told", ["no label", "{}", label(limit=0), label(benchmark="others"), label(chain_length=3)]
)
def test_a_row_that_cannot_be_run_gives_valid_samples_and_is_counted(
    tmp_path: Path, told: str
) -> None:
    with node(tmp_path) as made:
        group = run(made, right, told=told)
        assert made.records.faults == {"group": 1}
    assert all(faulty(group)) and not any(s["reward"] for s in group)


def test_samples_that_are_no_multiple_of_the_chain_are_served_all_the_same(
    tmp_path: Path,
) -> None:
    with node(tmp_path) as made:
        assert all(solved(run(made, right, samples=7)))
    assert kinds(tmp_path) == {"group": 1}


def test_rows_that_cannot_be_written_stop_nothing(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "rows").write_text("in the way")
    with node(tmp_path) as made:
        assert all(solved(run(made, right)))
    assert "cannot be written" in caplog.text
