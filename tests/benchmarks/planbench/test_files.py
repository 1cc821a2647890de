"""Real PDDL files: PlanBench's own layout, any domain with problems, and clear refusals."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path

import pytest
from small_plans import given_plan, solve

from auto_research.benchmarks.base import Scenario, Submission
from auto_research.benchmarks.planbench import PlanBench
from auto_research.errors import UserError
from auto_research.pddl import read_domain, read_problem


def test_the_planbench_sample_loads_in_threes_of_rising_size(planbench_sample: Path) -> None:
    benchmark = PlanBench(planbench_sample)
    evaluator = benchmark.evaluator("test", 7)
    scenarios = benchmark.scenarios("test", 7)
    assert [len(s.tasks) for s in scenarios] == [3] * 18 + [1] * 6
    domains = {s.tasks[0].observation["domain"] for s in scenarios}
    assert len(domains) == 6
    assert {s.tasks[0].observation["domain"] for s in scenarios[:6]} == domains
    for scenario in scenarios:
        assert _sizes(scenario) == sorted(_sizes(scenario))
    tasks = [task for scenario in scenarios for task in scenario.tasks]
    tickets = [evaluator.submit(task.id, Submission(given_plan(task), "valid")) for task in tasks]
    verdicts = [evaluator.verdict(ticket) for ticket in tickets]
    assert not any(verdict.checks["plan_success"] for verdict in verdicts)
    assert len({verdict.checks["answer_accuracy"] for verdict in verdicts}) == 2
    small = next(t for t in tasks if "pick-up" in t.observation["domain"])
    plan = solve(small.observation["domain"], small.observation["problem"])
    assert evaluator.verdict(evaluator.submit(small.id, Submission(plan))).checks["plan_success"]
    evaluator.close()


def test_the_beginning_of_the_files_stream_does_not_depend_on_the_limit(lamps: Path) -> None:
    benchmark = PlanBench(lamps)
    evaluator = benchmark.evaluator("test", 7)
    whole = benchmark.scenarios("test", 7)
    assert list(benchmark.scenarios("test", 7, 1)) == list(whole)[:1]
    evaluator.close()


def test_a_folder_with_a_domain_and_problems_is_judged(lamps: Path) -> None:
    benchmark = PlanBench(lamps)
    evaluator = benchmark.evaluator("test", 7)
    scenarios = benchmark.scenarios("test", 7)
    assert [len(s.tasks) for s in scenarios] == [3, 1]
    for task in (task for scenario in scenarios for task in scenario.tasks):
        plan = solve(task.observation["domain"], task.observation["problem"])
        assert plan
        for handed_in, good in ((plan, True), (plan[:-1], False)):
            verdict = evaluator.verdict(evaluator.submit(task.id, Submission(handed_in)))
            assert verdict.checks["plan_success"] is good
    evaluator.close()


def test_problems_may_lie_in_a_folder_below_and_several_domains_side_by_side(
    lamps: Path, tmp_path: Path
) -> None:
    for name in ("one", "two"):
        (tmp_path / name / "instances").mkdir(parents=True)
        shutil.copy(lamps / "domain.pddl", tmp_path / name / "domain.pddl")
    shutil.copy(lamps / "p01.pddl", tmp_path / "one" / "instances" / "instance-1.pddl")
    shutil.copy(lamps / "p02.pddl", tmp_path / "two" / "p02.pddl")
    scenarios = _load(tmp_path)
    assert [_sizes(s) for s in scenarios] == [[4], [5]]


def test_training_comes_from_the_mini_suite(lamps: Path) -> None:
    benchmark = PlanBench(lamps, exclude=["depots"])
    evaluator = benchmark.evaluator("train", 0)
    (scenario,) = benchmark.scenarios("train", 0, 1)
    assert len(scenario.tasks) == 3
    assert not evaluator.verdict(evaluator.submit(scenario.tasks[0].id, Submission())).success
    evaluator.close()


def test_the_hash_follows_the_data_and_not_its_place(lamps: Path, tmp_path: Path) -> None:
    shutil.copytree(lamps, tmp_path / "copy")
    assert PlanBench(tmp_path / "copy").content_hash() == PlanBench(lamps).content_hash()
    with (tmp_path / "copy" / "p01.pddl").open("a") as file:
        file.write("; changed\n")
    assert PlanBench(tmp_path / "copy").content_hash() != PlanBench(lamps).content_hash()


@pytest.mark.parametrize(
    ("file", "old", "new", "said"),
    [
        ("domain.pddl", "(and (lit ?l))\n", "(or (lit ?l) (lit ?l))\n", "disjunctive conditions"),
        ("domain.pddl", "(define", "(def", "no (define ...) found"),
        ("domain.pddl", "(in ?l ?to)", "(in ?l ?too)", "'?too', which is no parameter"),
        ("p02.pddl", "(:goal", "(:metric", "no :goal"),
        ("p02.pddl", "(in lamp1 den)", "(in lamp1 den", "bracket(s) not closed"),
        ("p02.pddl", "(in lamp1 den)", "(in den lamp1)", "'den' in 'in' is no lamp"),
    ],
)
def test_a_file_that_cannot_be_read_is_one_line_with_its_path(
    file: str, old: str, new: str, said: str, lamps: Path, tmp_path: Path
) -> None:
    shutil.copytree(lamps, tmp_path / "bad")
    path = tmp_path / "bad" / file
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))
    with pytest.raises(UserError) as caught:
        _load(tmp_path / "bad")
    assert said in caught.value.line()
    assert str(path) in caught.value.line()
    assert "\n" not in str(caught.value)


def test_a_file_that_is_no_text_is_named(lamps: Path, tmp_path: Path) -> None:
    shutil.copytree(lamps, tmp_path / "bad")
    (tmp_path / "bad" / "p03.pddl").write_bytes(b"\xff\xfe")
    with pytest.raises(UserError, match=r"not UTF-8 text.*p03\.pddl"):
        _load(tmp_path / "bad")


def test_a_folder_without_files_is_named(lamps: Path, tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"no such folder.*nowhere"):
        PlanBench(tmp_path / "nowhere")
    with pytest.raises(UserError, match="no PDDL domain file here"):
        PlanBench(tmp_path)
    shutil.copy(lamps / "domain.pddl", tmp_path / "domain.pddl")
    with pytest.raises(UserError, match="without problem files"):
        PlanBench(tmp_path)
    shutil.copy(lamps / "p01.pddl", tmp_path / "p01.pddl")
    shutil.copy(lamps / "domain.pddl", tmp_path / "domain2.pddl")
    with pytest.raises(UserError, match="2 domain files in one folder"):
        PlanBench(tmp_path)


def _load(folder: Path) -> Sequence[Scenario]:
    benchmark = PlanBench(folder)
    evaluator = benchmark.evaluator("test", 7)
    try:
        return benchmark.scenarios("test", 7)
    finally:
        evaluator.close()


def _sizes(scenario: Scenario) -> list[int]:
    return [
        len(
            read_problem(
                task.observation["problem"], read_domain(task.observation["domain"])
            ).objects
        )
        for task in scenario.tasks
    ]
