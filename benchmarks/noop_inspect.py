"""One evaluation by Inspect AI in which nothing is thought, with its normal log written to disk.

No model is called: the solver gives the state back, the scorer passes everything. Its display
is off, which is in its favour. Prints one JSON object, times in seconds.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

import inspect_ai
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.scorer import Score, Scorer, Target, accuracy, scorer
from inspect_ai.solver import Generate, Solver, TaskState, solver


@solver
def noop_solver() -> Solver:
    """Does nothing."""

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        return state

    return solve


@scorer(metrics=[accuracy()])
def noop_scorer() -> Scorer:
    """Lets everything pass."""

    async def score(state: TaskState, target: Target) -> Score:
        return Score(value=1.0)

    return score


def evaluate(path: Path, samples: int) -> dict[str, object]:
    """Evaluate `samples` no-op samples with the log in `path`; seconds, and Inspect's version."""
    started = time.perf_counter()
    task = inspect_ai.Task(
        dataset=MemoryDataset(
            [Sample(id=f"noop-{i}", input="do nothing", target="yes") for i in range(samples)]
        ),
        solver=noop_solver(),
        scorer=noop_scorer(),
    )
    logs = inspect_ai.eval(task, model="mockllm/model", log_dir=str(path), display="none")
    seconds = time.perf_counter() - started
    results = logs[0].results
    passed = results.completed_samples if results and logs[0].status == "success" else 0
    return {"seconds": seconds, "passed": passed, "version": inspect_ai.__version__}


if __name__ == "__main__":
    print(json.dumps(evaluate(Path(sys.argv[1]), int(sys.argv[2]))))
