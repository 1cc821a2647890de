"""Taking over what chains changed: the changes that still fit a library which has moved on."""

from __future__ import annotations

from collections.abc import Iterable

from auto_research.agent_research.library import (
    Change,
    Create,
    Fork,
    LibraryView,
    Merge,
    Retire,
    Revise,
    apply_changes,
    bases_of,
)
from auto_research.agent_research.operators import ChainResult, CreditedGroup


def best_chain(group: CreditedGroup) -> ChainResult:
    """The sibling that earned most; the first of equals."""
    totals = [sum(reward or 0.0 for reward in row) for row in group.rewards]
    return group.chains[max(range(len(totals)), key=lambda i: (totals[i], -i))]


def fitting(changes: Iterable[Change], library: LibraryView) -> list[Change]:
    """`changes` in turn as they can be made to `library`.

    A new version of what is no longer active is a new skill; known content is left as it is.
    """
    kept: list[Change] = []
    for change in changes:
        fitted = _fitted(change, library)
        if fitted is not None:
            kept.append(fitted)
            library = apply_changes(library, [fitted])
    return kept


def is_active(skill_id: str, library: LibraryView) -> bool:
    """Whether `library` holds the version and may serve it."""
    skill = library.get(skill_id)
    return skill is not None and skill.status == "active"


def _fitted(change: Change, library: LibraryView) -> Change | None:
    stands = all(is_active(base, library) for base in bases_of(change))
    if isinstance(change, Retire):
        return change if stands else None
    if library.get(change.skill.id) is not None:
        return None
    if isinstance(change, Create) or stands:
        return change
    if isinstance(change, Revise | Fork | Merge):
        return Create(change.skill, change.cause)
    return None
