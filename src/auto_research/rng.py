"""Named random streams: every draw comes from a generator derived from the seed and a name."""

from __future__ import annotations

import hashlib
import random


def derive(seed: int, *names: object) -> random.Random:
    """An independent generator for `names` under `seed`; the same arguments, the same stream."""
    text = "\x1f".join([str(seed), *map(str, names)])
    return random.Random(int.from_bytes(hashlib.sha256(text.encode()).digest()[:16], "big"))
