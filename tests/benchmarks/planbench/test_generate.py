"""What the generated scenarios must be: reproducible, disjoint, balanced, fair and solvable."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter

import pytest
from small_plans import solve

from auto_research.benchmarks.base import SPLITS
from auto_research.benchmarks.planbench import generate
from auto_research.benchmarks.planbench.sizes import QUESTION_WALK
from auto_research.benchmarks.planbench.tasks import Entry
from auto_research.benchmarks.planbench.variants import VARIANTS
from auto_research.benchmarks.planbench.worlds import WORLDS
from auto_research.pddl import read_domain, read_problem

ROUND = len(WORLDS) * len(VARIANTS)
FIRST_ROUND = [e for s in generate.scenarios("validation", 7, ROUND) for e in s]


def test_a_shorter_stream_is_the_beginning_of_a_longer_one() -> None:
    assert list(generate.scenarios("test", 3, 45))[:5] == list(generate.scenarios("test", 3, 5))


def test_hash_order_changes_nothing() -> None:
    program = (
        "from auto_research.benchmarks.planbench import generate\n"
        "print([[e for e in s] for s in generate.scenarios('train', 5, 16)])"
    )
    outputs = {
        subprocess.run(
            [sys.executable, "-c", program],
            env={"PYTHONHASHSEED": seed},
            capture_output=True,
            check=True,
        ).stdout
        for seed in ("0", "1", "2")
    }
    assert len(outputs) == 1


def test_splits_and_seeds_share_no_task_and_no_invented_name() -> None:
    texts: Counter[str] = Counter()
    for split in SPLITS:
        for seed in (0, 1):
            entries = [e for s in generate.scenarios(split, seed, ROUND) for e in s]
            texts.update({e.task.observation["problem"] for e in entries})
            texts.update(
                {e.task.observation["domain"] for e in entries if e.sealed.variant == "mystery"}
            )
    assert set(texts.values()) == {1}


def test_a_round_holds_every_world_in_every_variant_once() -> None:
    combinations = Counter((e.sealed.domain, e.sealed.variant) for e in FIRST_ROUND)
    assert set(combinations) == {(w, v) for w in WORLDS for v in VARIANTS}
    assert set(combinations.values()) == {3}


@pytest.mark.parametrize("split", SPLITS)
def test_an_excluded_world_does_not_come(split: str) -> None:
    chosen = next(s for s in SPLITS if s == split)
    entries = [e for s in generate.scenarios(chosen, 7, 24, exclude=["logistics"]) for e in s]
    assert {e.sealed.domain for e in entries} == set(WORLDS) - {"logistics"}


def test_a_scenario_is_small_then_related_then_large() -> None:
    for number in range(ROUND):
        small, middle, large = generate.scenario("train", 2, number)
        assert small.sealed.size == "small"
        assert middle.sealed.size in ("reuse", "replanning", "reformulation")
        assert large.sealed.size == "large"
        texts = {e.task.observation["domain"] for e in (small, middle, large)}
        assert len(texts) == 1
        sizes = [_objects(e) for e in (small, middle, large)]
        assert sizes[0] <= sizes[1] <= sizes[2]
        if middle.sealed.size == "replanning":
            assert _goal(middle) == _goal(small)
            assert _init(middle) != _init(small)
        if middle.sealed.size == "reformulation":
            assert _init(middle) == _init(small)
            assert _goal(middle) != _goal(small)


def test_no_goal_is_true_at_the_start() -> None:
    for entry in FIRST_ROUND:
        assert not _goal(entry) <= _init(entry)


def test_small_tasks_have_a_plan() -> None:
    solved = [
        solve(e.task.observation["domain"], e.task.observation["problem"])
        for e in FIRST_ROUND
        if e.sealed.size == "small" and e.sealed.variant in ("plain", "drifted")
    ]
    assert len(solved) == 2 * len(WORLDS)
    assert all(solved)


def test_the_public_half_tells_no_label_seed_or_canary() -> None:
    for entry in FIRST_ROUND:
        public = json.dumps([entry.task.id, entry.task.scenario, dict(entry.task.observation)])
        assert entry.sealed.canary not in public
        assert entry.sealed.origin not in public
        labels = {*VARIANTS, *WORLDS, "reuse", "replanning", "reformulation"}
        for label in labels - {"satellite"}:  # a type of that world has its name
            assert label not in public


def test_object_names_tell_neither_sort_nor_variant() -> None:
    for entry in FIRST_ROUND:
        names = read_problem(
            entry.task.observation["problem"], read_domain(entry.task.observation["domain"])
        ).objects
        assert len({name.rstrip("0123456789") for name in names}) == 1


def test_questions_are_of_both_kinds_and_their_plans_short() -> None:
    kinds = Counter(e.sealed.question.kind for e in FIRST_ROUND)
    assert min(kinds["state"], kinds["validity"]) >= len(FIRST_ROUND) // 4
    lengths = [len(e.sealed.question.plan) for e in FIRST_ROUND]
    assert QUESTION_WALK[0] - 1 <= min(lengths)
    assert max(lengths) <= QUESTION_WALK[1]


def _problem(entry: Entry) -> tuple[frozenset[tuple[str, ...]], frozenset[tuple[str, ...]], int]:
    observation = entry.task.observation
    problem = read_problem(observation["problem"], read_domain(observation["domain"]))
    return problem.init | problem.static, frozenset(problem.goal), len(problem.objects)


def _init(entry: Entry) -> frozenset[tuple[str, ...]]:
    return _problem(entry)[0]


def _goal(entry: Entry) -> frozenset[tuple[str, ...]]:
    return _problem(entry)[1]


def _objects(entry: Entry) -> int:
    return _problem(entry)[2]
