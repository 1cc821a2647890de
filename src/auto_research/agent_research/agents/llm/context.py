"""Fits a conversation into the model's context: long outputs cut short, old ones left out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

Message = Mapping[str, str]  # role and content

_BYTES_A_TOKEN = 3  # a low guess, so that the estimate is rather too high
_FRAME = 8  # tokens around a message
LEFT_OUT = "[The output of this earlier turn is left out: the context is full.]"
FORGOTTEN = "[{} earlier turns are left out: the context is full.]"


@dataclass(frozen=True, slots=True)
class Turn:
    """One reply of the model and what it was told after it."""

    reply: str
    output: str


def estimate(messages: Sequence[Message]) -> int:
    """About how many tokens a prompt has; the server alone knows."""
    return sum(len(m["content"].encode()) // _BYTES_A_TOKEN + _FRAME for m in messages)


def trimmed(text: str, limit: int) -> str:
    """`text`, or its head and tail with a notice of how much was between them."""
    if len(text) <= limit:
        return text
    tail = limit // 3
    head = limit - tail
    notice = f"\n[... {len(text) - limit} characters left out ...]\n"
    return text[:head] + notice + text[-tail:]


def conversation(
    system: str, opening: str, turns: Sequence[Turn], room: int
) -> list[Message] | None:
    """The messages of a conversation in at most `room` tokens (estimated), or None.

    First the outputs of the oldest turns are left out, then those turns themselves; what the task
    is, and the last turn, are always there.
    """
    kept = list(turns)
    for place in range(len(kept)):
        messages = _messages(system, opening, kept)
        if estimate(messages) <= room:
            return messages
        if place < len(kept) - 1:
            kept[place] = Turn(kept[place].reply, LEFT_OUT)
    for gone in range(len(kept)):
        note = f"{opening}\n\n{FORGOTTEN.format(gone)}" if gone else opening
        messages = _messages(system, note, kept[gone:])
        if estimate(messages) <= room:
            return messages
    messages = _messages(system, opening, kept)
    return messages if not kept and estimate(messages) <= room else None


def _messages(system: str, opening: str, turns: Sequence[Turn]) -> list[Message]:
    messages: list[Message] = [
        {"role": "system", "content": system},
        {"role": "user", "content": opening},
    ]
    for turn in turns:
        messages.append({"role": "assistant", "content": turn.reply})
        messages.append({"role": "user", "content": turn.output})
    return messages
