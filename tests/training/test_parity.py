"""Our objective gives the numbers of OpenRLHF and TRL, wherever theirs are sound."""

from __future__ import annotations

import importlib.util
import json
import math
import os
import subprocess
import sys
from itertools import chain
from pathlib import Path
from typing import Any

import pytest
import torch

from auto_research.agent_research.advantage import group_advantages
from auto_research.training.grpo import ESTIMATORS, Aggregation, Objective, Tally, policy_loss

ROOT = Path(__file__).parent.parent.parent
STORED = {
    package: json.loads((ROOT / "fixtures" / "training" / f"{package}.json").read_text())
    for package in ("openrlhf", "trl")
}
AGGREGATIONS: dict[str, Aggregation] = {
    "token-mean": "token-mean",  # what OpenRLHF calls it
    "sequence-mean": "sequence-mean",
    "grpo": "sequence-mean",  # what TRL calls it
    "bnpo": "token-mean",
    "dapo": "token-mean",
}
CLOSE = {"rel": 1e-6, "abs": 1e-6}


def cases(kind: str, name: str) -> list[Any]:
    """Every stored result: (package, estimator or loss, case)."""
    return [
        pytest.param(package, made, case, id=f"{package}-{made}-{case.get('name', number)}")
        for package, stored in STORED.items()
        for number, case in enumerate(stored[kind])
        for made in case[name]
    ]


def ours(case: dict[str, Any], package: str, kind: str) -> tuple[float, list[float], Tally]:
    """Loss, gradient to the log-probabilities (flat), tally."""
    how, _, kl = kind.partition(" + ")
    tensors = {
        name: torch.tensor(case[name], dtype=torch.float32)
        for name in ("log_probs", "old", "reference", "advantages", "mask")
    }
    now = tensors["log_probs"].requires_grad_()
    low, high = case["clip"]
    weight = STORED[package]["kl_weight"] if kl else 0.0
    objective = Objective(low, high, AGGREGATIONS[how], kl or "k3", weight, package == "trl")
    loss, tally = policy_loss(
        now,
        tensors["old"],
        tensors["advantages"],
        tensors["mask"],
        objective,
        reference=tensors["reference"] if kl else None,
    )
    loss.backward()
    return loss.item(), now.grad.flatten().tolist(), tally


@pytest.mark.parametrize(("package", "estimator", "case"), cases("groups", "advantages"))
def test_advantages_of_a_finite_group_are_the_packages(
    package: str, estimator: str, case: dict[str, Any]
) -> None:
    found = group_advantages([[r] for r in case["rewards"]], ESTIMATORS[f"{package}.{estimator}"])
    assert found.informative == (True,)
    assert [a for (a,) in found.values] == pytest.approx(case["advantages"][estimator], **CLOSE)


@pytest.mark.parametrize(("package", "kind", "case"), cases("batches", "losses"))
def test_the_loss_its_gradient_and_its_figures_are_the_packages(
    package: str, kind: str, case: dict[str, Any]
) -> None:
    theirs = case["losses"][kind]
    loss, gradient, tally = ours(case, package, kind)
    assert loss == pytest.approx(theirs["loss"], **CLOSE)
    assert gradient == pytest.approx(list(chain.from_iterable(theirs["gradient"])), **CLOSE)
    figures = tally.figures()
    for name in figures.keys() & theirs.keys():
        assert figures[name] == pytest.approx(theirs[name], **CLOSE), name


@pytest.mark.parametrize(("package", "estimator", "case"), cases("odd_groups", "advantages"))
def test_an_odd_group_gets_zeros_where_a_package_gets_noise_nan_or_an_error(
    package: str, estimator: str, case: dict[str, Any]
) -> None:
    rewards = case["rewards"]
    found = group_advantages([[r] for r in rewards], ESTIMATORS[f"{package}.{estimator}"])
    values = [a for (a,) in found.values]
    known = [r for r in rewards if r is not None and math.isfinite(r)]
    assert found.unjudged == len(rewards) - len(known)
    if len(set(known)) == 1:
        assert values == [0.0] * len(rewards)
        assert found.informative == (False,)
    else:  # what the sound rewards would get among themselves
        alone = group_advantages([[r] for r in known], ESTIMATORS[f"{package}.{estimator}"])
        kept = [a for a, r in zip(values, rewards, strict=True) if r in known]
        assert kept == [a for (a,) in alone.values]
        assert sum(values) == pytest.approx(0.0, abs=1e-9)
    theirs = case["advantages"][estimator]
    sound = isinstance(theirs, list) and all(abs(a) < 10 for a in theirs)
    if package == "trl" and sound and None not in rewards and math.inf not in rewards:
        # TRL leaves NaN out too; a constant group keeps what rounding makes of it.
        assert values == pytest.approx(theirs, abs=1e-3)


@pytest.mark.parametrize(("package", "kind", "case"), cases("odd_batches", "losses"))
def test_an_odd_batch_has_a_finite_loss_and_gradient(
    package: str, kind: str, case: dict[str, Any]
) -> None:
    theirs = case["losses"][kind]
    loss, gradient, tally = ours(case, package, kind)
    assert math.isfinite(loss)
    assert all(map(math.isfinite, gradient))
    wrong = "NaN" in case["name"] and "mask is 0" not in case["name"]
    assert (tally.unusable > 0) == wrong
    assert (tally.empty > 0) == ("empty" in case["name"] or "advantage" in case["name"])
    counts_empty = package == "trl" and kind == "grpo" and tally.empty
    if math.isfinite(theirs["loss"]) and not counts_empty:
        assert loss == pytest.approx(theirs["loss"], **CLOSE)


@pytest.mark.parametrize("package", STORED)
def test_the_stored_numbers_are_what_the_package_computes(package: str) -> None:
    if importlib.util.find_spec(package) is None:
        pytest.skip(f"{package} is not installed: see experiments/parity_vectors.py")
    script = ROOT / "experiments" / "parity_vectors.py"
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1"}
    done = subprocess.run(
        [sys.executable, script, package, "--check"],
        capture_output=True,
        text=True,
        env=environment,
        timeout=280,
    )
    assert done.returncode == 0, done.stderr[-2000:]
