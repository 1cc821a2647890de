"""What `trials.jsonl` may say: lines that contradict themselves or each other are refused."""

from __future__ import annotations

import json
from typing import Any

import pytest
from evolve_cases import methods

from auto_research.agent_research.operators import SLOTS
from auto_research.errors import UserError
from auto_research.evolution.genome import genome_of
from auto_research.evolution.lines import outcome_of, read_lines

CONFIG = {"episodes": 3, "budget": {"units": 400, "trial_units": 8000}}
DONE = {
    "status": "done",
    "reason": "",
    "joint": 0.666667,
    "cost": 0.75,
    "units": {"training": 500, "probes": 0, "test": 400, "total": 900},
    "episodes": "110",
    "flags": [],
}
FAILED = {
    **DONE,
    "status": "failed",
    "reason": "its process died",
    "joint": None,
    "cost": None,
    "units": {},
    "episodes": "",
    "flags": ["worker-died"],
}


def line(number: int, **changed: Any) -> dict[str, Any]:
    genome = genome_of(methods()[0])
    return {
        "trial": number,
        "arm": "random" if number else "evolution",
        "generation": 0,
        "hash": genome.hash,
        "method": genome.to_dict(),
        "parents": [],
        "origins": dict.fromkeys(SLOTS, "method sage"),
        "cached": number > 0,
        **DONE,
        **changed,
    }


def read(*lines: object) -> list[dict[str, Any]]:
    return read_lines([json.dumps(each).encode() for each in lines], "trials.jsonl", CONFIG)


@pytest.mark.parametrize(
    "changed",
    [
        {},
        FAILED,
        {"joint": 0, "episodes": "000"},
        {"joint": 1.0, "episodes": "1e1"},  # an episode may end with an error, and be solved
        {"joint": 0.666667, "episodes": "1e1"},
        {"status": "failed", "reason": "used up what a trial may spend, 900 units"},
    ],
)
def test_what_a_search_writes_is_read(changed: dict[str, Any]) -> None:
    lines = [line(0, **changed), line(1, **changed)]
    assert read(*lines) == lines
    assert (outcome_of(lines[0]).fitness is None) == (lines[0]["status"] == "failed")


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"joint": 1.0}, "its joint success 1.0 is not that of its episodes"),
        ({"joint": 0.6666}, "its joint success 0.6666"),
        ({"episodes": "111"}, "its joint success 0.666667"),
        ({"episodes": "1101"}, "it has 4 episodes, not 3"),
        ({"episodes": 5}, "episodes: Input should be a valid string"),
        ({"episodes": "11x"}, "episodes: String should match"),
        ({"cost": 0.0001}, "its cost 0.0001 is not that of its units"),
        ({"cost": -1.0}, "cost: Input should be greater than or equal to 0"),
        ({"cost": float("nan")}, "cost: Input should be a finite number"),
        ({"joint": "x"}, "joint: Input should be a valid number"),
        ({"joint": True}, "joint: Input should be a valid number"),
        ({"units": 5}, "units: Input should be a valid dictionary"),
        ({"units": {"training": -1}}, "units.training: Input should be greater"),
        ({"units": {**DONE["units"], "total": 9}}, "its cost 0.75"),  # type: ignore[dict-item]
        ({"flags": [1]}, "flags.0: Input should be a valid string"),
        ({"reason": "none"}, "its status is not 'done'"),
        ({"status": "failed"}, "its status is not 'failed'"),
        ({**FAILED, "status": "done", "reason": ""}, "its status is not 'done'"),
        ({**FAILED, "joint": 1.0, "cost": 0.1, "reason": "", "status": "done"}, "0 episodes"),
        ({"trial": 3}, "it says that it is trial 3"),
        ({"hash": "0" * 64}, "its hash is not its method's"),
        ({"arm": "third"}, "arm: Input should be"),
        ({"more": 1}, "more: Extra inputs"),
    ],
)
def test_a_line_that_contradicts_itself_is_refused_by_its_number(
    changed: dict[str, Any], told: str
) -> None:
    with pytest.raises(UserError) as refused:
        read(line(0), line(1, **changed))
    assert "line 2 is no trial: " in str(refused.value)
    assert "(trials.jsonl)" in str(refused.value)
    assert told in str(refused.value)


@pytest.mark.parametrize("text", ["[1]", "1", "{}", '"x"', "null", "[" * 100_000])
def test_what_is_no_trial_at_all_is_refused(text: str) -> None:
    with pytest.raises(UserError, match="line 1 is no trial: "):
        read_lines([text.encode()], "trials.jsonl", CONFIG)


def test_the_lines_of_one_genome_tell_one_outcome() -> None:
    better = {"joint": 1.0, "episodes": "111"}
    with pytest.raises(UserError, match="line 2 is no trial: line 1 tells another outcome"):
        read(line(0), line(1, **better))
