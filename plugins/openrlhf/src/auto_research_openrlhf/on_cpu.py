"""OpenRLHF's training loop on a machine without a GPU, to see whether everything holds together.

Takes the flags of `openrlhf.cli.train_ppo_ray`, read by the release's own parser, and runs what of
the release runs on a CPU: `RolloutRayActor` over vLLM for CPUs with the executor, the
`SamplesGenerator`, the `RemoteExperienceMaker`'s advantages, the `Actor`, the `PolicyLoss`. In
place of the rest stand AdamW in this process for DeepSpeed, and a file for the broadcast of
weights by NCCL. Only flash-attn is a stub. It says nothing of speed, memory or a GPU.

    python -m auto_research_openrlhf.on_cpu --train.agent_func_path agent.py ...
"""

from __future__ import annotations

import importlib.machinery
import json
import os
import random
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any
from unittest.mock import MagicMock

from auto_research_openrlhf.release import parser_of

WEIGHTS = "AUTO_RESEARCH_WEIGHTS"  # the file that stands for the broadcast
WORKER = "auto_research_openrlhf.cpu_worker.Weights"
ENGINE = {
    "VLLM_CPU_KVCACHE_SPACE": "1",
    "VLLM_LOGGING_LEVEL": "WARNING",
    "HF_HUB_OFFLINE": "1",
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
    "TOKENIZERS_PARALLELISM": "false",
}


def main(words: Sequence[str] | None = None) -> int:
    """Train as the flags say; a line of JSON a step on stdout."""
    args = nested(vars(parser_of("train_ppo_ray").parse_args(words)))
    told = "OpenRLHF's parts on a CPU, in the place of train_ppo_ray"
    print(f"on_cpu: {told}", file=sys.stderr, flush=True)
    for name, value in ENGINE.items():
        os.environ.setdefault(name, value)
    Path(args.ckpt.path).mkdir(parents=True, exist_ok=True)
    os.environ[WEIGHTS] = str(Path(args.ckpt.path).absolute() / "weights.safetensors")
    without_flash_attn()
    import ray

    # In a job its cluster's; else one of its own, whatever else may run on this machine.
    own = {} if os.environ.get("RAY_ADDRESS") else {"address": "local", "include_dashboard": False}
    env = {name: value for name, value in os.environ.items() if _travels(name)}
    ray.init(**own, runtime_env={"env_vars": env})
    try:
        Loop(args).run()
    finally:
        ray.shutdown()
    return 0


def nested(flat: dict[str, Any]) -> SimpleNamespace:
    """Options by dotted name as the release's modules see them: ``args.train.batch_size``."""
    root = SimpleNamespace()
    for name, value in flat.items():
        *path, last = name.split(".")
        part = root
        for step in path:
            if not hasattr(part, step):
                setattr(part, step, SimpleNamespace())
            part = getattr(part, step)
        setattr(part, last, value)
    return root


def without_flash_attn() -> None:
    """A stub for flash-attn, which the release imports and a CPU has no use for.

    What asks the system for it is imported before, so that it knows that there is none.
    """
    import deepspeed  # noqa: F401
    import peft  # noqa: F401
    import transformers  # noqa: F401

    for name in ("flash_attn", "flash_attn.bert_padding", "flash_attn.utils"):
        stub: Any = MagicMock()
        stub.__spec__ = importlib.machinery.ModuleSpec(name, None)
        sys.modules[name] = stub
    distributed: Any = ModuleType("flash_attn.utils.distributed")
    distributed.all_gather = MagicMock()
    sys.modules["flash_attn.utils.distributed"] = distributed


def _travels(name: str) -> bool:
    return name.startswith(("AUTO_RESEARCH", "VLLM_", "HF_", "PYTHONPATH", "TOKENIZERS"))


class Loop:
    """One training: rollouts, experiences, a step of the optimizer, weights back to the engine."""

    def __init__(self, args: SimpleNamespace) -> None:
        import torch
        from openrlhf.models import Actor, PolicyLoss
        from transformers import AutoTokenizer

        self.args, self.torch = args, torch
        torch.manual_seed(args.train.seed)
        self.step, start = _last_checkpoint(args)
        self.tokenizer = AutoTokenizer.from_pretrained(args.actor.model_name_or_path)
        self.actor = Actor(
            start,
            attn_implementation="eager",
            param_dtype=args.ds.param_dtype,
            temperature=args.rollout.temperature,
        )
        adam = args.actor.adam
        self.optimizer = torch.optim.AdamW(
            self.actor.parameters(), lr=adam.lr, betas=tuple(adam.betas), eps=adam.eps
        )
        low, high = args.actor.eps_clip_low_high or (args.actor.eps_clip,) * 2
        advantage = args.algo.advantage
        self.loss = PolicyLoss(
            clip_eps_low=low,
            clip_eps_high=high,
            dual_clip=args.actor.dual_clip,
            token_level_loss=args.actor.loss_agg_mode == "token-mean",
            policy_loss_type=args.actor.policy_loss_type,
            is_correction_level=advantage.is_correction_level,
            is_correction_mode=advantage.is_correction_mode,
            is_correction_gating=advantage.is_correction_gating,
            is_correction_threshold=advantage.is_correction_threshold,
        )
        self.engine = self._engine()
        self.generator = self._generator()
        self.maker = self._maker()

    def run(self) -> None:
        """Train until the prompts of all episodes are used up; evaluate and save on the way."""
        args = self.args
        if self.step:
            self._broadcast()
        per_pass = len(self.generator.prompts_dataloader) // args.rollout.batch_size
        while self.step < per_pass * args.train.num_episodes:
            since = time.monotonic()
            samples = self.generator.generate_samples(**self._sampling())[0]
            if not samples:
                continue
            figures = self._learn(samples)
            self.step += 1
            self._broadcast()
            figures |= {"step": self.step, "seconds": round(time.monotonic() - since, 1)}
            if args.eval.dataset and args.eval.steps > 0 and self.step % args.eval.steps == 0:
                figures |= self._evaluated()
            if args.ckpt.save_steps > 0 and self.step % args.ckpt.save_steps == 0:
                self._save(Path(args.ckpt.path) / f"step-{self.step:05d}")
            print(json.dumps(figures, sort_keys=True), flush=True)
        self._save(Path(args.ckpt.output_dir))

    def _engine(self) -> Any:
        from openrlhf.trainer.ray.vllm_engine import RolloutRayActor

        args, correcting = self.args, self.args.algo.advantage.is_correction_level != "off"
        modes = {"logprobs_mode": "processed_logprobs", "max_logprobs": 1} if correcting else {}
        return RolloutRayActor.options(num_cpus=1, num_gpus=0).remote(
            model=args.actor.model_name_or_path,
            enforce_eager=True,
            worker_extension_cls=WORKER,
            tensor_parallel_size=1,
            seed=args.train.seed,
            distributed_executor_backend="uni",
            max_model_len=args.data.max_len,
            enable_prefix_caching=True,
            dtype="bfloat16",
            trust_remote_code=True,
            full_determinism=False,
            bundle_indices=None,
            num_gpus=1,
            enable_sleep_mode=False,
            agent_func_path=str(Path(args.train.agent_func_path).absolute()),
            remote_rm_url=None,
            mm_pad_token_ids=set(),
            **modes,
        )

    def _generator(self) -> Any:
        from openrlhf.trainer.ppo_utils.samples_generator import SamplesGenerator

        args = self.args
        if args.rollout.vllm_generate_batch_size is None:
            args.rollout.vllm_generate_batch_size = args.rollout.batch_size
        train = self._prompts(args.data.prompt_dataset, args.data.max_samples)
        tests = self._prompts(args.eval.dataset, args.data.max_samples) if args.eval.dataset else []
        strategy = SimpleNamespace(args=args)
        made = SamplesGenerator(strategy, train, tests, self.tokenizer, [self.engine])
        done = self.step * args.rollout.batch_size
        made._dataloader_iter, made._sample_buffer = iter(train[done % max(1, len(train)) :]), []
        return made

    def _prompts(self, path: str, most: float) -> list[Any]:
        """The rows as the release's data loader gives them, one a batch, in a drawn order."""
        args = self.args
        lines = Path(path).read_text(encoding="utf-8").splitlines()[: int(most)]
        rows = [json.loads(line) for line in lines]
        random.Random(args.train.seed).shuffle(rows)
        return [
            (
                [row.get("datasource", "default")],
                [row[args.data.input_key]],
                [row[args.data.label_key]],
                [None],
            )
            for row in rows
        ]

    def _maker(self) -> Any:
        from openrlhf.trainer.ppo_utils.experience_maker import RemoteExperienceMaker

        args = self.args
        control = SimpleNamespace(value=args.algo.kl.init_coef)
        strategy = SimpleNamespace(args=args)
        return RemoteExperienceMaker(None, None, None, None, control, strategy, self.tokenizer)

    def _sampling(self) -> dict[str, Any]:
        rollout = self.args.rollout
        return {
            "max_len": self.args.data.max_len,
            "max_new_tokens": rollout.max_new_tokens,
            "temperature": rollout.temperature,
            "top_p": rollout.top_p,
        }

    def _learn(self, samples: Sequence[Any]) -> dict[str, float]:
        """One step of the optimizer on all samples; returns what it looked like."""
        torch, figures = self.torch, _means(samples)
        batches = self.maker.split_rollout_samples(list(samples))
        apart = []
        for batch in batches:
            with torch.no_grad():
                batch.action_log_probs = self._log_probs(batch)
            batch.kl = torch.zeros_like(batch.action_log_probs)
            if batch.rollout_log_probs is not None:
                away = (batch.action_log_probs - batch.rollout_log_probs).abs()
                apart.append((away * batch.action_mask).sum() / batch.action_mask.sum())
        batches = self.maker.compute_advantages_and_returns(batches)
        tokens = sum(batch.action_mask.sum() for batch in batches)
        count = sum(len(batch.sequences) for batch in batches)
        total, gained = 0.0, self._weighted(batches)
        for batch in batches:
            loss = self.loss(
                self._log_probs(batch),
                batch.action_log_probs,
                batch.advantages,
                action_mask=batch.action_mask,
                rollout_log_probs=batch.rollout_log_probs,
                batch_num_tokens=tokens,
                global_batch_size=count,
            )[0]
            loss.backward()
            total += loss.item()
        norm = torch.nn.utils.clip_grad_norm_(self.actor.parameters(), self.args.actor.max_norm)
        self.optimizer.step()
        self.optimizer.zero_grad()
        if apart:
            figures["engine_apart"] = float(sum(apart) / len(apart))
        return {
            **figures,
            "samples": float(count),
            "action_tokens": float(tokens),
            "loss": total,
            "grad_norm": float(norm),
            # What the step was for: replies with a positive advantage have become likelier.
            "gain": self._weighted(batches) - gained,
        }

    def _weighted(self, batches: Sequence[Any]) -> float:
        """Sum of advantage times log-probability over all actions."""
        with self.torch.no_grad():
            return sum(
                float((self._log_probs(b) * b.advantages * b.action_mask).sum()) for b in batches
            )

    def _log_probs(self, batch: Any) -> Any:
        return self.actor(batch.sequences, batch.action_mask, batch.attention_mask).float()

    def _broadcast(self) -> None:
        """The actor's weights to the engine, through its own `update_weight`."""
        import ray
        from safetensors.torch import save_file

        weights = {n: w.contiguous() for n, w in self.actor.model.state_dict().items()}
        if self.actor.model.config.tie_word_embeddings:
            weights.pop("lm_head.weight", None)
        save_file(weights, os.environ[WEIGHTS])
        for name, weight in weights.items():
            ray.get(self.engine.update_weight.remote(name, weight.dtype, tuple(weight.shape)))
        ray.get(self.engine.reset_prefix_cache.remote())

    def _evaluated(self) -> dict[str, float]:
        from openrlhf.trainer.ppo_trainer import compute_eval_metrics

        repeats = self.args.eval.n_samples_per_prompt
        told = {**self._sampling(), "temperature": self.args.eval.temperature}
        samples = self.generator.generate_eval_samples(**told, n_samples_per_prompt=repeats)
        metrics = compute_eval_metrics(self.generator.eval_dataloader, samples, repeats)
        return {**metrics, "eval_solved": _means(samples)["solved"]}

    def _save(self, folder: Path) -> None:
        self.actor.model.save_pretrained(folder)
        self.tokenizer.save_pretrained(folder)
        (folder / "step.json").write_text(json.dumps({"step": self.step}))


def _last_checkpoint(args: SimpleNamespace) -> tuple[int, str]:
    """The step to go on from, and its model."""
    found = sorted(Path(args.ckpt.path).glob("step-*/step.json"))
    if not found or not args.ckpt.load_enable:
        return 0, str(args.actor.model_name_or_path)
    return int(json.loads(found[-1].read_text())["step"]), str(found[-1].parent)


def _means(samples: Sequence[Any]) -> dict[str, float]:
    """The mean over samples of what the executor logs."""
    names = [name for name in samples[0].info if name != "response_clip_ratio"]
    return {n: sum(float(s.info[n].mean()) for s in samples) / len(samples) for n in names}


if __name__ == "__main__":
    sys.exit(main())
