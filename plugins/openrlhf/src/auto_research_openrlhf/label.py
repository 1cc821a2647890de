"""The label of a dataset row: one chain, as the executor needs it to run it."""

from __future__ import annotations

import json

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from auto_research.benchmarks.base import Split
from auto_research.errors import UserError


class Label(BaseModel):
    """One chain: `tasks` are ids, in order, of the first `limit` scenarios of the stream that
    `split` and `seed` name. `row` counts the rows of a data set; `scenario` names the chain.

    An `evaluation` row is there to be measured: its samples carry raw rewards.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    benchmark: str
    split: Split
    seed: int
    limit: int | None
    row: int = Field(ge=0)
    scenario: str
    tasks: list[str] = Field(min_length=1)
    chain_length: int = Field(ge=1)
    evaluation: bool = False

    def text(self) -> str:
        """The label as it stands in a row: JSON, since a data set would unify mappings."""
        return json.dumps(self.model_dump(), sort_keys=True, ensure_ascii=False)


def read_label(text: str) -> Label:
    """The label that `Label.text` gave. Raises UserError naming the key that is wrong."""
    try:
        label = Label.model_validate_json(text)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        key = ".".join(map(str, first["loc"])) or "label"
        raise UserError(
            f"a row's label is no chain: {key}: {first['msg']}", mend="build the data set anew"
        ) from None
    if len(label.tasks) != label.chain_length:
        raise UserError(
            f"a row's label says {label.chain_length} tasks and names {len(label.tasks)}",
            mend="build the data set anew",
        )
    return label
