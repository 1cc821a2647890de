"""What skill code passes to a host function, read with suspicion: it may be anything at all."""

from __future__ import annotations

from collections.abc import Sequence

MAX_LENGTH = 1000  # of a text or a tuple


def sequence(value: object) -> Sequence[object]:
    """A short list or tuple, as it is. Raises ValueError for anything else."""
    if isinstance(value, (list, tuple)) and len(value) <= MAX_LENGTH:
        return value
    raise ValueError("expected a tuple, and a short one")


def texts(value: object) -> tuple[str, ...]:
    """A tuple of texts, none of them long. Anything else may be endless to look at."""
    read: list[str] = []
    for item in sequence(value):
        if not isinstance(item, str) or len(item) > MAX_LENGTH:
            raise ValueError("expected short texts")
        read.append(item)
    return tuple(read)


def in_order(
    goals: Sequence[tuple[str, ...]], hints: Sequence[tuple[object, ...]]
) -> list[tuple[str, ...]]:
    """`goals` sorted so that one that builds on another comes after it.

    A hint (p, i, q, j): a goal of p waits for one of q whose j-th argument is its i-th.
    """
    left, out = list(goals), list[tuple[str, ...]]()
    while left:
        free = [g for g in left if not any(_waits(g, o, hints) for o in left if o != g)]
        out.append((free or left)[0])
        left.remove(out[-1])
    return out


def _waits(
    goal: tuple[str, ...], other: tuple[str, ...], hints: Sequence[tuple[object, ...]]
) -> bool:
    for hint in hints:
        if len(hint) != 4 or goal[0] != hint[0] or other[0] != hint[2]:
            continue
        i, j = hint[1], hint[3]
        if isinstance(i, int) and isinstance(j, int) and goal[i + 1] == other[j + 1]:
            return True
    return False
