"""Which methods train on a cluster, told by what their operators do."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from auto_research_openrlhf.chains import shape, shaped
from auto_research_openrlhf.config import Chains

from auto_research.agent_research.method import load_method
from auto_research.errors import UserError
from auto_research.plugins import Registry, load_plugins
from auto_research.training.trainable import left_out, trainable

SEQUENTIAL = ["rollout=sage.sequential", "rollout.start=empty"]


@pytest.fixture(scope="module")
def registry() -> Registry:
    return load_plugins()


@pytest.mark.parametrize(
    ("method", "overrides", "reason"),
    [
        ("grpo", [], None),
        ("sage-paper", [], None),
        ("sage", ["rollout.start=empty"], None),
        ("sage", ["rollout.start=empty", "reward=outcome"], None),
        ("sage", ["rollout.start=empty", "reward=sage.chain"], None),
        ("sage", ["rollout.start=empty", "rollout.chain_length=1"], None),
        ("sage", ["rollout.start=empty", "rollout.chain_length=3"], None),
        ("voyager", SEQUENTIAL, None),
        ("awm", SEQUENTIAL, None),
        ("skillrise", SEQUENTIAL, None),
        ("sage", [], "starts a chain with the run's library"),
        ("react", [], "'none' never trains"),
        ("voyager", [], "runs groups of one"),
        ("skillrise", ["rollout.start=empty"], "gives siblings different arms"),
        ("reskill", SEQUENTIAL, "only between groups"),
        ("grasp", SEQUENTIAL, "only between groups"),
    ],
)
def test_a_method_trains_on_a_cluster_or_the_reason_is_told(
    registry: Registry, method: str, overrides: list[str], reason: str | None
) -> None:
    found = trainable(load_method(method, registry, overrides), registry)
    assert (found is None) == (reason is None), found
    assert reason is None or reason in str(found)


def test_on_one_machine_the_library_goes_from_group_to_group(registry: Registry) -> None:
    for name in ("sage", "reskill", "skill0"):
        assert trainable(load_method(name, registry), registry, shared_library=True) is None
    for name in ("react", "voyager"):
        assert trainable(load_method(name, registry), registry, shared_library=True)


def test_what_is_not_done_on_a_cluster_is_told(registry: Registry) -> None:
    told = left_out(load_method("sage", registry), registry)
    assert ["sage.evolve" in told[0], "sage.learned" in told[1]] == [True, True]
    assert left_out(load_method("grpo", registry), registry) == []


@pytest.mark.parametrize("length", [1, 2, 3])
@pytest.mark.parametrize("name", ["grpo", "sage", "voyager", "memp"])
def test_a_config_gives_every_method_groups_of_one_shape(
    registry: Registry, name: str, length: int
) -> None:
    chains = Chains(rollout="sage.sequential", length=length, siblings=6)
    method = shaped(load_method(name, registry), chains, registry, where="here")
    assert shape(method, registry) == (length, 6)
    assert trainable(method, registry) is None
    assert method.retrieval == load_method(name, registry).retrieval


def test_the_page_tells_each_method_truly(registry: Registry) -> None:
    page = (Path(__file__).parents[3] / "docs" / "cluster.md").read_text()
    told = dict(re.findall(r"^\| (`[^|]+`) \| ((?:trains|refused)[^|]*) \|$", page, re.MULTILINE))
    listed = {name: line for names, line in told.items() for name in re.findall("`(.+?)`", names)}
    assert set(registry.methods) <= set(listed)
    chains = Chains(rollout="sage.sequential", length=2, siblings=4)
    for name, line in listed.items():
        try:
            shaped(load_method(name, registry), chains, registry, where="here")
        except UserError as error:
            assert line.startswith("refused"), name
            assert ("never trains" in line) == ("never trains" in str(error)), name
        else:
            assert line.startswith("trains"), name


def test_a_rollout_without_the_setting_is_named(registry: Registry) -> None:
    with pytest.raises(UserError, match=r"stream\.scenarios.*no setting 'chain_length'"):
        shaped(load_method("voyager", registry), Chains(length=2), registry, where="here")
    # What never trains is not made to by another rollout.
    with pytest.raises(UserError, match="never trains"):
        chains = Chains(rollout="sage.sequential", length=2, siblings=2)
        shaped(load_method("react", registry), chains, registry, where="here")
