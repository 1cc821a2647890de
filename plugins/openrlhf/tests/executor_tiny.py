"""Makes a tiny model that does some AppWorld tasks some of the time, so that groups vary.

A random model earns the same -1 in every sibling and learns nothing. This one, of a million
parameters, is shown the reference programs of a few train tasks, in exactly the conversations
that the executor holds, until it would give each of them about half the time. Tokenizer, data and
weights are all made here. Run it in the cluster's environment:

    python executor_tiny.py FOLDER
"""

from __future__ import annotations

import asyncio
import json
import math
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from auto_research_openrlhf.executor.node import Node
from auto_research_openrlhf.label import Label
from auto_research_openrlhf.spec import Spec
from executor_engine import Bytes, Engine, code, responses

from auto_research.agent_research.agents.llm.code import defined
from auto_research.agent_research.method import load_method
from auto_research.benchmarks.base import Referenced, Scenario
from auto_research.hookspecs import BenchmarkOptions
from auto_research.plugins import load_plugins

BENCHMARK, SEED, SCENARIOS, LENGTH = "appworld-mini", 7, 2, 2
TURNS = 2
VOCABULARY, CONTEXT = 3000, 1024
LIKELY = 0.5  # how likely a program is to be given as it was shown
Sample = dict[str, Any]
Shown = tuple[tuple[int, ...], tuple[tuple[int, int], ...]]  # tokens, and where the replies are


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
        lines = told.splitlines()
        for name, node in reversed(defined(told).items()):  # from the end, so that places hold
            if name in given:
                del lines[node.lineno - 1 : node.end_lineno]
        return code("\n".join(lines))

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
            "turns": TURNS,
            "storage": str(storage),
            "worlds": 2,
            **more,
        }
    )


async def shown(node: Node, script: Any, labels: Sequence[str]) -> list[Sample]:
    """The teacher's conversations, in bytes. Raises RuntimeError if it fails a task."""
    groups = [
        responses(node, Engine(script), "", label, LENGTH, max_length=100_000) for label in labels
    ]
    samples = [sample for group in await asyncio.gather(*groups) for sample in group]
    failed = [sample for sample in samples if not sample["scores"]]
    if failed:
        raise RuntimeError(f"the teacher failed: {failed[0]['label']}")
    return samples


def in_tokens(sample: Sample, tokenizer: Any) -> Shown:
    """A conversation in bytes as the executor would hold it in the tokens of `tokenizer`."""

    def tokens(first: int, last: int) -> list[int]:
        text = Bytes().decode(sample["observation_tokens"][first:last])
        return list(tokenizer(text=text, add_special_tokens=False)["input_ids"])

    ids: list[int] = []
    ranges: list[tuple[int, int]] = []
    told = 0
    for start, end in sample["action_ranges"]:
        ids += tokens(told, start)
        reply = tokens(start, end)
        ranges.append((len(ids), len(ids) + len(reply)))
        ids, told = ids + reply, end
    return tuple(ids), tuple(ranges)


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


def trained(tokenizer: Any, conversations: Sequence[Shown], *, most: int = 400) -> Any:
    """A model that gives the replies in `conversations` about as often as LIKELY says."""
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    torch.manual_seed(0)
    torch.set_num_threads(1)
    config = (
        LlamaConfig(  # of another family the tokenizer would be loaded with that family's rules
            vocab_size=VOCABULARY + 8,
            hidden_size=96,
            intermediate_size=192,
            num_hidden_layers=2,
            num_attention_heads=3,  # of 32: vLLM on a CPU knows certain sizes only
            num_key_value_heads=1,
            max_position_embeddings=CONTEXT,
            tie_word_embeddings=True,
            eos_token_id=tokenizer.eos_token_id,
            pad_token_id=tokenizer.pad_token_id,
            bos_token_id=None,
        )
    )
    model = LlamaForCausalLM(config)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    rows = [(torch.tensor([ids]), ranges) for ids, ranges in conversations]
    for step in range(most):
        chances = []
        for ids, ranges in rows:
            log_probs = torch.log_softmax(model(ids[:, :-1]).logits[0], -1)
            taken = log_probs.gather(1, ids[0, 1:, None])[:, 0]
            mine = torch.cat([taken[a - 1 : b - 1] for a, b in ranges])
            (-mine.mean() / len(rows)).backward()
            chances.append(math.exp(float(mine.detach().sum())))
        likely = sum(chances) / len(chances)
        if step % 10 == 0:
            print(f"step {step}: replies as shown {likely:.3f}", file=sys.stderr, flush=True)
        if likely >= LIKELY:
            return model.to(torch.bfloat16)
        optimizer.step()
        optimizer.zero_grad()
    raise RuntimeError(f"after {most} steps the replies are as shown with {likely:.3f} only")


def made(base: Path, turns: int = TURNS) -> Path:
    """The model under `base` for tasks of so many turns, made if it is not there yet.

    A prompt tells how many there are, and what was shown with another number is not known.
    ``AUTO_RESEARCH_TINY`` names a folder for models that outlive the tests.
    """
    folder = Path(os.environ.get("AUTO_RESEARCH_TINY") or base / "tiny") / f"turns-{turns}"
    if not (folder / "rows.jsonl").exists():
        main(folder, turns)
    return folder


def main(folder: Path, turns: int = TURNS) -> None:
    """Make the model in `folder`, and the rows of its tasks in ``rows.jsonl``."""
    benchmark, picked = scenarios()
    orders = [(scenario, order) for scenario in picked for order in ((0, 1), (1, 2), (2, 0))]
    labels = [chain(scenario, order, row) for row, (scenario, order) in enumerate(orders)]
    node = Node(spec(folder / "teaching", turns=turns))
    try:
        samples = asyncio.run(shown(node, teacher(benchmark, picked), labels))
    finally:
        node.close()
    tokenizer = tokenizer_of([Bytes().decode(s["observation_tokens"]) for s in samples])
    conversations = sorted({in_tokens(sample, tokenizer) for sample in samples})
    longest = max(len(ids) for ids, _ in conversations)
    print(f"{len(conversations)} conversations, at most {longest} tokens", file=sys.stderr)
    trained(tokenizer, conversations).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    rows = [
        json.dumps({"input": f"chain {n}", "label": label, "datasource": BENCHMARK}) + "\n"
        for n, label in enumerate(labels)
    ]
    (folder / "rows.jsonl").write_text("".join(rows))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
