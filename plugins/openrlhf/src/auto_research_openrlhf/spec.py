"""What a training job is told on its nodes: the launcher writes it, the executor reads it.

It travels as `spec.json` in the job's working directory, which is the current directory of every
process of the job; the variable AUTO_RESEARCH_SPEC names another place.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from auto_research.benchmarks.base import Json
from auto_research.errors import UserError

VARIABLE = "AUTO_RESEARCH_SPEC"
FILE = "spec.json"


@dataclass(frozen=True, slots=True)
class Spec:
    """One training. Everything that may change a result is in it; no secrets.

    `method` is `Method.to_dict()` as it trains here (its rollout says chain length, siblings and
    that a chain's library starts empty). `tokens` caps prompt and replies of one trajectory
    together, `tokens_per_turn` one reply, `turns` the replies of one episode. `storage` is the
    job's folder on the nodes: in ``storage/rows`` every executor appends each finished episode as
    a line of an `EpisodeRow` to a file of its own (``HOST-PID.jsonl``), training rows with phase
    ``training``, those of the evaluation set with ``test`` and their repeat as `sibling`.
    """

    run: str
    method: Mapping[str, Json]
    method_hash: str
    benchmark: str
    seed: int
    model: str
    chain_length: int
    siblings: int
    tokens: int
    tokens_per_turn: int
    turns: int
    storage: str
    data_dir: str = ""  # of the benchmark, on the nodes; empty for its own place
    unsafe_worlds: bool = False
    worlds: int = 16  # open at once for one engine
    failure_reward: float = -1.0  # of an episode that broke off; the paper's for no code at all
    evaluation_split: str = "validation"
    evaluation_repeats: int = 1
    agent: Mapping[str, Json] = field(default_factory=dict)  # further settings of the llm agent
    version: str = ""
    code_hash: str = ""

    def to_json(self) -> dict[str, Json]:
        """It as plain JSON values."""
        return asdict(self)

    @staticmethod
    def from_json(data: Mapping[str, Any]) -> Spec:
        """The spec that `to_json` gave. Raises UserError naming a key that is wrong."""
        known = Spec.__dataclass_fields__
        if unknown := sorted(set(data) - set(known)):
            raise UserError(f"unknown key {unknown[0]!r}", where=FILE)
        try:
            return Spec(**data)
        except TypeError as error:
            raise UserError(f"not the spec of a job: {error}", where=FILE) from None

    def text(self) -> str:
        """What stands in the file; equal specs give equal texts."""
        return json.dumps(self.to_json(), indent=1, sort_keys=True, ensure_ascii=False) + "\n"


def read_spec(path: Path | None = None) -> Spec:
    """The job's spec, from `path`, or where the job's processes find it. Raises UserError."""
    place = path or Path(os.environ.get(VARIABLE) or FILE)
    try:
        data = json.loads(place.read_bytes())
    except (OSError, ValueError) as error:
        raise UserError(f"the job's spec cannot be read: {error}", where=str(place)) from None
    if not isinstance(data, dict):
        raise UserError("the job's spec is no object", where=str(place))
    return Spec.from_json(data)
