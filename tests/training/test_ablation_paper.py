"""Papers as data: the one that is here, and what is wrong with others."""

from __future__ import annotations

from pathlib import Path

import pytest

from auto_research import strict_yaml
from auto_research.errors import UserError
from auto_research.training.ablation_paper import Start, read_paper

TOY = """
name: toy
title: A toy
citation: nobody
benchmark: workshop-hid
reference: sage
presets: {quick: {arms: [sage], seeds: 2}}
arms:
  sage: {title: SAGE, method: sage-paper}
  off: {title: without, method: grpo, model_of: sage}
"""


def written(folder: Path, old: str = "", new: str = "") -> str:
    (folder / "toy.yaml").write_text(TOY.replace(old, new))
    return str(folder / "toy.yaml")


def test_the_papers_claims_stand_in_the_order_that_the_paper_states() -> None:
    arms = read_paper("sage").arms
    sgc = {name: row.sgc for name, arm in arms.items() for row in arm.paper[:1]}
    known = {name: value for name, value in sgc.items() if value is not None}
    assert max(known, key=known.__getitem__) == "sage"
    assert known["sage"] > known["chain"] > known["outcome"] > known["library-off"]
    assert known["self"] > known["base"]
    assert not arms["length-1"].paper  # it reports none


def test_every_figure_of_the_paper_has_its_source() -> None:
    rows = [row for arm in read_paper("sage").arms.values() for row in arm.paper]
    assert all(row.source and any(v is not None for v in row.figures().values()) for row in rows)


def test_the_arms_of_the_initialisation_share_the_first_stage_out() -> None:
    arms = read_paper("sage").arms
    assert arms["base"].start.expert == arms["self"].start.expert < 1
    assert arms["self"].start.expert + arms["self"].start.own == 1
    assert arms["sage"].start == Start()


def test_a_file_of_the_users_own_is_a_paper_too(tmp_path: Path) -> None:
    assert list(read_paper(written(tmp_path)).arms) == ["sage", "off"]


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("name: toy", "name: To y", "'To y' is no name"),
        ("reference: sage", "reference: sege", r"an arm 'sege'; did you mean 'sage'\?"),
        ("arms: [sage]", "arms: [sag]", r"presets.quick names an arm 'sag'; did you mean"),
        ("model_of: sage", "model_of: off", "arms.off.model_of names no arm that trains: 'off'"),
        ("model_of: sage", "model_of: sage, config: {rl: {}}", "trains nothing"),
        ("sage-paper}", "sage-paper, config: {test: {}}}", "cannot change the test"),
        ("sage-paper}", "sage-paper, start: {expert: 0}}", "arms.sage.start.expert"),
        ("sage-paper}", "sage-paper, methods: 1}", r"no such key \(.*arms.sage.methods"),
        ("sage-paper}", "sage-paper, paper: [{row: a, source: b, sgc: 60.7}]}", "paper.0.sgc"),
        ("seeds: 2", "seeds: 0", "presets.quick.seeds"),
        (TOY, "[]", "toy.yaml"),
    ],
)
def test_what_is_wrong_with_a_file_is_told_by_its_key(
    tmp_path: Path, old: str, new: str, told: str
) -> None:
    with pytest.raises(UserError, match=told):
        read_paper(written(tmp_path, old, new))


def test_an_unknown_paper_is_told_with_the_nearest() -> None:
    with pytest.raises(UserError, match=r"unknown paper 'sags'.*did you mean 'sage'\?"):
        read_paper("sags")


def test_a_paper_that_is_not_there_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="cannot read file"):
        read_paper(str(tmp_path / "none.yaml"))


def test_the_paper_that_is_here_is_plain_yaml_under_its_own_name() -> None:
    assert read_paper("sage").name == "sage"
    assert strict_yaml.parse(TOY)
