"""A node on the benchmark of sums, and labels of its rows."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import executor_bench
from auto_research_openrlhf.executor.node import Node
from auto_research_openrlhf.label import Label
from auto_research_openrlhf.spec import Spec

from auto_research.agent_research.method import load_method
from auto_research.agent_research.rows import EpisodeRow
from auto_research.plugins import Registry, load_plugins

SEED = 7


@cache
def registry() -> Registry:
    """What is installed, and the sums."""
    return load_plugins([executor_bench])


@contextmanager
def node(
    storage: Path, method: str = "sage-paper", overrides: Sequence[str] = (), **more: Any
) -> Iterator[Node]:
    """An executor for a method, on the benchmark of sums unless `more` names another."""
    known = registry()
    chosen = load_method(method, known, overrides)
    spec = Spec(
        **{
            "run": "a-run",
            "method": chosen.to_dict(),
            "method_hash": chosen.content_hash(),
            "benchmark": "sums",
            "seed": 0,
            "model": "scripted",
            "chain_length": 2,
            "siblings": 8,
            "tokens": 20_000,
            "tokens_per_turn": 400,
            "turns": 4,
            "storage": str(storage),
            **more,
        }
    )
    made = Node(spec, known)
    try:
        yield made
    finally:
        made.close()


def label(row: int = 0, length: int = 2, *, evaluation: bool = False, **more: Any) -> str:
    """The label of one chain: the first tasks of a scenario of the sums."""
    split: Any = "validation" if evaluation else "train"
    scenario = executor_bench.scenario(f"{split}{SEED}x{row}")
    told = {
        "benchmark": "sums",
        "split": split,
        "seed": SEED,
        "limit": row + 1,
        "row": row,
        "scenario": scenario.id,
        "tasks": [task.id for task in scenario.tasks[:length]],
        "chain_length": length,
        "evaluation": evaluation,
        **more,
    }
    return Label(**told).text()


def rows_in(storage: Path) -> list[EpisodeRow]:
    """The rows that the executors have left there."""
    lines = [line for path in (storage / "rows").iterdir() for line in path.read_text().split("\n")]
    return [EpisodeRow.from_json(json.loads(line)) for line in lines if line]


def check(sample: dict[str, Any], max_length: int = 20_000) -> None:
    """What every sample must be, so that OpenRLHF can train on it."""
    ids, ranges = sample["observation_tokens"], sample["action_ranges"]
    assert 0 < len(ids) <= max_length and ranges
    assert all(0 <= start < end <= len(ids) for start, end in ranges)
    assert all(a[1] <= b[0] for a, b in pairwise(ranges))
    logs = sample["rollout_log_probs"]
    acted = {i for start, end in ranges for i in range(start, end)}
    assert logs is None or len(logs) == len(ids)
    assert logs is None or all(logs[i] == 0.0 for i in range(len(ids)) if i not in acted)
    assert isinstance(sample["reward"], float) and sample["scores"] in (0.0, 1.0)
    assert set(sample["extra_logs"]) == LOGS
    assert all(isinstance(value, float) for value in sample["extra_logs"].values())


LOGS = {
    "raw_reward",
    "solved",
    "task_slot",
    "turns",
    "generated_tokens",
    "skills_used",
    "skills_written",
    "fault",
}
