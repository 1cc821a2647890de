"""TRL's side of training_speed.py: a `GRPOTrainer` of the same size, its parts under clocks."""

from __future__ import annotations

import argparse
import random
import tempfile
from collections.abc import Callable
from functools import partial
from typing import Any


def trl(
    asked: argparse.Namespace, work: Any, now: Callable[[], float], seed: int
) -> dict[str, float]:
    """`GRPOTrainer` as it comes, but for what would slow it down here: gradient checkpointing."""
    import torch
    from datasets import Dataset
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast, Qwen2Config, Qwen2ForCausalLM
    from trl import GRPOConfig, GRPOTrainer

    torch.set_num_threads(asked.threads)
    torch.manual_seed(seed)
    words = Tokenizer(models.WordLevel({f"w{n}": n for n in range(work.words)}, unk_token="w2"))
    words.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    special = {"pad_token": "w0", "eos_token": "w1", "unk_token": "w2"}
    heads = {"num_attention_heads": asked.heads, "num_key_value_heads": asked.heads}
    shape = Qwen2Config(
        vocab_size=work.words,
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
            max_completion_length=max(work.lengths),
            shuffle_dataset=False,
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
        model = Qwen2ForCausalLM(shape)
        model.generate = partial(model.generate, logits_processor=[_ends_after(work.lengths)])
        trainer = GRPOTrainer(
            model,
            lambda prompts, completions, **_: [random.random() for _ in prompts],
            args=config,
            train_dataset=Dataset.from_list(
                [{"prompt": " ".join(f"w{n}" for n in text)} for text in work.prompts]
            ),
            processing_class=PreTrainedTokenizerFast(tokenizer_object=words, **special),
        )
        for name, part in (
            ("_generate", "sampling"),
            ("_generate_and_score_completions", "batch"),
            ("training_step", "whole"),
        ):
            setattr(trainer, name, _timed(getattr(trainer, name), seconds, part, now))
        trainer._generate_and_score_completions = _checked(
            trainer._generate_and_score_completions, sum(work.lengths)
        )
        optimizing = _Steps(seconds, now)
        trainer.add_callback(optimizing.callback())
        trainer.train()
    weights = sum(part.numel() for part in trainer.model.parameters())
    training = seconds["whole"] - seconds["batch"] + optimizing.seconds
    return {**work.rates(seconds["sampling"], training), "weights": float(weights)}


def _ends_after(lengths: list[int]) -> Callable[[Any, Any], Any]:
    """A logits processor: row n says the word 1, the end, as its lengths[n]-th and never before."""
    import torch

    last, begun = torch.tensor(lengths), {"at": 10**9}

    def process(tokens: Any, scores: Any) -> Any:
        said = tokens.shape[1] - begun["at"]
        if not 0 < said < int(last.max()):  # another generation begins
            begun["at"], said = tokens.shape[1], 0
        ends = last == said + 1
        scores[:, 1] = -torch.inf
        scores[ends] = -torch.inf
        scores[ends, 1] = 0.0
        return scores

    return process


def _checked(made: Callable[..., Any], expected: int) -> Callable[..., Any]:
    """Both sides must have sampled as much."""

    def wrapped(*arguments: Any, **named: Any) -> Any:
        batch = made(*arguments, **named)
        assert int(batch["completion_mask"].sum()) == expected
        return batch

    return wrapped


class _Steps:
    """The optimizer's own time, which `training_step` has no part of, and the warm-up's end."""

    def __init__(self, seconds: dict[str, float], now: Callable[[], float]) -> None:
        self._all, self._now = seconds, now
        self.seconds = self.begun = 0.0

    def callback(self) -> Any:
        from transformers import TrainerCallback

        outer = self

        class Clock(TrainerCallback):
            def on_pre_optimizer_step(self, *_: Any, **__: Any) -> None:
                outer.begun = outer._now()

            def on_optimizer_step(self, *_: Any, **__: Any) -> None:
                outer.seconds += outer._now() - outer.begun

            def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
                if state.global_step == 1:
                    outer._all.update(dict.fromkeys(outer._all, 0.0))
                    outer.seconds = 0.0

        return Clock()


def _timed(
    function: Callable[..., Any], seconds: dict[str, float], name: str, now: Callable[[], float]
) -> Callable[..., Any]:
    def wrapped(*arguments: Any, **named: Any) -> Any:
        begun = now()
        try:
            return function(*arguments, **named)
        finally:
            seconds[name] += now() - begun

    return wrapped
