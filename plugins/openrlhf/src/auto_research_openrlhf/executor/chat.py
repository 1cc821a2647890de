"""A conversation as token ids: a model's chat template, cut where its replies are put in verbatim.

Replies are never tokenized anew, since text does not tell which tokens it was sampled as.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

from auto_research.agent_research.agents.llm.context import Message

_MARK = "@reply@"  # stands for a reply where the template is asked what comes after one


class Chat:
    """Tokenizes for one tokenizer, for one thread at a time: Hugging Face's are no safer."""

    def __init__(self, tokenizer: Any) -> None:
        self._tokenizer = tokenizer
        self._special = frozenset(int(i) for i in tokenizer.all_special_ids)
        self._lock = threading.Lock()

    @property
    def end(self) -> int:
        """The token that ends a reply."""
        return int(self._tokenizer.eos_token_id or 0)

    def opening(self, messages: Sequence[Message]) -> list[int]:
        """All of a conversation that the model has not spoken in yet, up to where it speaks."""
        with self._lock:
            return self._ids(self._text(messages))

    def after(self, messages: Sequence[Message], reply: Sequence[int]) -> list[int]:
        """What comes between the model's last reply, which was `reply`, and its next.

        `messages` end with that reply and the message that answers it.
        """
        *before, _, answer = messages
        marked = [*before, {"role": "assistant", "content": _MARK}, answer]
        with self._lock:
            ids = self._ids(self._text(marked).rpartition(_MARK)[2])
        if reply and ids and reply[-1] == ids[0] and ids[0] in self._special:
            return ids[1:]  # the model has said itself that its reply is over
        return ids

    def plain(self, text: str) -> list[int]:
        """The ids of a text as it stands."""
        with self._lock:
            return self._ids(text)

    def words(self, text: str) -> str:
        """A reply's text without the token that ends it."""
        end = self._tokenizer.eos_token
        return text.removesuffix(end) if end else text

    def _text(self, messages: Sequence[Message]) -> str:
        told = [dict(message) for message in messages]
        return str(
            self._tokenizer.apply_chat_template(told, tokenize=False, add_generation_prompt=True)
        )

    def _ids(self, text: str) -> list[int]:
        return [int(i) for i in self._tokenizer(text=text, add_special_tokens=False)["input_ids"]]
