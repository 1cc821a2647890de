"""Makes a tiny chat model that sometimes answers with a block of code and sometimes without.

It stands for any model behind a real server: what it says does not matter, what becomes of it does.
Tokenizer, data and weights are made here, in half a minute. Run it where vLLM is installed:

    python tiny_model.py FOLDER
"""

from __future__ import annotations

import random
import sys
from pathlib import Path

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast, Qwen2Config, Qwen2ForCausalLM

CONTEXT, STEPS, BATCH, LENGTH = 8192, 150, 16, 256
SPECIAL = ["<pad>", "<|im_start|>", "<|im_end|>"]
TEMPLATE = """{% for m in messages %}<|im_start|>{{ m['role'] }}
{{ m['content'] }}<|im_end|>
{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant
{% endif %}"""
WITH_CODE = ["```python\nprint(1)\n```", "Now.\n```python\nprint(facts())\n```"]
WITHOUT = ["I am done.", "That is all."]


def main() -> None:
    """Write the model to the folder given."""
    folder, rng = Path(sys.argv[1]), random.Random(0)
    torch.manual_seed(0)
    texts = [path.read_text() for path in sorted(Path(__file__).parent.glob("*.py"))]
    tokenizer = _tokenizer(texts)
    config = Qwen2Config(
        vocab_size=len(tokenizer),
        hidden_size=128,
        intermediate_size=256,
        num_hidden_layers=2,
        num_attention_heads=4,  # of 32 dimensions, the fewest that vLLM knows on a CPU
        num_key_value_heads=2,
        max_position_embeddings=CONTEXT,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
    )
    model = Qwen2ForCausalLM(config)
    adam = torch.optim.AdamW(model.parameters(), lr=2e-3)
    for step in range(STEPS):
        rows = [_row(tokenizer, texts, rng) for _ in range(BATCH)]
        loss = model(input_ids=torch.stack([t for t, _ in rows]), labels=_labels(rows)).loss
        loss.backward()
        adam.step()
        adam.zero_grad()
        if step % 50 == 0:
            print(f"step {step}: loss {loss.item():.3f}", flush=True)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)


def _tokenizer(texts: list[str]) -> PreTrainedTokenizerFast:
    """Byte pairs from these very tests."""
    made = Tokenizer(models.BPE())
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    made.train_from_iterator(
        texts,
        trainers.BpeTrainer(vocab_size=1024, special_tokens=SPECIAL, initial_alphabet=alphabet),
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=made,
        pad_token=SPECIAL[0],
        eos_token=SPECIAL[2],
        additional_special_tokens=[SPECIAL[1]],
        chat_template=TEMPLATE,
    )


def _row(
    tokenizer: PreTrainedTokenizerFast, texts: list[str], rng: random.Random
) -> tuple[torch.Tensor, torch.Tensor]:
    """A conversation of at most LENGTH tokens, and which of them are the reply's."""
    text = rng.choice(texts)
    start = rng.randrange(len(text))
    reply = rng.choice(rng.choice([WITH_CODE, WITHOUT]))
    prompt = tokenizer.encode(f"{text[start : start + 300]}<|im_end|>\n<|im_start|>assistant\n")
    said = tokenizer.encode(f"{reply}<|im_end|>")
    prompt = prompt[len(said) - LENGTH :]
    blank = LENGTH - len(prompt) - len(said)
    tokens = [*prompt, *said, *[tokenizer.pad_token_id] * blank]
    mine = [*[False] * len(prompt), *[True] * len(said), *[False] * blank]
    return torch.tensor(tokens), torch.tensor(mine)


def _labels(rows: list[tuple[torch.Tensor, torch.Tensor]]) -> torch.Tensor:
    """The replies' tokens; nothing is learned from the others."""
    return torch.stack([tokens.masked_fill(~mine, -100) for tokens, mine in rows])


if __name__ == "__main__":
    main()
