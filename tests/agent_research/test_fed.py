"""A test task that is evaluated with a skill it fed itself is flagged."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from evaluating import prepared

from auto_research.agent_research.chain import FED


def test_a_task_that_fed_a_skill_is_flagged_when_it_is_evaluated(tmp_path: Path) -> None:
    evaluation = prepared(episodes=3, train_scenarios=0)
    again = replace(evaluation.test[0], tasks=(evaluation.test[0].tasks[0],) * 2)
    for scenarios, flagged in ((evaluation.test, False), ([again], True)):
        evaluation.test = scenarios
        path = tmp_path / str(flagged)
        evaluation.run(path)
        assert (FED in (path / "metrics.json").read_text()) is flagged
