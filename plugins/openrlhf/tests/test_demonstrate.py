"""Demonstrations for the SFT stage: what succeeded, as it was said, and nothing else."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import executor_bench
import pytest
from auto_research_openrlhf.demonstrate import Listening, Programs, demonstrations, main
from executor_cases import registry

from auto_research.agent_research.agents.llm.context import Message
from auto_research.agent_research.agents.llm.record import Answer
from auto_research.agent_research.budget import Budget, Meter
from auto_research.agent_research.method import load_method
from auto_research.errors import UserError
from auto_research.furnishing import EvalRequest


@dataclass
class Adder:
    """Adds the two numbers of a task, or is wrong at every task with `wrong` in its scenario."""

    wrong: str = "nowhere"

    def ask(self, messages: Sequence[Message], seed: int, meter: Meter) -> Answer:
        told = messages[-1]["content"]
        numbers = re.findall(r"\d+", _last_task(told))[-2:]
        wrong = self.wrong in told
        total = -1 if wrong else sum(map(int, numbers))
        return Answer(f"I add.\n```python\ncomplete({total})\n```", tokens=9, generated=4)

    def close(self) -> None:
        """Nothing was opened."""


def _last_task(told: str) -> str:
    return told.rpartition("The task: ")[2].splitlines()[0]


def _request(**more: Any) -> EvalRequest:
    return EvalRequest(
        **{
            "method": load_method("sage-paper", registry(), ["rollout.siblings=2"]),
            "benchmark": "sums",
            "agent": "llm",
            "episodes": 1,
            "seed": 7,
            "train_seed": 7,
            "train_scenarios": 4,
            "split": "validation",
            "agent_options": {"model": "adder"},
            **more,
        }
    )


def test_every_success_is_a_conversation_that_ends_with_the_assistant() -> None:
    rows, tried = demonstrations(_request(), registry(), lambda options: Adder())
    assert tried == 4 * 2 * 2
    assert 0 < len(rows) <= tried
    for row in rows:
        messages: Any = row["messages"]
        assert [m["role"] for m in messages[:2]] == ["system", "user"]
        assert messages[-1]["role"] == "assistant"
        assert "complete(" in messages[-1]["content"]
        assert str(row["task"]).startswith("train7x")
    told = [str(row["messages"]) for row in rows]
    assert len(set(told)) == len(told)


def test_what_failed_is_no_demonstration() -> None:
    everything, _ = demonstrations(_request(), registry(), lambda options: Adder())
    task = str(everything[0]["task"])
    known = executor_bench.scenario(task.rpartition("_")[0]).tasks
    first = next(other.instruction for other in known if other.id == task)
    rows, _ = demonstrations(_request(), registry(), lambda options: Adder(wrong=first))
    assert len(rows) < len(everything)
    assert not [row for row in rows if first in str(row["messages"])]


def test_a_method_without_training_is_refused() -> None:
    with pytest.raises(UserError, match="runs no train task"):
        method = load_method("react", registry())
        demonstrations(_request(method=method), registry(), lambda options: Adder())


def test_programs_answer_the_task_that_is_told_and_the_writer_is_not_listened_to() -> None:
    programs = Programs({"add 1": "complete(1)", "add 1 and 2": "complete(3)"})
    listening = Listening(programs)
    meter = Meter(Budget(), stream="0/train-0000-0-0")
    system = {"role": "system", "content": "you act"}
    asked = [system, {"role": "user", "content": "The task: add 1 and 2."}]
    assert listening.ask(asked, 0, meter).text == "```python\ncomplete(3)\n```"
    listening.ask([{"role": "system", "content": "you write"}, asked[1]], 0, meter)
    [heard] = listening.heard.values()
    assert heard == [*asked, {"role": "assistant", "content": "```python\ncomplete(3)\n```"}]
    assert meter.totals["model_calls"] == 2


def test_bad_requests_end_with_2(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "d.jsonl"
    assert main(["--benchmark", "planbench-mini", "--expert", "--out", str(out)]) == 2
    assert "has no reference programs" in capsys.readouterr().err
    assert main(["--benchmark", "planbench-mini", "--out", str(out)]) == 2
    assert "needs a model's name" in capsys.readouterr().err
    assert not out.exists()
