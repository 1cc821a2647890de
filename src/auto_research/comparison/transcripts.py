"""Do two methods differ in anything but their names and charges? Decided on their transcripts."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any, TypeVar

K = TypeVar("K", bound=Hashable)
Plan = tuple[tuple[str, ...], ...]
Transcript = tuple[tuple[str, ...], tuple[str, ...], Plan | None, str | None]


def transcript_of(row: Mapping[str, Any]) -> Transcript:
    """What a test episode did: (skills ranked, skills called, plan, answer).

    `row` is one of episodes.jsonl. A skill stands there by the hash of its content, so a skill
    under another name is the same one; charges and library changes do not count.
    """
    plan = row["plan"]
    return (
        tuple(row["choice"]["ranked"]),
        tuple(use["skill"] for use in row["uses"] if use["called"]),
        None if plan is None else tuple(tuple(step) for step in plan),
        row["answer"],
    )


def alike(streams: Mapping[str, Mapping[K, Transcript]]) -> Sequence[Sequence[str]]:
    """Names in groups, each of names whose streams are equal in every episode.

    `streams` has the transcripts of each name by episode. Order is that of first appearance.
    """
    groups: dict[frozenset[tuple[K, Transcript]], list[str]] = {}
    for name, stream in streams.items():
        groups.setdefault(frozenset(stream.items()), []).append(name)
    return list(groups.values())
