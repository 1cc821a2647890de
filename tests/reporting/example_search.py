"""Writes the directory of a search, as `evolve` would leave it, for the report to read."""

from __future__ import annotations

import json
import zlib
from pathlib import Path
from typing import Any

import yaml

ATTACK = "</script><script>document.title = 'owned'</script><img src=x onerror=alert(1)>"
SLOTS = ("retrieval", "update", "reward", "rollout")


def write_search(path: Path, *, finished: bool = True, attack: bool = False) -> Path:
    """Two generations of three genomes an arm; the last of evolution's failed."""
    hostile = ATTACK if attack else ""
    (path / "transcripts").mkdir(parents=True)
    (path / "evolve.yaml").write_text(yaml.safe_dump(_config(hostile), allow_unicode=True))
    trials = [
        _trial(number, arm, generation, index, hostile)
        for number, (generation, arm, index) in enumerate(
            (generation, arm, index)
            for generation in range(2)
            for arm in ("evolution", "random")
            for index in range(3)
        )
    ]
    lines = "".join(json.dumps(trial) + "\n" for trial in trials)
    (path / "trials.jsonl").write_text(lines + '{"torn')
    for trial in trials:
        rows = json.dumps([_row(n, letter, hostile) for n, letter in enumerate(trial["episodes"])])
        packed = path / "transcripts" / f"{trial['hash'][:16]}.json.z"
        packed.write_bytes(zlib.compress(rows.encode()))
    if finished:
        (path / "result.json").write_text(json.dumps(result(trials)))
        (path / "lineage.json").write_text(json.dumps(_lineage(trials, hostile)))
    return path


def _config(hostile: str) -> dict[str, Any]:
    return {
        "direction": f"组合 sage 与已安装论文算子{hostile}",
        "reading": {
            "searched": {"update": ["sage.evolve", "memp.adjust"]},
            "fixed": {"reward": {"use": "sage.skill-integrated"}},
            "base": "sage",
            "objectives": ["joint success up", "total cost down"],
            "not_understood": ["香蕉" + hostile],
        },
        "benchmark": "planbench-mini@1",
        "seed": 7,
        "generations": 2,
        "population": 3,
        "episodes": 30,
        "train_scenarios": 4,
    }


def _trial(number: int, arm: str, generation: int, index: int, hostile: str) -> dict[str, Any]:
    failed = arm == "evolution" and number == 8
    key = f"{generation}{index}" if generation == 0 else f"{arm[0]}{generation}{index}"
    update = ("sage.evolve", "memp.adjust", "voyager.verified")[index]
    wins = 20 + generation * 4 + index
    return {
        "trial": number,
        "arm": arm,
        "generation": generation,
        "hash": (key.encode().hex() * 16)[:64],
        "method": {slot: {"use": update if slot == "update" else "sage.x"} for slot in SLOTS},
        "parents": [],
        "origins": dict.fromkeys(SLOTS, "drawn"),
        "cached": arm == "random" and generation == 0,
        "status": "failed" if failed else "done",
        "reason": f"ValueError: broken {hostile}" if failed else "",
        "joint": None if failed else wins / 30,
        "cost": None if failed else 0.3 + 0.1 * index + 0.05 * generation,
        "units": {"training": 40000, "probes": 0, "test": 50000, "total": 90000},
        "episodes": "" if failed else "1" * wins + "0" * (29 - wins) + "e",
        "flags": ["worker-died"] if failed else [],
    }


def _row(number: int, letter: str, hostile: str) -> dict[str, Any]:
    return {
        "episode": f"test-{number // 3:04d}-{number % 3}",
        "scenario": f"blocks-plain-{number // 3}",
        "position": number % 3,
        "success": letter == "1",
        "checks": {"plan_success": letter == "1", "answer_accuracy": True},
        "units": 1200,
        "cost": 0.19,
        "error": "the agent gave up" if letter == "e" else "",
        "plan": [["pick-up", "a"], ["stack", "a", "b"]],
        "answer": "(on a b)",
        "transcript": [{"at": "search", "text": f"2 steps found{hostile}"}],
    }


def result(trials: list[dict[str, Any]]) -> dict[str, Any]:
    """What `result.json` holds."""
    gap = {"value": 0.025, "low": -0.0083, "high": 0.0583, "pairs": 120}
    run = {"joint_success": 0.95, "average_cost": 0.2, "total_cost": 0.5, "episodes": 120}
    seen = {"validation": {"joint_success": 26 / 30, "total_cost": 0.45}}
    return {
        "benchmark": "planbench-mini@1",
        "seed": 7,
        "evaluations": {"distinct": 9, "failed": 1, "units": 810000},
        "champions": {"champion": seen, "random_champion": seen},
        "test": {
            "champion": {**run, "hash": trials[7]["hash"], "run_dir": "test/a"},
            "random_champion": {"hash": trials[11]["hash"], "failed": "its process died"},
            "sage": {**run, "hash": trials[0]["hash"], "run_dir": "test/b"},
        },
        "claim": {
            "champion_minus_sage": {
                "joint_success": gap,
                "average_cost": {**gap, "value": -0.01},
                "total_cost": -0.02,
            }
        },
        "verdict": ["The champion did not demonstrably beat sage on test."],
    }


def _lineage(trials: list[dict[str, Any]], hostile: str) -> dict[str, Any]:
    champion, first, second = (trials[n]["hash"] for n in (7, 0, 1))
    genomes = [
        {
            "hash": trial["hash"],
            "arm": trial["arm"],
            "generation": trial["generation"],
            "parents": [first, second] if trial["hash"] == champion else [],
            "slots": {
                slot: {
                    **trial["method"][slot],
                    "citation": f"arXiv 2512.17102{hostile}",
                    "from": first if trial["hash"] == champion else "method sage",
                }
                for slot in SLOTS
            },
        }
        for trial in trials
    ]
    return {"champion": champion, "ancestors": [champion, first, second], "genomes": genomes}
