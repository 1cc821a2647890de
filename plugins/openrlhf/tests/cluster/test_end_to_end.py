"""Everything but the GPU: a real engine, AppWorld's worlds, OpenRLHF's own actor and loss.

Runs in an environment of its own (`make test-cluster`), with a tiny model made on the spot.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parents[1]))
pytest.importorskip("vllm")
pytest.importorskip("openrlhf")

import executor_tiny as tiny
from executor_cases import rows_in

from auto_research.agent_research.rows import EpisodeRow
from auto_research.benchmarks.appworld.home import Home, default_home

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(3600)]

STEPS, PROMPTS, G = 3, 2, 4
SAMPLES = PROMPTS * G * tiny.LENGTH  # a step


@dataclass(frozen=True)
class Done:
    """A training: what it said of each step, what the executor left, and the models."""

    steps: list[dict[str, float]]
    rows: list[EpisodeRow]
    before: Path
    after: Path


@pytest.fixture(scope="module")
def job(tmp_path_factory: pytest.TempPathFactory) -> Done:
    if not Home(default_home()).installed():
        pytest.skip("AppWorld is not set up here: auto-research appworld setup")
    folder = tmp_path_factory.mktemp("job")
    model = tiny.made(tmp_path_factory.getbasetemp())
    spec = tiny.spec(folder / "storage", tokens=tiny.CONTEXT, tokens_per_turn=300, siblings=G)
    (folder / "spec.json").write_text(spec.text())
    (folder / "agent.py").write_text(
        "from auto_research_openrlhf.executor.agent import AgentExecutor as AgentExecutor\n"
    )
    flags: Mapping[str, Any] = {
        "actor.model_name_or_path": model,
        "actor.adam.lr": 1e-3,
        "train.agent_func_path": "agent.py",
        "train.batch_size": SAMPLES,
        "rollout.batch_size": PROMPTS,
        "rollout.n_samples_per_prompt": G * tiny.LENGTH,
        "rollout.micro_batch_size": 4,
        "data.prompt_dataset": model / "rows.jsonl",
        "data.label_key": "label",
        "data.max_len": tiny.CONTEXT,
        "data.max_samples": STEPS * PROMPTS,
        "algo.advantage.estimator": "dr_grpo",
        "algo.advantage.is_correction_level": "token",
        "algo.kl.init_coef": 0.0,
        "ckpt.path": folder / "checkpoints",
        "ckpt.output_dir": folder / "model",
    }
    words = [str(part) for name, value in flags.items() for part in (f"--{name}", value)]
    done = subprocess.run(
        [sys.executable, "-m", "auto_research_openrlhf.on_cpu", *words],
        cwd=folder,
        env={**os.environ, "AUTO_RESEARCH_SPEC": str(folder / "spec.json")},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    lines = [line for line in done.stdout.splitlines() if line.startswith('{"')]
    steps = [json.loads(line) for line in lines]
    print(*lines, sep="\n")
    return Done(steps, rows_in(folder / "storage"), model, folder / "model")


def test_every_step_has_all_its_samples_and_no_fault(job: Done) -> None:
    assert [step["step"] for step in job.steps] == list(range(1, STEPS + 1))
    assert {step["samples"] for step in job.steps} == {SAMPLES}
    assert {step["fault"] for step in job.steps} == {0.0}
    assert len(job.rows) == STEPS * SAMPLES and not any(row.error for row in job.rows)


def test_what_is_trained_on_is_what_the_engine_generated(job: Done) -> None:
    masked = sum(step["action_tokens"] for step in job.steps)
    assert masked == sum(row.generated for row in job.rows)


def test_the_actor_gives_the_engines_tokens_the_engines_probabilities(job: Done) -> None:
    """Were one token out of place, they would be nats apart."""
    assert all(step["engine_apart"] < 0.05 for step in job.steps)


def _silent(row: EpisodeRow) -> bool:
    return any(line.text.startswith("a reply without code") for line in row.transcript)


def test_rewards_are_the_papers_and_advantages_those_of_their_groups(job: Done) -> None:
    groups: dict[Any, list[EpisodeRow]] = defaultdict(list)
    chains: dict[Any, list[EpisodeRow]] = defaultdict(list)
    for row in sorted(job.rows, key=lambda row: row.position):
        groups[row.group, row.position].append(row)
        chains[row.group, row.sibling].append(row)
    assert len(chains) == STEPS * PROMPTS * G
    for first, second in chains.values():
        # Every skill is one of the chain's, whose library began empty.
        used = any(use.called and use.helped for use in second.uses)
        both = bool(first.success and second.success)
        assert first.reward == (-1.0 if _silent(first) else bool(first.success) + (both and used))
        assert second.reward == (-1.0 if _silent(second) else bool(second.success) * (1.0 + used))
    for rows in groups.values():
        mean = sum(row.reward or 0.0 for row in rows) / G
        assert len(rows) == G
        for row in rows:
            assert row.advantage == pytest.approx((row.reward or 0.0) - mean, abs=1e-5)
    assert sum(step["raw_reward"] for step in job.steps) / STEPS == pytest.approx(
        sum(row.reward or 0.0 for row in job.rows) / len(job.rows), abs=1e-4
    )


def test_groups_vary_skills_are_used_and_the_policy_changes(job: Done) -> None:
    import torch
    from safetensors.torch import load_file

    assert len({row.reward for row in job.rows}) > 1
    assert any(use.called and use.helped for row in job.rows for use in row.uses)
    learned = [step for step in job.steps if step["grad_norm"] > 0]
    assert learned and all(step["gain"] > 0 for step in learned)
    before, after = (load_file(p / "model.safetensors") for p in (job.before, job.after))
    assert before.keys() == after.keys()
    assert any(not torch.equal(before[name], after[name]) for name in before)
