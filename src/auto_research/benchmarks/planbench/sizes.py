"""Every number that defines planbench-mini: its version, its budget and the sizes of its tasks.

Chosen on validation seeds, then frozen: a later change raises VERSION.
"""

from __future__ import annotations

from collections.abc import Mapping

VERSION = 1
UNITS_PER_EPISODE = 6340  # B
DEFAULT_SCENARIOS = 40  # three episodes each

Span = tuple[int, int]  # inclusive
Size = Mapping[str, Span]

# Per world: the first, the reuse and the generalization task of a scenario; `question` is the
# problem that the question is about. Replanning and goal reformulation keep the first task's size.
SIZES: Mapping[str, Mapping[str, Size]] = {
    "blocksworld": {
        "small": {"blocks": (4, 5), "goals": (2, 3)},
        "reuse": {"blocks": (7, 8), "goals": (4, 5)},
        "large": {"blocks": (12, 14), "goals": (8, 8)},
        "question": {"blocks": (4, 5), "goals": (2, 2)},
    },
    "logistics": {
        "small": {
            "cities": (2, 2),
            "locations": (2, 2),
            "packages": (2, 2),
            "inter_city": (1, 1),
        },
        "reuse": {
            "cities": (2, 2),
            "locations": (3, 3),
            "packages": (3, 3),
            "inter_city": (1, 1),
        },
        "large": {
            "cities": (3, 3),
            "locations": (3, 3),
            "packages": (7, 8),
            "inter_city": (5, 5),
        },
        "question": {
            "cities": (2, 2),
            "locations": (2, 2),
            "packages": (2, 2),
            "inter_city": (1, 1),
        },
    },
    "depots": {
        "small": {"places": (2, 2), "trucks": (1, 1), "crates": (3, 3), "goals": (2, 2)},
        "reuse": {"places": (3, 3), "trucks": (2, 2), "crates": (5, 5), "goals": (3, 4)},
        "large": {"places": (4, 4), "trucks": (2, 2), "crates": (8, 8), "goals": (6, 6)},
        "question": {"places": (2, 2), "trucks": (1, 1), "crates": (2, 3), "goals": (2, 2)},
    },
    "satellite": {
        "small": {
            "satellites": (1, 1),
            "instruments": (1, 1),
            "modes": (2, 2),
            "directions": (4, 4),
            "images": (2, 2),
            "pointing": (0, 0),
        },
        "reuse": {
            "satellites": (2, 2),
            "instruments": (3, 3),
            "modes": (2, 2),
            "directions": (6, 6),
            "images": (4, 4),
            "pointing": (1, 1),
        },
        "large": {
            "satellites": (4, 4),
            "instruments": (6, 6),
            "modes": (3, 3),
            "directions": (13, 13),
            "images": (10, 10),
            "pointing": (2, 2),
        },
        "question": {
            "satellites": (1, 1),
            "instruments": (2, 2),
            "modes": (2, 2),
            "directions": (3, 3),
            "images": (1, 1),
            "pointing": (0, 0),
        },
    },
}

REPLANNING_WALK: Span = (4, 8)  # actions walked from the first task's start
QUESTION_WALK: Span = (4, 8)  # actions in the question's plan
