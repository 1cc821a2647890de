"""What a group of chains earns, against the equations worked out from what its samples say."""

from __future__ import annotations

import asyncio
import random
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from executor_cases import check, label, node, rows_in
from executor_engine import Bytes, Engine, code, responses

TABLES, G = 100, 8


def player(seed: int) -> Any:
    """Plays at random: gives up, is right or wrong, with a function of its own or a given one."""
    rng = random.Random(seed)

    def script(prompt: str) -> str:
        one, other = map(int, re.findall(r"what is (\d+) \+ (\d+)", prompt)[-1])
        if rng.random() < 0.15:
            return "I give up."
        other += rng.choice((0, 0, 1))  # right, right, wrong
        if "def add" in prompt and rng.random() < 0.6:
            return code(f"complete(answer=add({one}, {other}))")
        if rng.random() < 0.7:
            return code(f"def add(a, b):\n    return a + b\ncomplete(answer=add({one}, {other}))")
        return code(f"complete(answer={one} + {other})")

    return script


def said(sample: dict[str, Any]) -> tuple[bool, bool, bool]:
    """Whether it had code, was right, and called a function that it did not define."""
    ids, ((start, end),) = sample["observation_tokens"], sample["action_ranges"]
    asked, reply = Bytes().decode(ids[:start]), Bytes().decode(ids[start:end])
    if "```" not in reply:
        return False, False, False
    wanted = sum(map(int, re.findall(r"what is (\d+) \+ (\d+)", asked)[-1]))
    summed = sum(map(int, re.findall(r"(?:add\(|answer=)(\d+)(?:,| \+) (\d+)", reply)[-1]))
    return True, summed == wanted, "add(" in reply and "def add" not in reply


def expected(pairs: Sequence[Sequence[tuple[bool, bool, bool]]]) -> list[list[float]]:
    """SAGE, arXiv 2512.17102: R1 = r1 + r1 r2 s, R2 = r2 + r2 s; without code -1."""
    table = []
    for (code1, r1, _), (code2, r2, s) in pairs:
        first = float(r1) + float(r1 and r2 and s) if code1 else -1.0
        second = float(r2) + float(r2 and s) if code2 else -1.0
        table.append([first, second])
    return table


@pytest.fixture(scope="module")
def groups(tmp_path_factory: pytest.TempPathFactory) -> tuple[list[list[dict[str, Any]]], Path]:
    """100 groups of 8 chains of 2 tasks, ten groups at a time."""
    storage = tmp_path_factory.mktemp("job")

    async def run() -> list[list[dict[str, Any]]]:
        done = []
        with node(storage) as made:
            for first in range(0, TABLES, 10):
                done += await asyncio.gather(
                    *(
                        responses(made, Engine(player(row)), f"row {row}", label(row), 2 * G)
                        for row in range(first, first + 10)
                    )
                )
        return done

    return asyncio.run(run()), storage


def test_rewards_and_advantages_are_those_of_the_equations(groups: Any) -> None:
    samples, _ = groups
    reused = gave_up = 0
    for group in samples:
        assert len(group) == 2 * G
        pairs = [(said(group[i]), said(group[i + 1])) for i in range(0, 2 * G, 2)]
        raw = expected(pairs)
        reused += sum(second[2] for _, second in pairs)
        gave_up += sum(not part[0] for pair in pairs for part in pair)
        means = [sum(row[k] for row in raw) / G for k in (0, 1)]
        for i in range(G):
            for k in (0, 1):
                sample = group[2 * i + k]
                assert sample["extra_logs"]["raw_reward"] == raw[i][k]
                assert sample["extra_logs"]["task_slot"] == k
                assert sample["reward"] == pytest.approx(raw[i][k] - means[k], abs=1e-12)
                assert sample["scores"] == float(pairs[i][k][1])
    assert reused > 100 and gave_up > 100  # all kinds of outcome were there


def test_a_groups_rewards_sum_to_zero_so_that_dr_grpo_changes_nothing(groups: Any) -> None:
    for group in groups[0]:
        assert sum(sample["reward"] for sample in group) == pytest.approx(0.0, abs=1e-9)


def test_every_sample_is_one_that_can_be_trained_on(groups: Any) -> None:
    for group in groups[0]:
        for sample in group:
            check(sample)


def test_every_episode_is_a_row_with_what_it_earned_and_spent(groups: Any) -> None:
    samples, storage = groups
    rows = rows_in(storage)
    assert len(rows) == TABLES * 2 * G == len({row.episode for row in rows})
    earned = sorted(s["extra_logs"]["raw_reward"] for group in samples for s in group)
    assert sorted(row.reward for row in rows) == earned  # type: ignore[type-var]
    assert {row.phase for row in rows} == {"training"}
    for row in rows:
        assert row.model_calls == row.steps == 1 and row.units >= 10
        assert 0 < row.generated < row.tokens
