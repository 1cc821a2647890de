"""An engine that says what a script says, token by token, and a tokenizer of bytes."""

from __future__ import annotations

import asyncio
import copy
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

START, END = 256, 257
_PARTS = re.compile(r"(<\|im_start\|>|<\|im_end\|>)")
_SPECIAL = {"<|im_start|>": START, "<|im_end|>": END}


class Bytes:
    """Every byte a token, and two special ones; ChatML, as Qwen has it."""

    eos_token = "<|im_end|>"
    eos_token_id = END
    all_special_ids = (START, END)

    def __call__(self, text: str, add_special_tokens: bool = True) -> dict[str, list[int]]:
        ids: list[int] = []
        for part in _PARTS.split(text):
            ids += [_SPECIAL[part]] if part in _SPECIAL else part.encode()
        return {"input_ids": ids}

    def decode(self, ids: Sequence[int]) -> str:
        names = {number: name.encode() for name, number in _SPECIAL.items()}
        return b"".join(names.get(i, bytes([i & 255])) for i in ids).decode(errors="replace")

    def apply_chat_template(
        self, messages: Sequence[Mapping[str, str]], tokenize: bool, add_generation_prompt: bool
    ) -> str:
        told = "".join(f"<|im_start|>{m['role']}\n{m['content']}<|im_end|>\n" for m in messages)
        return told + "<|im_start|>assistant\n" * add_generation_prompt


@dataclass(frozen=True)
class Say:
    """A reply. Without `end` it was cut off."""

    text: str
    end: bool = True


Script = Callable[[str], "Say | str | Exception"]


@dataclass
class Params:
    """Of sampling, as OpenRLHF gives them: one object for all samples of a prompt."""

    max_tokens: int | None = None
    logprobs: int | None = 1


@dataclass
class Engine:
    """Answers the text of a prompt as `script` says, after `latency` seconds."""

    script: Script
    latency: float = 0.0
    asked: list[tuple[int, int]] = field(default_factory=list)  # prompt's length, max_tokens
    prompts: list[list[int]] = field(default_factory=list)

    async def generate(self, ids: Sequence[int], params: Params) -> Any:
        self.asked.append((len(ids), params.max_tokens or 0))
        self.prompts.append(list(ids))
        await asyncio.sleep(self.latency)
        said = self.script(Bytes().decode(ids))
        if isinstance(said, Exception):
            raise said
        said = Say(said) if isinstance(said, str) else said
        found = [*said.text.encode(), *([END] if said.end else [])]
        cut = not said.end or len(found) > (params.max_tokens or 10**9)
        found = found[: params.max_tokens]
        text = Bytes().decode([i for i in found if i != END])
        logs = [{i: SimpleNamespace(logprob=-(i % 7) / 8)} for i in found]
        output = SimpleNamespace(
            token_ids=found,
            text=text,
            logprobs=logs if params.logprobs is not None else None,
            finish_reason="length" if cut else "stop",
        )
        return SimpleNamespace(outputs=[output])


async def responses(
    node: Any,
    engine: Engine,
    prompt: str,
    label: str,
    samples: int,
    *,
    params: Params | None = None,
    max_length: int = 20_000,
) -> list[dict[str, Any]]:
    """What OpenRLHF's rollout actor does with a prompt."""
    shared = copy.deepcopy(params or Params())
    calls = [
        node.sample(prompt, label, shared, max_length, Bytes(), engine) for _ in range(samples)
    ]
    return list(await asyncio.gather(*calls))


def code(text: str) -> str:
    """A reply with one block of code."""
    return f"Now this.\n```python\n{text}\n```"
