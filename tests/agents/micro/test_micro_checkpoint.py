"""Checkpoints: what was saved comes back, the same bytes each time, and nothing broken loads."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch
from micro_cases import WORDS, tiny_checkpoint, tiny_model, tiny_policy

from auto_research.agent_research.agents.micro.checkpoint import (
    Policy,
    content_hash,
    load,
    save,
)
from auto_research.errors import UserError


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def weights_of(folder: Path) -> Path:
    (path,) = folder.glob("weights-*")
    return path


def test_a_saved_policy_comes_back(tmp_path: Path) -> None:
    policy = tiny_policy()
    told = save(policy, tmp_path / "model")
    back = load(tmp_path / "model")
    assert back.vocabulary == WORDS and back.model.shape == policy.model.shape
    for name, part in policy.model.state_dict().items():
        assert torch.equal(part, back.model.state_dict()[name])
    assert told == content_hash(tmp_path / "model")


def test_equal_models_have_equal_bytes_and_others_another_hash(tmp_path: Path) -> None:
    folders = [tiny_checkpoint(tmp_path / name, seed) for name, seed in (("a", 0), ("b", 0))]
    assert contents(folders[0]) == contents(folders[1])
    other = tiny_checkpoint(tmp_path / "c", seed=1)
    assert content_hash(other) != content_hash(folders[0])


def test_saving_over_an_older_one_leaves_the_newer_alone(tmp_path: Path) -> None:
    tiny_checkpoint(tmp_path / "a", seed=0)
    assert contents(tiny_checkpoint(tmp_path / "a", seed=1)) == contents(
        tiny_checkpoint(tmp_path / "b", seed=1)
    )


def test_weights_without_their_config_change_nothing(tmp_path: Path) -> None:
    folder = tiny_checkpoint(tmp_path / "a")
    before = content_hash(folder)
    new = weights_of(tiny_checkpoint(tmp_path / "b", seed=1))
    (folder / new.name).write_bytes(new.read_bytes())  # a save that was killed before its config
    assert content_hash(folder) == before
    assert torch.equal(load(folder).model.head.weight, tiny_model().head.weight)


def edited(folder: Path, **parts: object) -> None:
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**config, **parts}))


BREAKS = {
    "torn weights": lambda f: weights_of(f).write_bytes(weights_of(f).read_bytes()[:-9]),
    "no weights": lambda f: weights_of(f).unlink(),
    "no config": lambda f: (f / "config.json").unlink(),
    "torn config": lambda f: (f / "config.json").write_text('{"format": 1,'),
    "no object": lambda f: (f / "config.json").write_text("[]"),
    "another format": lambda f: edited(f, format=2),
    "no shape": lambda f: edited(f, shape={"words": 0}),
    "an unknown size": lambda f: edited(f, shape={"words": 5, "depth": 3}),
    "another shape": lambda f: edited(f, shape={"words": len(WORDS.words), "width": 8}),
    "other words": lambda f: edited(f, vocabulary={"verbs": [], "objects": [], "others": []}),
    "no words": lambda f: edited(f, vocabulary={}),
    "weights elsewhere": lambda f: edited(f, weights="../weights.pt"),
}


@pytest.mark.parametrize("broken", BREAKS.values(), ids=BREAKS.keys())
def test_what_is_broken_is_refused_with_its_folder(tmp_path: Path, broken: object) -> None:
    folder = tiny_checkpoint(tmp_path / "model")
    assert callable(broken)
    broken(folder)
    with pytest.raises(UserError, match="checkpoint") as caught:
        load(folder)
    assert str(folder) in caught.value.where


def test_weights_that_are_no_numbers_are_refused(tmp_path: Path) -> None:
    model = tiny_model()
    with torch.no_grad():
        model.head.weight[0, 0] = float("nan")
    save(Policy(model, WORDS), tmp_path / "model")
    with pytest.raises(UserError, match="no numbers"):
        load(tmp_path / "model")


def test_a_device_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no device 'abacus'"):
        load(tiny_checkpoint(tmp_path / "model"), "abacus")
