"""A method as it trains on a cluster: groups of one shape, whose chains start without a library."""

from __future__ import annotations

from typing import Any

from auto_research.agent_research.catalog import Catalog, MethodSource, find
from auto_research.agent_research.method import Method, resolve_method
from auto_research.errors import UserError
from auto_research.training.trainable import first_chain, require_trainable, trains
from auto_research_openrlhf.config import Chains

# Settings by which rollouts name these things.
LENGTH, SIBLINGS, START = "chain_length", "siblings", "start"


def shaped(method: Method, chains: Chains, catalog: Catalog, *, where: str) -> Method:
    """`method` with its rollout as `chains` says, every chain starting with an empty library.

    Raises UserError if its rollout cannot be so, or if the method cannot train a model here.
    """
    if not trains(method, catalog):
        require_trainable(method, catalog)
    written: dict[str, Any] = dict(method.to_dict())
    if chains.rollout and chains.rollout != method.rollout.use:
        written["rollout"] = {"use": chains.rollout}
    use = str(written["rollout"]["use"])
    settings = find(
        "rollout operator", use, catalog.operators["rollout"], where=where
    ).settings_type.model_fields
    wanted = {LENGTH: chains.length, SIBLINGS: chains.siblings, START: "empty"}
    for name, value in wanted.items():
        if value is not None and name in settings:
            written["rollout"] = {**written["rollout"], name: value}
        elif value is not None and name != START:
            raise UserError(
                f"the rollout {use!r} of method {method.name!r} has no setting {name!r}",
                where=f"{where}: chains",
                mend="set chains.rollout to one that has, such as sage.sequential",
            )
    ready = resolve_method(MethodSource(written, where), catalog)
    require_trainable(ready, catalog)
    return ready


def shape(method: Method, catalog: Catalog) -> tuple[int, int]:
    """Chain length and siblings of the groups that `method` trains on."""
    chain = first_chain(method, catalog)
    if chain is None:
        raise ValueError(f"{method.name} asks for no group")
    return len(chain.tasks), chain.siblings
