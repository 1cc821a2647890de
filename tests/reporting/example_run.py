"""A made-up but complete run directory, the same on every call, for the report's tests."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from pathlib import Path
from random import Random

from auto_research.agent_research.budget import Phase
from auto_research.agent_research.library import Change, Create, Fork, Retire, Revise
from auto_research.agent_research.metrics import compute_metrics
from auto_research.agent_research.operators import Use
from auto_research.agent_research.rows import ChoiceRow, EpisodeRow, TranscriptLine, change_row
from auto_research.agent_research.run import RunDir
from auto_research.agent_research.skill import Provenance, Skill, Usage, function_skill
from auto_research.agent_research.store import SkillStore
from auto_research.benchmarks.base import Json
from auto_research.rng import derive

BUDGET = 400
DOMAINS = ("blocksworld", "logistics", "depots", "gripper")
VARIANTS = ("plain", "mystery", "deceptive", "drifted")
ATTACK = (
    "</script></pre><script>alert(1);document.title='owned'</script><img src=x onerror=alert(2)>"
)
SOURCE = '''def {name}(world, crate, goal):
    """Move a crate to its goal: clear it, fetch it, set it down.

    Written from the plan of an earlier episode.
    """
    # what stands on the crate goes first
    for other in world.above(crate):
        clear(world, other, {number})
    world.act("lift", crate)
    return world.act("drop", crate, goal)
'''


def config(**more: Json) -> dict[str, Json]:
    """A resolved configuration as run.yaml holds it."""
    return {
        "method": {
            "name": "sage",
            "retrieval": {"use": "sage.learned", "top_k": 4},
            "update": {"use": "sage.evolve"},
            "reward": {"use": "sage.skill-integrated"},
            "rollout": {"use": "sage.sequential", "siblings": 4},
        },
        "agent": "search",
        "benchmark": "planbench-mini@1",
        "seed": 7,
        "train_seed": 0,
        "episodes": 120,
        "budget": {"units": BUDGET},
        "versions": {"auto-research": "0.1.0"},
        "hashes": {"benchmark": "5f0c1d", "method": "a81b22", "code": "09e7aa"},
        **more,
    }


def write_run(path: Path, *, finished: bool = True, attack: bool = False) -> Path:
    """Write a run of 24 training groups and 40 test scenarios; unfinished: half of the test.

    With `attack`, everything that a model or a skill may write tries to run a script.
    """
    draw = derive(7, "example run")
    poison = ATTACK if attack else ""
    with RunDir.create(path, config()) as run:
        changes, skills = _library(run.library_path, poison)
        scenarios = 40 if finished else 20
        rows = [*_training(draw, poison), *_test(draw, skills, scenarios, poison)]
        rows = [_with_changes(row, changes) for row in rows]
        run.append(rows)
        if finished:
            counters = {"policy_updates": 24, "uninformative_groups": 9}
            outside: dict[Phase, dict[str, int]] = {
                "training": {"write": 900},
                "probes": {"expand": 2100},
            }
            run.write_metrics(compute_metrics(rows, counters=counters, outside=outside).to_bytes())
    return path


def write_long_run(path: Path, episodes: int) -> Path:
    """Write an unfinished run of that many test episodes, three a scenario, about 3 kB each."""
    draw = derive(7, "long run")
    with RunDir.create(path, config(episodes=episodes + 3)) as run:
        for start in range(0, episodes, 3000):
            rows = []
            for n in range(start, min(start + 3000, episodes)):
                row = _row(draw, "test", n, f"scenario-{n // 3:05}", n % 3, draw.random() < 0.9, "")
                noise = TranscriptLine("search", draw.randbytes(900).hex())
                rows.append(replace(row, transcript=(*row.transcript, noise)))
            run.append(rows)
    return path


def _library(path: Path, poison: str) -> tuple[list[Change], list[Skill]]:
    """Twelve versions: eight made in training, then revised, forked and retired, one in test."""
    made = [_skill(n, poison) for n in range(12)]
    changes: list[Change] = [Create(made[n], (f"training-{n * 20:04}",)) for n in range(8)]
    changes += [
        Revise(made[0].id, made[8], ("training-0101", "training-0102")),
        Fork(made[1].id, made[9], ("training-0120",)),
        Revise(made[8].id, made[10], ("training-0150",)),
        Retire(made[2].id, "2 of 9 calls helped " + poison, ("training-0171", "training-0175")),
        Create(made[11], ("test-0042",)),
    ]
    record = {
        skill.id: Usage(retrieved=9 + 4 * n, called=7 + 3 * n, helped=5 + 3 * n, harmed=2)
        for n, skill in enumerate(made)
    }
    with SkillStore(path) as store:
        return changes, list(store.apply(changes, usage=record).skills.values())


def _skill(number: int, poison: str) -> Skill:
    name = ("deliver", "stack", "ferry", "clear_then_move")[number % 4] + f"_{number}"
    source = SOURCE.format(name=name, number=number) + (f"\n# {poison}\n" if poison else "")
    skill = function_skill(source, provenance=Provenance(run="example", scenario="s"))
    return replace(skill, docstring=skill.docstring + poison)


def _training(draw: Random, poison: str) -> list[EpisodeRow]:
    rows: list[EpisodeRow] = []
    for group in range(24):
        hope = min(0.95, 0.35 + group * 0.03)
        easy = draw.random() < 0.35
        for sibling, position in product(range(4), range(2)):
            success = easy or draw.random() < hope
            scenario = f"train-{group:02}"
            row = _row(draw, "training", len(rows), scenario, position, success, poison)
            reward = float(success + (success and position == 1))
            row = replace(row, group=group, sibling=sibling)
            rows.append(replace(row, reward=reward, advantage=reward - 1.0))
    return rows + [_row(draw, "probes", n, f"train-{n:02}", 0, n % 3 > 0, poison) for n in range(6)]


def _test(draw: Random, skills: list[Skill], scenarios: int, poison: str) -> list[EpisodeRow]:
    rows: list[EpisodeRow] = []
    for n in range(scenarios):
        scenario = f"{DOMAINS[n % 4]}-{VARIANTS[n // 4 % 4]}-{n:02}"
        for position in range(3):
            success = draw.random() < 0.9
            row = _row(draw, "test", len(rows), scenario, position, success, poison)
            rows.append(_with_skills(draw, row, skills))
    rows[-2] = replace(rows[-2], success=None, error="EvaluatorError: the process ended" + poison)
    return rows


def _with_skills(draw: Random, row: EpisodeRow, skills: list[Skill]) -> EpisodeRow:
    active = [skill for skill in skills if skill.status == "active"]
    chosen = draw.sample(active, 2)
    uses = (
        Use(chosen[0].id, called=True, helped=bool(row.success), detail="9 of 9 rules applied"),
        Use(chosen[1].id, called=False, helped=False),
    )
    choice = ChoiceRow((chosen[0].id, chosen[1].id), (0.8125, 0.125))
    return replace(row, choice=choice, uses=uses)


def _with_changes(row: EpisodeRow, changes: list[Change]) -> EpisodeRow:
    made = tuple(change_row(change) for change in changes if change.cause[-1] == row.episode)
    return replace(row, changes=made)


def _row(
    draw: Random, phase: str, index: int, scenario: str, position: int, success: bool, poison: str
) -> EpisodeRow:
    spent = draw.randint(20, 160) + (0 if success else 180)
    kinds = {"expand": spent // 2, "act": spent // 5, "match": spent // 6, "retrieve": 9, "load": 2}
    units = sum(kinds.values())
    plan = tuple(("lift", f"crate{n}", f"hoist{n % 2}") for n in range(3 + 2 * position))
    lines = (
        TranscriptLine("retrieve", "2 skills of 9 considered" + poison),
        TranscriptLine("execute", "\n".join(f"({' '.join(step)})" for step in plan) + poison),
        TranscriptLine("check", "goal reached" if success else "crate2 is not at its goal"),
    )
    return EpisodeRow.from_json(
        {
            "episode": f"{phase}-{index:04}",
            "phase": phase,
            "index": index,
            "scenario": scenario + poison,
            "task": f"{scenario}-{position}",
            "position": position,
            "instruction": "Bring every crate to the place its label names, then answer." + poison,
            "success": success,
            "own_check": success,
            "units": units,
            "cost": round(min(1, units / BUDGET), 6),
            "checks": {"plan_success": success, "answer_accuracy": success or index % 2 == 0},
            "units_by_kind": dict(kinds),
            "steps": len(plan),
            "plan": [list(step) for step in plan],
            "answer": "yes" + poison,
            "transcript": [{"at": line.at, "text": line.text} for line in lines],
        }
    )
