"""How a library came to be: its size over the episodes, and each skill's versions as a tree."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from auto_research.agent_research.skill import Skill


class Change(Protocol):
    """One logged library change, as the store keeps it (store.ChangeRecord)."""

    @property
    def op(self) -> str: ...
    @property
    def skill(self) -> str: ...
    @property
    def bases(self) -> Sequence[str]: ...
    @property
    def cause(self) -> Sequence[str]: ...
    @property
    def reason(self) -> str: ...
    @property
    def effective(self) -> bool: ...


@dataclass(frozen=True, slots=True)
class Size:
    """The library just after the episode at `place` (from 0; -1 is the start of the run)."""

    place: int
    active: int
    created: int
    revised: int
    retired: int


@dataclass(slots=True)
class Version:
    """One version of a skill with the change that made it and the one that ended it."""

    skill: Skill
    op: str = ""
    cause: tuple[str, ...] = ()
    superseded_by: str = ""
    retired_by: tuple[str, ...] = ()
    retired_why: str = ""
    children: list[Version] = field(default_factory=list)

    def walk(self) -> Iterator[tuple[int, Version]]:
        """This version and all below it as (depth, version); branches and forks go deeper.

        Iterative, since a skill may be revised more often than Python may recurse.
        """
        stack = [(0, self)]
        while stack:
            depth, version = stack.pop()
            yield depth, version
            branches = len(version.children) > 1
            stack += [
                (depth + (branches or child.op == "fork"), child)
                for child in reversed(version.children)
            ]

    @property
    def active(self) -> int:
        """How many versions from this one down may be retrieved."""
        return sum(version.skill.status == "active" for _, version in self.walk())

    def newest(self) -> Version:
        """The active version below this one made last, else simply the one made last."""
        versions = [version for _, version in self.walk()]
        return max(versions, key=lambda v: (v.skill.status == "active", v.skill.version))


def causes(log: Iterable[Change]) -> frozenset[str]:
    """Ids of every episode that the log names as a cause."""
    return frozenset(episode for change in log for episode in change.cause)


def growth(skills: Sequence[Skill], log: Sequence[Change], places: Mapping[str, int]) -> list[Size]:
    """The library's size after each effective change, at the place of its last known cause.

    A change without a known cause stands where the one before it does. Created counts forks and
    merged skills too; retired counts only what left without a successor.
    """
    made = {change.skill for change in log if change.op != "retire"}
    lost = {base for change in log for base in change.bases}
    lost |= {change.skill for change in log if change.op == "retire"}
    before = {skill.id: skill for skill in skills if skill.id not in made}
    active = {i for i, skill in before.items() if skill.status == "active" or i in lost}
    seen, sizes = set(before), [Size(-1, len(active), 0, 0, 0)]
    place = -1
    for change in log:
        if not change.effective:
            continue
        place = max([place, *(places[e] for e in change.cause if e in places)])
        op, last = change.op, sizes[-1]
        if op == "retire":
            active.discard(change.skill)
        elif op in ("revise", "merge"):
            active -= set(change.bases) - {change.skill}
        fresh = op != "retire" and change.skill not in seen
        if fresh:
            seen.add(change.skill)
            active.add(change.skill)
        sizes.append(
            Size(
                place,
                len(active),
                last.created + (fresh and op != "revise"),
                last.revised + (fresh and op == "revise"),
                last.retired + (op == "retire"),
            )
        )
    return sizes


def trees(skills: Sequence[Skill], log: Sequence[Change]) -> list[Version]:
    """The first version of every skill with its successors below it; active lines first.

    A version with several parents hangs below its first earlier one. Order of creation otherwise.
    """
    versions = {skill.id: Version(skill) for skill in skills}
    for change in log:
        if change.effective:
            _tell(versions, change)
    roots: list[Version] = []
    placed: set[str] = set()
    for skill_id, version in versions.items():
        parent = next((p for p in version.skill.parents if p in placed), None)
        siblings = roots if parent is None else versions[parent].children
        siblings.append(version)
        placed.add(skill_id)
    return sorted(roots, key=lambda root: root.newest().skill.status != "active")


def _tell(versions: Mapping[str, Version], change: Change) -> None:
    """Note a change at the versions it made or ended."""
    made = versions.get(change.skill)
    if made is None:
        return
    if change.op == "retire":
        made.retired_by, made.retired_why = tuple(change.cause), change.reason
        return
    if not made.op:
        made.op, made.cause = change.op, tuple(change.cause)
    if change.op in ("revise", "merge"):
        for base in change.bases:
            if base in versions and base != change.skill:
                versions[base].superseded_by = change.skill
