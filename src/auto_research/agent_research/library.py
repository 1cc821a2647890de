"""The skill library as plain values: an immutable view, and the changes that lead to the next one.

`store.py` keeps the same library in SQLite; both apply changes through `apply_changes`, so a
chain's private library and the run's stored one cannot drift apart.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType

from auto_research.agent_research.skill import Skill, Usage


@dataclass(frozen=True, slots=True)
class Create:
    """Add a new skill. A skill whose id is already there is the same skill: nothing changes."""

    skill: Skill
    cause: tuple[str, ...] = ()  # ids of the episodes that caused the change


@dataclass(frozen=True, slots=True)
class Revise:
    """`skill` supersedes version `base`, which becomes retired; lineage and usage carry over."""

    base: str
    skill: Skill
    cause: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Fork:
    """`skill` starts a line of its own from version `base`, which stays active."""

    base: str
    skill: Skill
    cause: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Merge:
    """`skill` supersedes all of `bases`, which become retired."""

    bases: tuple[str, ...]
    skill: Skill
    cause: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Retire:
    """Take version `base` out of use; it stays in the store with its record."""

    base: str
    reason: str
    cause: tuple[str, ...] = ()


Change = Create | Revise | Fork | Merge | Retire


class ChangeError(ValueError):
    """A change names a skill that is not there, or none where it must."""


@dataclass(frozen=True, slots=True)
class LibraryView:
    """What an operator or agent sees of a library: every version by id, in order of creation."""

    skills: Mapping[str, Skill] = field(default_factory=lambda: MappingProxyType({}))

    def active(self) -> tuple[Skill, ...]:
        """The skills that may be retrieved, in order of creation."""
        return tuple(s for s in self.skills.values() if s.status == "active")

    def get(self, skill_id: str) -> Skill | None:
        """A version by id, retired ones too."""
        return self.skills.get(skill_id)

    def __iter__(self) -> Iterator[Skill]:
        return iter(self.active())

    def __len__(self) -> int:
        return len(self.active())


def view_of(skills: Iterable[Skill]) -> LibraryView:
    """A view over `skills`, in the order given."""
    return LibraryView(MappingProxyType({skill.id: skill for skill in skills}))


def apply_changes(view: LibraryView, changes: Iterable[Change]) -> LibraryView:
    """The view after `changes`, in order. Raises ChangeError (then none is applied)."""
    skills = dict(view.skills)
    for change in changes:
        _apply(skills, change)
    return LibraryView(MappingProxyType(skills))


def record_usage(view: LibraryView, usage: Mapping[str, Usage]) -> LibraryView:
    """The view with the usage records of some skills replaced; unknown ids are ignored."""
    skills = dict(view.skills)
    for skill_id, record in usage.items():
        if skill_id in skills:
            skills[skill_id] = replace(skills[skill_id], usage=record)
    return LibraryView(MappingProxyType(skills))


def _apply(skills: dict[str, Skill], change: Change) -> None:
    if isinstance(change, Merge) and not change.bases:
        raise ChangeError("Merge names no skill to merge")
    for base in bases_of(change):
        if base not in skills:
            raise ChangeError(f"{type(change).__name__} names {base}, which is not in the library")
    if isinstance(change, Retire):
        skills[change.base] = replace(skills[change.base], status="retired")
        return
    new, known = change.skill, skills.get(change.skill.id)
    if known is not None:
        # Same content is the same skill: an active twin wins, a retired one stays retired.
        for base in _superseded(change):
            if base != new.id:
                skills[base] = replace(skills[base], status="retired")
        return
    if isinstance(change, Create):
        skills[new.id] = replace(new, lineage=new.lineage or new.id)
        return
    parents = tuple(skills[base] for base in bases_of(change))
    version = 1 + max(parent.version for parent in parents)
    if isinstance(change, Fork):
        new = replace(new, lineage=new.id)
    else:
        new = replace(new, lineage=parents[0].lineage, usage=_total(p.usage for p in parents))
    for base in _superseded(change):
        skills[base] = replace(skills[base], status="retired")
    skills[new.id] = replace(
        new, version=version, parents=tuple(parent.id for parent in parents), status="active"
    )


def bases_of(change: Change) -> tuple[str, ...]:
    """Ids of the versions that a change starts from or retires; none for Create."""
    if isinstance(change, Create):
        return ()
    return tuple(dict.fromkeys(change.bases)) if isinstance(change, Merge) else (change.base,)


def subject_of(change: Change) -> str:
    """Id of the skill a change is about: the new one, or the retired one."""
    return change.base if isinstance(change, Retire) else change.skill.id


def _superseded(change: Change) -> tuple[str, ...]:
    return () if isinstance(change, (Create, Fork, Retire)) else bases_of(change)


def _total(records: Iterable[Usage]) -> Usage:
    total = Usage()
    for record in records:
        total = Usage(
            retrieved=total.retrieved + record.retrieved,
            called=total.called + record.called,
            helped=total.helped + record.helped,
            harmed=total.harmed + record.harmed,
            streak=0,
        )
    return total
