"""Finished runs written by hand, a few episodes each, for the tests of comparisons."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from auto_research.agent_research.budget import Phase
from auto_research.agent_research.episode import cost_of
from auto_research.agent_research.metrics import compute_metrics
from auto_research.agent_research.operators import Use
from auto_research.agent_research.rows import ChoiceRow, EpisodeRow
from auto_research.agent_research.run import RunDir
from auto_research.comparison.matching import Line, lines_of
from auto_research.comparison.runs import read_run

B = 100


@dataclass(frozen=True)
class Did:
    """What one test episode came to; its task is the place in the stream, three a scenario."""

    success: bool | None = True
    units: int = 50
    ranked: tuple[str, ...] = ()
    called: tuple[str, ...] = ()
    answer: str | None = "yes"
    error: str = ""


def method(name: str, rollout: str = "none") -> dict[str, Any]:
    """A method as run.yaml holds it."""
    slots = {slot: {"use": "none"} for slot in ("retrieval", "update", "reward")}
    return {"name": name, "summary": "", "citation": "", **slots, "rollout": {"use": rollout}}


def config(name: str, seed: int, episodes: int, **more: Any) -> dict[str, Any]:
    """A run's configuration."""
    rollout = "sage.sequential" if more.get("train_scenarios") else "none"
    plain = {
        "method": method(name, rollout),
        "method_hash": name,
        "benchmark": "toy@1",
        "benchmark_hash": "toy",
        "agent": "search",
        "split": "test",
        "seed": seed,
        "train_seed": 0,
        "episodes": episodes,
        "train_scenarios": 0,
        "exclude": [],
        "frozen": False,
        "test_feedback": "own",
        "budget": {"units": B, "units_per_episode": B, "run_units": None},
        "tariff": {"act": 1},
        "version": "1",
        "code_hash": "c",
    }
    return {**plain, **more}


def write(
    folder: Path,
    name: str,
    did: Sequence[Did],
    *,
    seed: int = 1,
    trained: Sequence[int] = (),
    probed: Sequence[int] = (),
    flags: Sequence[str] = (),
    finished: bool = True,
    **more: Any,
) -> Path:
    """Write a run as `<folder>/<name>-<seed>`; `trained` and `probed` are units an episode."""
    path = folder / f"{name}-{seed}"
    rows = [_row("training", n, units) for n, units in enumerate(trained)]
    rows += [_row("probes", n, units) for n, units in enumerate(probed)]
    rows += [_tested(n, one) for n, one in enumerate(did)]
    with RunDir.create(path, config(name, seed, len(did), **more)) as run:
        run.append(rows if finished else rows[:-1])
        if finished:
            run.write_metrics(compute_metrics(rows).to_bytes(flags))
    return path


def lines(paths: Iterable[Path]) -> list[Line]:
    """The lines that runs make up."""
    return lines_of([read_run(path) for path in paths])


def line(folder: Path, name: str, did: Sequence[Did], **more: Any) -> Line:
    """A line of one run."""
    (only,) = lines([write(folder, name, did, **more)])
    return only


def change_row(run: Path, change: Callable[[dict[str, Any]], None], number: int = -1) -> None:
    """Change a row of episodes.jsonl behind the harness's back."""
    file = run / "episodes.jsonl"
    rows = [json.loads(text) for text in file.read_text().splitlines()]
    change(rows[number])
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))


def change_metrics(run: Path, change: Callable[[dict[str, Any]], None]) -> None:
    """Change metrics.json behind the harness's back."""
    file = run / "metrics.json"
    content = json.loads(file.read_text())
    change(content)
    file.write_text(json.dumps(content))


def _row(phase: Phase, number: int, units: int, did: Did = Did()) -> EpisodeRow:
    return EpisodeRow(
        episode=f"{phase}-{number}",
        phase=phase,
        index=number,
        scenario=f"s{number // 3}",
        task=f"t{number}",
        position=number % 3,
        instruction="",
        success=did.success,
        own_check=True,
        units=units,
        cost=cost_of(units, B),
        checks={} if did.success is None else {"plan_success": did.success},
        units_by_kind={"act": units},
        steps=2,
        choice=ChoiceRow(did.ranked, (1.0,) * len(did.ranked)),
        uses=tuple(Use(skill, called=skill in did.called, helped=True) for skill in did.ranked),
        plan=(("go", "here"),),
        answer=did.answer,
        error=did.error,
    )


def _tested(number: int, did: Did) -> EpisodeRow:
    return _row("test", number, did.units, did)
