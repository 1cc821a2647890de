"""The plan of an ablation: one budget for all arms, or none."""

from __future__ import annotations

from pathlib import Path

import pytest

from auto_research.errors import UserError
from auto_research.plugins import load_plugins
from auto_research.training.ablation_jobs import open_jobs
from auto_research.training.ablation_paper import read_paper
from auto_research.training.ablation_plan import Budget, Plan, chosen, make_plan, merged
from tests.training.ablation_cases import CONFIG, SMALL, arm, planned, toy

LONG = [*SMALL, "rollout.chain_length=3"]
SHORT = [*SMALL, "rollout.chain_length=1"]


def papers_own(folder: Path, preset: str, **config: object) -> Plan:
    paper = read_paper("sage")
    found, arms = chosen(paper, preset, "")
    return make_plan(
        paper,
        load_plugins(),
        arms=arms,
        seeds=range(found.seeds),
        directory=folder,
        config=merged(found.config, config),
    )


def test_all_arms_of_the_paper_train_equally_much(tmp_path: Path) -> None:
    plan = papers_own(tmp_path, "full")
    budgets = {a.name: a.budget for a in plan.arms if a.budget != Budget()}
    assert len(set(budgets.values())) == 1
    assert budgets.keys() == {n for n, a in plan.paper.arms.items() if not a.model_of} - {"sft"}
    groups = {n: plan.arm(n).config.rl.groups for n in ("length-1", "sage", "length-3")}
    assert groups["length-1"] == 2 * groups["sage"] == 3 * groups["length-3"]


def test_the_quick_preset_has_the_main_arms_and_three_seeds(tmp_path: Path) -> None:
    plan = papers_own(tmp_path, "quick")
    assert [a.name for a in plan.arms] == ["sft", "grpo", "sage"]
    assert list(plan.seeds) == [0, 1, 2]
    names = [job.name for job in open_jobs(plan)]
    assert names == [
        f"{name}-seed{seed}" for seed in range(3) for name in ("start-sft", "sft", "grpo", "sage")
    ]


def test_a_start_of_its_own_takes_its_share_of_the_first_stage(tmp_path: Path) -> None:
    plan = papers_own(tmp_path, "full", sft={"steps": 80})
    steps = {n: (plan.arm(n).sft_steps, plan.arm(n).own_steps) for n in ("sage", "base", "self")}
    assert steps == {"sage": (80, 0), "base": (20, 0), "self": (20, 60)}
    needs = {job.name: job.needs for job in open_jobs(plan)}
    assert needs["base-seed1"] == ("start-base-seed1",)
    assert needs["self-seed1"] == ("start-self-seed1",)
    assert needs["outcome-seed1"] == ("start-sft-seed1",)
    assert needs["library-off-seed1"] == ("sage-seed1",)


def test_groups_of_another_size_are_as_many_as_make_the_same_rollouts(tmp_path: Path) -> None:
    plan = planned(tmp_path, toy(short=arm("sage", set=SHORT)))
    assert plan.arm("short").config.rl.groups == 4
    assert plan.arm("short").budget == plan.arm("sage").budget == Budget(8, 2, 880)


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        (arm("sage", config={"rl": {"iterations": 3}}), "would not train equally much"),
        (arm("sage", config={"rl": {"minibatches": 3}}), "would not train equally much"),
        (arm("sage", config={"rl": {"groups": 3}}), "would not train equally much"),
        (arm("sage", set=LONG), "'other' cannot have the reference's 8 rollouts"),
        (arm("sage", set=["rollout.siblings=2"]), "asks for 4 at once"),
        (arm("sage", set=["rollout.siblings=0"]), "siblings"),
        (arm("sage", set=[], method="react"), "never trains"),
        (arm("sage", method="sega-paper"), "did you mean 'sage-paper'"),
        (arm("sage", config={"rl": {"iteration": 3}}), "no key 'rl.iteration'"),
    ],
)
def test_an_arm_that_does_not_fit_is_refused(tmp_path: Path, changed: object, told: str) -> None:
    with pytest.raises(UserError, match=told):
        planned(tmp_path / "none", toy(other=changed))  # type: ignore[arg-type]
    assert not (tmp_path / "none").exists()


def test_a_start_for_all_leaves_no_room_for_one_of_an_arms_own(tmp_path: Path) -> None:
    paper = toy(base=arm("sage", start={"expert": 0.5}))
    with pytest.raises(UserError, match="'base' has a start of its own"):
        planned(tmp_path, paper, config={**CONFIG, "start": "somewhere"})


def test_arms_are_named_as_the_paper_does(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"unknown arm 'sagr'.*did you mean 'sage'\?"):
        planned(tmp_path, toy(), arms=["sagr"])
    with pytest.raises(UserError, match="tests the model of 'sage', which is not among"):
        planned(tmp_path, toy(), arms=["off"])
    with pytest.raises(UserError, match=r"unknown preset 'quik'.*did you mean 'quick'\?"):
        chosen(read_paper("sage"), "quik", "")


def test_an_ablation_goes_on_with_its_own_settings_only(tmp_path: Path) -> None:
    planned(tmp_path, toy(), arms=["sage"]).begin(resume=False)
    planned(tmp_path, toy(), arms=["sage", "off"], seeds=[5]).begin(resume=True)
    planned(tmp_path, toy(), arms=["grpo", "sage"]).begin(resume=True)
    other = merged(CONFIG, {"rl": {"learning_rate": 0.1}})
    with pytest.raises(UserError, match=r"begun with another grpo.config, sage.config"):
        planned(tmp_path, toy(), arms=["grpo", "sage"], config=other).begin(resume=True)
    planned(tmp_path, toy(), arms=["sft"], config=other).begin(resume=True)
