"""What lies in the toy shops: the same for the world that shows it and the judge that counts it."""

from __future__ import annotations

import hashlib

KINDS = ("apple", "pear", "plum")


def stock(task: str) -> list[dict[str, object]]:
    """The goods of a task's shop; the task's id is all that decides them."""
    digest = hashlib.sha256(task.encode()).digest()
    return [{"kind": KINDS[i % 3], "price": 1 + digest[i] % 9} for i in range(7 + digest[0] % 5)]


def total(task: str, kind: str) -> int:
    """What the goods of a kind cost together."""
    return sum(int(str(g["price"])) for g in stock(task) if g["kind"] == kind)
