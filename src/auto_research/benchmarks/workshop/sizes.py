"""Every number that defines the workshop: its version, its budgets and the sizes of its tasks.

Chosen on validation seeds, then frozen: a later change raises VERSION.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from auto_research.benchmarks.base import Split

Variant = Literal["base", "hid"]

VERSION = 1
UNITS_PER_EPISODE: Mapping[Variant, int] = {"base": 784, "hid": 4406}  # B
DEFAULT_SCENARIOS = 40  # where no number is asked for; the stream has no end
TASKS = 3  # of a scenario

THINGS = 12
ROOMS = 10
CANDIDATES = 3  # stations that may do an operation, where they are hidden
TARGETS = (2, 3)  # of a task, inclusive; one more thing is of no use
# How many of the subsets of two and of three operations each split has.
PAIRS: Mapping[Split, int] = {"train": 14, "validation": 3, "test": 4}
TRIPLES: Mapping[Split, int] = {"train": 24, "validation": 5, "test": 6}
