"""What OpenRLHF and TRL compute of given rewards and log-probabilities, as fixtures for our tests.

python experiments/parity_vectors.py openrlhf            writes fixtures/training/openrlhf.json
python experiments/parity_vectors.py trl --check         compares what is there with the package

The packages' own code runs: `RemoteExperienceMaker.compute_advantages_and_returns`, `PolicyLoss`,
`compute_approx_kl` and `aggregate_loss`; `GRPOTrainer._generate_and_score_completions` and
`_compute_loss`. Of OpenRLHF only imports are stood in for (Ray, vLLM, DeepSpeed, PEFT), none of
which computes anything here. Each package needs an environment of its own:

    pip install torch==2.13.0 numpy aiohttp pylatexenc tqdm packaging transformers==5.15.0
    pip install --no-deps openrlhf==0.11.2          or:  pip install torch==2.13.0 trl==1.16.0
"""

from __future__ import annotations

import argparse
import json
import math
import random
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from types import SimpleNamespace
from typing import Any

FIXTURES = Path(__file__).resolve().parent.parent / "fixtures" / "training"
CLIPS = ((0.2, 0.2), (0.2, 0.28))
KL_WEIGHT = 0.05
ODD_GROUPS: dict[str, list[float | None]] = {
    "constant": [1.0, 1.0, 1.0, 1.0],
    "constant, not exact in float32": [0.45] * 8,
    "one sample": [1.0],
    "one of four is NaN": [1.0, math.nan, 0.0, 1.0],
    "one of four is None": [1.0, None, 0.0, 1.0],
    "one of four is infinite": [1.0, math.inf, 0.0, 1.0],
    "all but one are NaN": [1.0, math.nan, math.nan, math.nan],
}
Estimates = Callable[[str, Sequence[float | None]], list[float]]
Losses = Callable[[Mapping[str, Any], str, tuple[float, float]], Mapping[str, Any]]


def groups() -> list[list[float]]:
    """Finite groups that are not constant: SAGE's rewards, and continuous ones."""
    rng = random.Random(0)
    drawn = [[float(rng.choice((-1, 0, 1, 2))) for _ in range(size)] for size in (2, 4, 8, 16) * 3]
    drawn += [[round(rng.gauss(0, 2), 4) for _ in range(size)] for size in (2, 4, 8, 16) * 2]
    return [group for group in drawn if max(group) > min(group)]


def batches() -> list[dict[str, Any]]:
    """Log-probabilities of two policies and a reference, advantages, masks with gaps."""
    rng = random.Random(1)
    found = []
    for rows, length in ((1, 1), (2, 5), (4, 8), (6, 11)):
        spread = [[round(-rng.expovariate(0.7), 4) for _ in range(length)] for _ in range(rows)]
        batch: dict[str, Any] = {"log_probs": spread}
        for name, width in (("old", 0.3), ("reference", 0.5)):
            batch[name] = [[round(x + rng.gauss(0, width), 4) for x in row] for row in spread]
        batch["advantages"] = [round(rng.gauss(0, 1), 4) for _ in range(rows)]
        batch["mask"] = [[1] + [int(rng.random() < 0.6) for _ in row[1:]] for row in spread]
        found.append(batch)
    return found


def odd_batches() -> dict[str, dict[str, Any]]:
    """The second batch with something wrong in it."""
    whole = batches()[2]
    empty = {**whole, "mask": [[0] * 8, *whole["mask"][1:]]}
    nothing = {**whole, "mask": [[0] * 8] * 4}
    lost = {**whole, "old": [[math.nan, *whole["old"][0][1:]], *whole["old"][1:]]}
    padded = {**lost, "mask": [[0, *whole["mask"][0][1:]], *whole["mask"][1:]]}
    unjudged = {**whole, "advantages": [math.nan, *whole["advantages"][1:]]}
    far = {**whole, "old": [[-120.0, *whole["old"][0][1:]], *whole["old"][1:]]}
    return {
        "one completion is empty": empty,
        "every completion is empty": nothing,
        "an old log-probability is NaN": lost,
        "the same, where the mask is 0": padded,
        "an advantage is NaN": unjudged,
        "a ratio of exp(100) and more": far,
    }


def openrlhf_functions() -> tuple[list[str], Estimates, list[str], Losses]:
    """What 0.11.2 calls its estimators and losses, and what computes them."""
    _stand_in()
    import torch
    from openrlhf.models.loss import PolicyLoss, aggregate_loss
    from openrlhf.models.utils import compute_approx_kl
    from openrlhf.trainer.ppo_utils.experience import Experience
    from openrlhf.trainer.ppo_utils.experience_maker import RemoteExperienceMaker

    def estimates(estimator: str, rewards: Sequence[float | None]) -> list[float]:
        maker = RemoteExperienceMaker.__new__(RemoteExperienceMaker)
        maker.advantage_estimator, maker.kl_ctl = estimator, SimpleNamespace(value=0.0)
        penalties = {"overlong_buffer_len": None, "stop_properly_penalty_coef": None}
        advantage = SimpleNamespace(estimator=estimator, gamma=1.0, lambd=1.0, no_std_norm=False)
        maker.args = SimpleNamespace(
            rollout=SimpleNamespace(n_samples_per_prompt=len(rewards), max_new_tokens=None),
            data=SimpleNamespace(max_len=4),
            reward=SimpleNamespace(clip_range=(-10, 10), **penalties),
            algo=SimpleNamespace(advantage=advantage),
        )
        maker.strategy = SimpleNamespace(args=maker.args)
        samples = [
            Experience(
                index=[number],
                rewards=torch.tensor([reward], dtype=torch.float32),
                action_mask=torch.tensor([[0, 1, 1, 0]]),
                kl=torch.zeros(1, 4),
                info={"reward": torch.tensor([0.0])},
                response_length=torch.tensor([2]),
                truncated=torch.tensor([False]),
            )
            for number, reward in enumerate(rewards)
        ]
        made = maker.compute_advantages_and_returns(samples)
        return [float(sample.advantages[0, 1]) for sample in made]

    def losses(batch: Mapping[str, Any], kind: str, clip: tuple[float, float]) -> Mapping[str, Any]:
        how, _, kl = kind.partition(" + ")
        tensors = _tensors(batch)
        now, mask = tensors["log_probs"], tensors["mask"]
        objective = PolicyLoss(*clip, token_level_loss=how == "token-mean")
        advantages = tensors["advantages"][:, None].expand_as(now)
        loss, clipped, moved, *_ = objective(now, tensors["old"], advantages, action_mask=mask)
        if kl:
            estimate = compute_approx_kl(now, tensors["reference"], kl_estimator=kl)
            loss = loss + KL_WEIGHT * aggregate_loss(estimate, mask)
        return _outcome(loss, now, clip_fraction=clipped.detach(), approx_kl=moved.detach())

    kinds = ["token-mean", "sequence-mean", *(f"token-mean + {kl}" for kl in ("k1", "k2", "k3"))]
    return ["group_norm", "dr_grpo", "rloo"], estimates, kinds, losses


def trl_functions() -> tuple[list[str], Estimates, list[str], Losses]:
    """What TRL calls its estimators (`scale_rewards`) and losses (`loss_type`)."""
    import torch
    from datasets import Dataset
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast, Qwen2Config, Qwen2ForCausalLM
    from trl import GRPOConfig, GRPOTrainer

    words = Tokenizer(models.WordLevel({f"w{n}": n for n in range(16)}, unk_token="w2"))
    words.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    special = {"pad_token": "w0", "eos_token": "w1", "unk_token": "w2"}
    sizes = {"vocab_size": 16, "hidden_size": 16, "intermediate_size": 16}
    depth = {"num_hidden_layers": 1, "num_attention_heads": 2, "num_key_value_heads": 2}
    model = Qwen2ForCausalLM(Qwen2Config(**sizes, **depth, pad_token_id=0, eos_token_id=1))
    scratch = tempfile.mkdtemp()

    def trainer(size: int, **options: Any) -> Any:
        config = GRPOConfig(
            output_dir=scratch,
            per_device_train_batch_size=size,
            num_generations=size,
            max_completion_length=2,
            report_to=[],
            use_cpu=True,
            **options,
        )
        return GRPOTrainer(
            model,
            lambda prompts, completions, reward, **_: reward,
            args=config,
            train_dataset=Dataset.from_list([{"prompt": "w3 w4"}]),
            processing_class=PreTrainedTokenizerFast(tokenizer_object=words, **special),
        )

    def estimates(scale: str, rewards: Sequence[float | None]) -> list[float]:
        made = trainer(len(rewards), scale_rewards=scale)
        inputs = [{"prompt": "w3 w4", "reward": reward} for reward in rewards]
        found: list[float] = made._generate_and_score_completions(inputs)["advantages"].tolist()
        return found

    def losses(batch: Mapping[str, Any], kind: str, clip: tuple[float, float]) -> Mapping[str, Any]:
        how, _, kl = kind.partition(" + ")
        made = trainer(2, loss_type=how, epsilon=clip[0], epsilon_high=clip[1])
        made.beta = KL_WEIGHT if kl else 0.0  # as an option it would load the reference by name
        made.current_gradient_accumulation_steps = 1
        tensors = _tensors(batch)
        now, mask = tensors["log_probs"], tensors["mask"].long()
        given = (now, torch.zeros_like(now), None)
        made._get_per_token_logps_and_entropies = lambda *_, **__: given
        prompt = torch.zeros(len(mask), 1, dtype=torch.long)
        inputs = {
            "prompt_ids": prompt,
            "prompt_mask": prompt + 1,
            "completion_ids": torch.zeros_like(mask),
            "completion_mask": mask,
            "advantages": tensors["advantages"],
            "old_per_token_logps": tensors["old"],
            "ref_per_token_logps": tensors["reference"],
            "num_items_in_batch": mask.sum(),
        }
        loss = made._compute_loss(made.model, inputs)
        clipped = made._metrics["train"]["clip_ratio/region_mean"][-1]
        return _outcome(loss, now, clip_fraction=clipped)

    return ["group", "none"], estimates, ["grpo", "bnpo", "dapo", "grpo + k3", "bnpo + k3"], losses


def vectors(package: str) -> dict[str, Any]:
    """Everything the package computes of our inputs."""
    functions = {"openrlhf": openrlhf_functions, "trl": trl_functions}[package]
    estimators, estimates, kinds, losses = functions()
    return {
        "versions": {name: version(name) for name in (package, "torch")},
        "kl_weight": KL_WEIGHT,
        "groups": [
            {"rewards": group, "advantages": {e: estimates(e, group) for e in estimators}}
            for group in groups()
        ],
        "odd_groups": [
            {
                "name": name,
                "rewards": group,
                "advantages": {e: _or_error(estimates, e, group) for e in estimators},
            }
            for name, group in ODD_GROUPS.items()
        ],
        "batches": [
            {**batch, "clip": clip, "losses": {kind: losses(batch, kind, clip) for kind in kinds}}
            for batch in batches()
            for clip in CLIPS
        ],
        "odd_batches": [
            {
                "name": name,
                **batch,
                "clip": CLIPS[0],
                "losses": {kind: _or_error(losses, batch, kind, CLIPS[0]) for kind in kinds[:2]},
            }
            for name, batch in odd_batches().items()
        ],
    }


def _tensors(batch: Mapping[str, Any]) -> dict[str, Any]:
    import torch

    names = ("log_probs", "old", "reference", "advantages", "mask")
    made = {name: torch.tensor(batch[name], dtype=torch.float32) for name in names}
    made["log_probs"].requires_grad_()
    return made


def _outcome(loss: Any, log_probs: Any, **figures: Any) -> dict[str, Any]:
    loss.backward()
    numbers = {name: float(number) for name, number in figures.items()}
    return {"loss": loss.item(), "gradient": log_probs.grad.tolist(), **numbers}


def _or_error(function: Callable[..., Any], *arguments: Any) -> Any:
    try:
        return function(*arguments)
    except (TypeError, ValueError, RuntimeError) as error:
        return {"raises": type(error).__name__}


def _stand_in() -> None:
    """Let OpenRLHF's numeric modules be imported without the cluster software."""
    import importlib.machinery
    import importlib.util
    import types
    from unittest.mock import MagicMock

    away = "ray ray.util ray.util.placement_group ray.util.scheduling_strategies vllm vllm.inputs"
    away += " vllm.utils deepspeed peft peft.tuners peft.tuners.lora"
    for name in away.split():
        sys.modules[name] = MagicMock()
        sys.modules[name].__spec__ = importlib.machinery.ModuleSpec(name, None)
    sys.modules["ray"].remote = lambda *a, **_: a[0] if a and callable(a[0]) else lambda c: c
    found = importlib.util.find_spec("openrlhf")
    assert found is not None and found.submodule_search_locations is not None
    root = found.submodule_search_locations[0]
    for name, below in (("openrlhf.models", "models"), ("openrlhf.trainer.ray", "trainer/ray")):
        sys.modules[name] = types.ModuleType(name)  # without what its __init__ imports
        sys.modules[name].__path__ = [f"{root}/{below}"]
    sys.modules["openrlhf.trainer.ray.launcher"] = MagicMock()


def same(a: Any, b: Any) -> bool:
    """Equal but for the last digits of numbers (NaN equals NaN)."""
    if isinstance(a, Mapping):
        return isinstance(b, Mapping) and a.keys() == b.keys() and all(same(a[k], b[k]) for k in a)
    if isinstance(a, list | tuple):
        return isinstance(b, list | tuple) and len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, float) and isinstance(b, float | int):
        return (math.isnan(a) and math.isnan(b)) or math.isclose(a, b, rel_tol=1e-6, abs_tol=1e-6)
    return bool(a == b)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("package", choices=("openrlhf", "trl"))
    parser.add_argument("--check", action="store_true", help="compare, write nothing")
    asked = parser.parse_args()
    path, computed = FIXTURES / f"{asked.package}.json", vectors(asked.package)
    if not asked.check:
        path.write_text(json.dumps(computed) + "\n")
    elif not same(json.loads(path.read_text()), json.loads(json.dumps(computed))):
        sys.exit(f"{path.name} does not hold what {computed['versions']} computes")


if __name__ == "__main__":
    main()
