"""Tokens a second in sampling and in training: ours against TRL's GRPOTrainer, on one machine.

    python benchmarks/training_speed.py --trl-python /elsewhere/bin/python

Both sides train a decoder of the same width, depth, heads and vocabulary (and about as many
weights: Qwen2's gated feed-forward part gets 8/3 of the width) in float32, with as many threads.
An iteration samples as many completions of as many tokens after as long prompts, in groups, none
of which ends early; then takes one optimizer step over all of them in equal micro-batches. Each
side runs in a fresh process, in turns; the medians are compared. TRL needs an environment that has
`trl` (pip install torch trl); what is timed there is `_generate` (sampling) and a whole training
step less the making of its batch (training).

Not equal: TRL draws, decodes and pads as a general trainer must, and logs more figures.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from typing import Any

SEED = 7
TARGET = 2.0
now = time.perf_counter


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--trl-python", default=sys.executable, help="an environment with trl")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--iterations", type=int, default=3, help="timed, after one that is not")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--groups", type=int, default=12)
    parser.add_argument("--siblings", type=int, default=8)
    parser.add_argument("--micro-batch", type=int, default=32)
    parser.add_argument("--prompt", type=int, default=60, help="tokens")
    parser.add_argument("--completion", type=int, default=60, help="tokens")
    parser.add_argument("--width", type=int, default=96)
    parser.add_argument("--layers", type=int, default=3)
    parser.add_argument("--heads", type=int, default=4)
    parser.add_argument("--words", type=int, default=72)
    parser.add_argument(
        "--cpu-time", action="store_true", help="seconds of CPU, for a machine that is busy"
    )
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--side", choices=("ours", "trl"), help=argparse.SUPPRESS)
    return parser.parse_args()


def prompts(asked: argparse.Namespace) -> list[list[int]]:
    """A prompt a group; the first two words of the vocabulary are padding and the end."""
    rng = random.Random(SEED)
    return [
        [rng.randrange(2, asked.words) for _ in range(asked.prompt)] for _ in range(asked.groups)
    ]


def figures(asked: argparse.Namespace, sampling: float, training: float) -> dict[str, float]:
    """Rates, of seconds that all timed iterations took."""
    count = asked.iterations * asked.groups * asked.siblings
    return {
        "sampled": count * asked.completion / sampling,
        "trained": count * (asked.prompt + asked.completion) / training,
    }


def ours(asked: argparse.Namespace) -> dict[str, float]:
    """Prompts without a world: nothing answers, and nothing ends a completion but its length."""
    import torch

    from auto_research.agent_research.agents.micro.model import Model, Shape
    from auto_research.agent_research.agents.micro.sampler import Request, sample
    from auto_research.training.grpo import Objective, finite_step, policy_loss, token_log_probs

    class Silent:
        done = False

        def hear(self, token: int) -> int | None:
            return None

    torch.set_num_threads(asked.threads)
    shape = Shape(asked.words, asked.width, asked.layers, asked.heads)
    model = Model(shape, torch.Generator().manual_seed(SEED))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    texts = [text for text in prompts(asked) for _ in range(asked.siblings)]
    rng = random.Random(SEED)

    def iteration() -> tuple[float, float]:
        begun = now()
        requests = [Request(text, Silent(), random.Random(rng.random())) for text in texts]
        sampled = sample(model, requests, 1.0, asked.completion)
        between = now()
        tokens = torch.tensor([[*t, *s.tokens] for t, s in zip(texts, sampled, strict=True)])
        old = torch.zeros(len(texts), asked.prompt + asked.completion - 1)
        old[:, asked.prompt - 1 :] = torch.tensor([s.log_probs for s in sampled])
        mask = torch.zeros_like(old)
        mask[:, asked.prompt - 1 :] = 1
        advantages = torch.tensor([rng.gauss(0, 1) for _ in texts])
        for start in range(0, len(texts), asked.micro_batch):
            rows = slice(start, start + asked.micro_batch)
            log_probs, _ = token_log_probs(model(tokens[rows, :-1]), tokens[rows])
            loss, _ = policy_loss(
                log_probs, old[rows], advantages[rows], mask[rows], Objective(), whole=len(texts)
            )
            loss.backward()
        finite_step(optimizer, model.parameters(), 1.0)
        return between - begun, now() - between

    iteration()
    timed = [iteration() for _ in range(asked.iterations)]
    return {
        **figures(asked, *(sum(part) for part in zip(*timed, strict=True))),
        "weights": float(sum(part.numel() for part in model.parameters())),
    }


def trl(asked: argparse.Namespace) -> dict[str, float]:
    """`GRPOTrainer` as it comes, but for what would slow it down here: gradient checkpointing."""
    import torch
    from datasets import Dataset
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast, Qwen2Config, Qwen2ForCausalLM
    from trl import GRPOConfig, GRPOTrainer

    torch.set_num_threads(asked.threads)
    torch.manual_seed(SEED)
    words = Tokenizer(models.WordLevel({f"w{n}": n for n in range(asked.words)}, unk_token="w2"))
    words.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    special = {"pad_token": "w0", "eos_token": "w1", "unk_token": "w2"}
    heads = {"num_attention_heads": asked.heads, "num_key_value_heads": asked.heads}
    shape = Qwen2Config(
        vocab_size=asked.words,
        hidden_size=asked.width,
        intermediate_size=asked.width * 8 // 3,
        num_hidden_layers=asked.layers,
        max_position_embeddings=512,
        tie_word_embeddings=False,
        pad_token_id=0,
        eos_token_id=1,
        **heads,
    )
    micro_batches = asked.groups * asked.siblings // asked.micro_batch
    seconds = {"sampling": 0.0, "batch": 0.0, "whole": 0.0}
    with tempfile.TemporaryDirectory() as scratch:
        config = GRPOConfig(
            output_dir=scratch,
            per_device_train_batch_size=asked.micro_batch,
            gradient_accumulation_steps=micro_batches,
            num_generations=asked.siblings,
            max_completion_length=asked.completion,
            generation_kwargs={"min_new_tokens": asked.completion},
            max_steps=asked.iterations + 1,
            learning_rate=1e-4,
            gradient_checkpointing=False,
            bf16=False,
            use_cpu=True,
            report_to=[],
            save_strategy="no",
            logging_strategy="no",
            disable_tqdm=True,
        )
        trainer = GRPOTrainer(
            Qwen2ForCausalLM(shape),
            lambda prompts, completions, **_: [random.random() for _ in prompts],
            args=config,
            train_dataset=Dataset.from_list(
                [{"prompt": " ".join(f"w{n}" for n in text)} for text in prompts(asked)]
            ),
            processing_class=PreTrainedTokenizerFast(tokenizer_object=words, **special),
        )
        for name, part in (
            ("_generate", "sampling"),
            ("_generate_and_score_completions", "batch"),
            ("training_step", "whole"),
        ):
            setattr(trainer, name, _timed(getattr(trainer, name), seconds, part))
        optimizing = _Steps(seconds)
        trainer.add_callback(optimizing.callback())
        trainer.train()
    weights = sum(part.numel() for part in trainer.model.parameters())
    training = seconds["whole"] - seconds["batch"] + optimizing.seconds
    return {**figures(asked, seconds["sampling"], training), "weights": float(weights)}


class _Steps:
    """The optimizer's own time, which `training_step` has no part of, and the warm-up's end."""

    def __init__(self, seconds: dict[str, float]) -> None:
        self._all, self.seconds, self.begun = seconds, 0.0, 0.0

    def callback(self) -> Any:
        from transformers import TrainerCallback

        outer = self

        class Clock(TrainerCallback):
            def on_pre_optimizer_step(self, *_: Any, **__: Any) -> None:
                outer.begun = now()

            def on_optimizer_step(self, *_: Any, **__: Any) -> None:
                outer.seconds += now() - outer.begun

            def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
                if state.global_step == 1:
                    outer._all.update(dict.fromkeys(outer._all, 0.0))
                    outer.seconds = 0.0

        return Clock()


def _timed(
    function: Callable[..., Any], seconds: dict[str, float], name: str
) -> Callable[..., Any]:
    def wrapped(*arguments: Any, **named: Any) -> Any:
        begun = now()
        try:
            return function(*arguments, **named)
        finally:
            seconds[name] += now() - begun

    return wrapped


def measured(asked: argparse.Namespace, side: str) -> dict[str, float]:
    """One side in a fresh process."""
    python = asked.trl_python if side == "trl" else sys.executable
    done = subprocess.run(
        [python, *sys.argv, "--side", side], stdout=subprocess.PIPE, text=True, check=True
    )
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


def main() -> None:
    global now
    asked = options()
    if asked.cpu_time:
        now = time.process_time
    if asked.groups * asked.siblings % asked.micro_batch:
        sys.exit("groups times siblings must be a multiple of the micro-batch")
    if asked.side:
        print(json.dumps({"ours": ours, "trl": trl}[asked.side](asked)))
        return
    rounds = [
        {side: measured(asked, side) for side in ("ours", "trl")} for _ in range(asked.rounds)
    ]
    medians = {
        side: {name: statistics.median(r[side][name] for r in rounds) for name in rounds[0][side]}
        for side in ("ours", "trl")
    }
    ratios = {name: medians["ours"][name] / medians["trl"][name] for name in ("sampled", "trained")}
    if asked.json:
        print(json.dumps({"rounds": rounds, "medians": medians, "ratios": ratios}))
    else:
        for name, ratio in ratios.items():
            mine, theirs = medians["ours"][name], medians["trl"][name]
            print(f"{name}: ours {mine:,.0f} tokens/s, TRL {theirs:,.0f}, ratio {ratio:.2f}")
        mine, theirs = medians["ours"]["weights"], medians["trl"]["weights"]
        print(f"weights: ours {mine:,.0f}, TRL {theirs:,.0f}")
    if min(ratios.values()) < TARGET:
        sys.exit(f"below {TARGET} times TRL")


if __name__ == "__main__":
    main()
