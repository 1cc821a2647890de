"""Let AppWorld's own command evaluate what was done in a run's worlds."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from auto_research.benchmarks.appworld.home import Home
from auto_research.benchmarks.appworld.inside.judge import unfold
from auto_research.benchmarks.appworld.scratch import Scratch
from auto_research.errors import UserError

_NAME = "run"  # of the experiment and of the data set, in a root made for the purpose


def evaluated_by_appworld(
    home: Home, root: Path, tasks: Sequence[str], outputs: Path
) -> dict[str, float]:
    """TGC and SGC in percent, to one decimal as AppWorld rounds them, by ``tgc`` and ``sgc``.

    `outputs` holds a file a task, as worlds keep them. A task without one, whose world ended early,
    is evaluated as if nothing had been done. Raises UserError.
    """
    with Scratch() as place:
        _make_root(place, root, tasks)
        for task in tasks:
            _put(place / "experiments" / "outputs" / _NAME / "tasks" / task, task, root, outputs)
        argv = [str(home.path / "venv" / "bin" / "appworld"), "evaluate", _NAME, _NAME]
        done = subprocess.run(
            [*argv, "--root", str(place)],
            cwd=place,
            env=dict(home.environment()),
            capture_output=True,
            text=True,
            check=False,
        )
        report = place / "experiments" / "outputs" / _NAME / "evaluations" / f"{_NAME}.json"
        if done.returncode or not report.exists():
            lines = (done.stdout + done.stderr).strip().splitlines()
            raise UserError("`appworld evaluate` failed", where=lines[-1] if lines else str(root))
        found = json.loads(report.read_text())["aggregate"]
    return {
        "tgc": float(found["task_goal_completion"]),
        "sgc": float(found["scenario_goal_completion"]),
    }


def in_percent(fraction: float) -> float:
    """A rate as AppWorld prints it: rounded to four digits, then in percent to one decimal."""
    return round(100 * round(fraction, 4), 1)


def _make_root(place: Path, root: Path, tasks: Sequence[str]) -> None:
    data = place / "data"
    (data / "datasets").mkdir(parents=True)
    for name in ("api_docs", "base_dbs", "tasks"):
        (data / name).symlink_to((root / "data" / name).absolute())
    (data / "datasets" / f"{_NAME}.txt").write_text("".join(f"{task}\n" for task in tasks))


def _put(folder: Path, task: str, root: Path, outputs: Path) -> None:
    kept = outputs / f"{task}.json"
    if kept.exists():
        unfold(json.loads(kept.read_text(encoding="utf-8")), str(folder))
    else:
        shutil.copytree(root / "data" / "tasks" / task / "dbs", folder / "dbs")
