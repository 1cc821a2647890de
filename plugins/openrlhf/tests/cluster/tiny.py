"""Makes a tiny model that does some AppWorld tasks some of the time, so that groups vary.

A random model earns the same -1 in every sibling and learns nothing. This one, of a million
parameters, is shown the reference programs of a few train tasks, in exactly the conversations
that the executor holds, until it would give each of them about half the time. Tokenizer, data and
weights are all made here. Run it in the cluster's environment:

    python tiny.py FOLDER
"""

from __future__ import annotations

import asyncio
import json
import math
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from auto_research_openrlhf.executor.node import Node
from auto_research_openrlhf.label import Label
from auto_research_openrlhf.spec import Spec
from executor_engine import Bytes, Engine, Params, code

from auto_research.agent_research.agents.llm.code import defined
from auto_research.agent_research.method import load_method
from auto_research.benchmarks.base import Referenced, Scenario
from auto_research.hookspecs import BenchmarkOptions
from auto_research.plugins import load_plugins

BENCHMARK, SEED, SCENARIOS, LENGTH = "appworld-mini", 7, 2, 2
VOCABULARY, CONTEXT = 3000, 1024
LIKELY = 0.5  # how likely a program is to be given as it was shown
Sample = dict[str, Any]


def scenarios() -> tuple[Any, Sequence[Scenario]]:
    """The benchmark, and the scenarios whose programs are the shortest."""
    benchmark: Any = load_plugins().benchmarks[BENCHMARK].value(BenchmarkOptions())
    found = benchmark.scenarios("train", SEED)
    return benchmark, sorted(
        found, key=lambda s: sum(len(program(benchmark, task)) for task in s.tasks)
    )[:SCENARIOS]


def program(benchmark: Referenced, task: Any) -> str:
    """A task's reference program, without comments."""
    lines = benchmark.reference(task).splitlines()
    return "\n".join(line for line in lines if line.strip() and not line.startswith("#"))


def chain(scenario: Scenario, order: Sequence[int], row: int) -> str:
    """The label of a chain over a scenario's tasks in some order."""
    return Label(
        benchmark=BENCHMARK,
        split="train",
        seed=SEED,
        limit=None,
        row=row,
        scenario=scenario.id,
        tasks=[scenario.tasks[n].id for n in order],
        chain_length=len(order),
    ).text()


def teacher(benchmark: Any, picked: Sequence[Scenario]) -> Callable[[str], str]:
    """Does each task as its program does, with the functions that it was given where it was."""
    programs = {t.instruction: program(benchmark, t) for s in picked for t in s.tasks}

    def script(prompt: str) -> str:
        told = next(p for words, p in programs.items() if f"The task: {words}" in prompt)
        opening = prompt.rpartition("<|im_start|>user")[2]
        given = defined(opening.partition("```python")[2].partition("```")[0])
        for name, node in defined(told).items():
            if name in given:
                lines = told.splitlines()
                first, last = node.lineno - 1, int(node.end_lineno or 0)
                told = "\n".join(line for line in [*lines[:first], *lines[last:]])
        return code(told)

    return script


def spec(storage: Path, **more: Any) -> Spec:
    """A training of sage-paper on those tasks."""
    method = load_method("sage-paper", load_plugins())
    return Spec(
        **{
            "run": "tiny",
            "method": method.to_dict(),
            "method_hash": method.content_hash(),
            "benchmark": BENCHMARK,
            "seed": 0,
            "model": "tiny",
            "chain_length": LENGTH,
            "siblings": 4,
            "tokens": 100_000,
            "tokens_per_turn": 20_000,
            "turns": 2,
            "storage": str(storage),
            "worlds": 2,
            **more,
        }
    )


async def shown(node: Node, tokenizer: Any, script: Any, labels: Sequence[str]) -> list[Sample]:
    """The teacher's conversations, as samples. Raises RuntimeError if it fails a task."""
    samples: list[Sample] = []
    for label in labels:
        engine, params = _Speaking(script, tokenizer), Params()
        calls = [
            node.sample("", label, params, 100_000, tokenizer, engine) for _ in range(LENGTH)
        ]
        samples += await asyncio.gather(*calls)
    failed = [sample for sample in samples if not sample["scores"]]
    if failed:
        raise RuntimeError(f"the teacher failed: {failed[0]['label']}")
    return samples


class _Speaking(Engine):
    """The scripted engine, in a tokenizer's own tokens."""

    def __init__(self, script: Any, tokenizer: Any) -> None:
        super().__init__(script)
        self._tokenizer = tokenizer

    async def generate(self, ids: Sequence[int], params: Params) -> Any:
        from types import SimpleNamespace

        text = self.script(self._tokenizer.decode(ids))
        found = [
            *self._tokenizer(text=text, add_special_tokens=False)["input_ids"],
            self._tokenizer.eos_token_id,
        ]
        output = SimpleNamespace(token_ids=found, text=text, logprobs=None, finish_reason="stop")
        return SimpleNamespace(outputs=[output])


def tokenizer_of(texts: Sequence[str]) -> Any:
    """A byte-level BPE that learns whole lines, so that a prompt is short."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast

    made = Tokenizer(models.BPE())
    made.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split("\n", "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    made.decoder = decoders.ByteLevel()
    special = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
    trainer = trainers.BpeTrainer(
        vocab_size=VOCABULARY,
        special_tokens=special,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    made.train_from_iterator(texts, trainer)
    fast = PreTrainedTokenizerFast(
        tokenizer_object=made,
        eos_token="<|im_end|>",
        pad_token="<|endoftext|>",
        additional_special_tokens=["<|im_start|>"],
    )
    fast.chat_template = (
        "{% for m in messages %}<|im_start|>{{ m['role'] }}\n{{ m['content'] }}<|im_end|>\n"
        "{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
    )
    return fast


def trained(tokenizer: Any, samples: Sequence[Sample], *, most: int = 400) -> Any:
    """A model that gives the replies in `samples` about as often as LIKELY says."""
    import torch
    from transformers import Qwen2Config, Qwen2ForCausalLM

    torch.manual_seed(0)
    torch.set_num_threads(1)
    config = Qwen2Config(
        vocab_size=VOCABULARY + 8,
        hidden_size=96,
        intermediate_size=192,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=CONTEXT,
        tie_word_embeddings=True,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
        bos_token_id=None,
    )
    model = Qwen2ForCausalLM(config)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    rows = [(torch.tensor([s["observation_tokens"]]), s["action_ranges"]) for s in samples]
    for step in range(most):
        chances = []
        for ids, ranges in rows:
            log_probs = torch.log_softmax(model(ids[:, :-1]).logits[0], -1)
            taken = log_probs.gather(1, ids[0, 1:, None])[:, 0]
            mine = torch.cat([taken[a - 1 : b - 1] for a, b in ranges])
            (-mine.mean() / len(rows)).backward()
            chances.append(math.exp(float(mine.sum())))
        likely = sum(chances) / len(chances)
        if step % 10 == 0:
            print(f"step {step}: replies as shown {likely:.3f}", file=sys.stderr, flush=True)
        if likely >= LIKELY:
            return model.to(torch.bfloat16)
        optimizer.step()
        optimizer.zero_grad()
    raise RuntimeError(f"after {most} steps the replies are as shown with {likely:.3f} only")


def main(folder: Path) -> None:
    """Make the model in `folder`, and the rows of its tasks in ``rows.jsonl``."""
    benchmark, picked = scenarios()
    labels = [
        chain(scenario, order, row)
        for row, (scenario, order) in enumerate(
            (s, (a, b)) for s in picked for a in range(3) for b in range(3) if a != b
        )
    ]
    script = teacher(benchmark, picked)
    node = Node(spec(folder / "teaching"))
    try:
        texts = [
            Bytes().decode(sample["observation_tokens"])
            for sample in asyncio.run(shown(node, Bytes(), script, labels))
        ]
        tokenizer = tokenizer_of(texts)
        samples = asyncio.run(shown(node, tokenizer, script, labels))
    finally:
        node.close()
    distinct = {tuple(s["observation_tokens"]): s for s in samples}
    longest = max(len(ids) for ids in distinct)
    print(f"{len(distinct)} conversations, the longest of {longest} tokens", file=sys.stderr)
    trained(tokenizer, list(distinct.values())).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    rows = [
        json.dumps({"input": f"chain {n}", "label": label, "datasource": BENCHMARK}) + "\n"
        for n, label in enumerate(labels)
    ]
    (folder / "rows.jsonl").write_text("".join(rows))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
