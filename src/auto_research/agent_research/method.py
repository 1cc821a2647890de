"""A method is data: one operator for each slot with settings, read from YAML and fully checked.

name: sage
summary: ...
citation: arXiv 2512.17102
retrieval: {use: sage.learned, top_k: 4}
update: sage.evolve
reward: {use: sage.skill-integrated}
rollout: {use: sage.sequential}
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from pydantic import ValidationError

from auto_research import strict_yaml
from auto_research.agent_research.catalog import Catalog, MethodSource, find
from auto_research.agent_research.operators import (
    SLOTS,
    LibraryUpdate,
    Operator,
    RetrievalPolicy,
    Reward,
    Rollout,
    Settings,
    Slot,
)
from auto_research.benchmarks.base import Json
from auto_research.errors import UserError, did_you_mean

TEXTS = ("name", "summary", "citation")
# A run's directory is named after its method, so a name is no longer than a file's may be.
NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,99}")

OperatorT = TypeVar("OperatorT", bound=Operator)


@dataclass(frozen=True, slots=True)
class Filled:
    """One slot of a method: the name of its operator, and that operator's settings."""

    use: str
    settings: Settings

    def to_dict(self) -> dict[str, Json]:
        """``use`` and every setting, defaults too, as plain data."""
        return {"use": self.use, **self.settings.model_dump(mode="json")}


@dataclass(frozen=True, slots=True)
class Operators:
    """A method at work: one fresh operator a slot."""

    retrieval: RetrievalPolicy
    update: LibraryUpdate
    reward: Reward
    rollout: Rollout

    def by_slot(self) -> dict[Slot, Operator]:
        """The four operators by slot, in their fixed order."""
        return {
            "retrieval": self.retrieval,
            "update": self.update,
            "reward": self.reward,
            "rollout": self.rollout,
        }

    def anew(self) -> Operators:
        """Fresh operators with the same settings, which share no state with these."""
        return Operators(
            retrieval=type(self.retrieval)(self.retrieval.settings),
            update=type(self.update)(self.update.settings),
            reward=type(self.reward)(self.reward.settings),
            rollout=type(self.rollout)(self.rollout.settings),
        )


@dataclass(frozen=True, slots=True)
class Method:
    """A checked method. Everything in it is known to the catalog that it was resolved against."""

    name: str
    summary: str
    citation: str
    retrieval: Filled
    update: Filled
    reward: Filled
    rollout: Filled

    def slots(self) -> dict[Slot, Filled]:
        """The four slots by name, in their fixed order."""
        return {
            "retrieval": self.retrieval,
            "update": self.update,
            "reward": self.reward,
            "rollout": self.rollout,
        }

    def build(self, catalog: Catalog) -> Operators:
        """Fresh operators; each call gives new ones that share no state."""
        return Operators(
            retrieval=_made(RetrievalPolicy, catalog, "retrieval", self.retrieval),
            update=_made(LibraryUpdate, catalog, "update", self.update),
            reward=_made(Reward, catalog, "reward", self.reward),
            rollout=_made(Rollout, catalog, "rollout", self.rollout),
        )

    def to_dict(self) -> dict[str, Json]:
        """The resolved method as plain data; `resolve_method` reads it back to an equal one."""
        texts = {"name": self.name, "summary": self.summary, "citation": self.citation}
        return {**texts, **{slot: filled.to_dict() for slot, filled in self.slots().items()}}

    def content_hash(self) -> str:
        """SHA-256 (hex) of the operators and all their settings; name and texts do not count."""
        return content_hash(self.to_dict())


def content_hash(method: Mapping[str, Json]) -> str:
    """The `Method.content_hash` of a method that is plain data. Raises KeyError without a slot."""
    slots = {slot: method[slot] for slot in SLOTS}
    text = json.dumps(slots, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()


def load_method(name_or_path: str, catalog: Catalog, overrides: Sequence[str] = ()) -> Method:
    """The registered method of that name, or the one in that file (``*.yaml`` or a path).

    `overrides` are ``slot=operator`` or ``slot.setting=value``, applied in order. Raises
    UserError naming file (or override) and key.
    """
    path = Path(name_or_path)
    if path.suffix in (".yaml", ".yml") or len(path.parts) > 1:
        source = read_method(path)
    else:
        source = find("method", name_or_path, catalog.methods)
    return resolve_method(source, catalog, overrides)


def read_method(written: Path | str | Mapping[str, Json], *, where: str = "") -> MethodSource:
    """A method's data from a YAML file (or a mapping) with its name checked, the rest not yet.

    Raises UserError if the file cannot be read, is no mapping or has no proper name.
    """
    data: Json
    if isinstance(written, Mapping):
        data = written
    else:
        where = str(written)
        data = strict_yaml.read(Path(written))
    if not isinstance(data, Mapping):
        raise UserError("a method must be a mapping of keys to values", where=where)
    name = data.get("name")
    if not isinstance(name, str) or not NAME.fullmatch(name):
        raise UserError(
            f"a method needs a name, not {_cut(repr(name))}",
            where=_at(where, "name"),
            mend="use small letters, digits, '.', '_' and '-', up to 100 of them",
        )
    return MethodSource(dict(data), where or f"method {name}")


def resolve_method(source: MethodSource, catalog: Catalog, overrides: Sequence[str] = ()) -> Method:
    """The checked method in `source` after `overrides`. Raises UserError as `load_method`."""
    for key in source.data:
        if key not in (*TEXTS, *SLOTS):
            raise UserError(
                f"unknown key {key!r}",
                where=source.where,
                mend=did_you_mean(key, (*TEXTS, *SLOTS)),
            )
    written = {slot: _written(source, slot) for slot in SLOTS}
    origins: dict[str, str] = {}  # dotted key -> the override that set it
    for override in overrides:
        _override(written, origins, override)
    filled = {slot: _resolve(slot, written[slot], source.where, origins, catalog) for slot in SLOTS}
    return Method(
        name=_text(source, "name"),
        summary=_text(source, "summary"),
        citation=_text(source, "citation"),
        retrieval=filled["retrieval"],
        update=filled["update"],
        reward=filled["reward"],
        rollout=filled["rollout"],
    )


def _text(source: MethodSource, key: str) -> str:
    value = source.data.get(key, "")
    if not isinstance(value, str):
        raise UserError(f"{key} must be text, not {value!r}", where=_at(source.where, key))
    return value


def _written(source: MethodSource, slot: Slot) -> dict[str, Json]:
    """What stands in a slot, in its long form ``{use: operator, setting: value}``."""
    value = source.data.get(slot)
    if isinstance(value, str):
        return {"use": value}
    if isinstance(value, Mapping) and isinstance(value.get("use"), str):
        return dict(value)
    raise UserError(
        f"the {slot} slot names no operator",
        where=_at(source.where, slot),
        mend=f"write '{slot}: OPERATOR' or '{slot}: {{use: OPERATOR, SETTING: VALUE}}'",
    )


def _override(written: dict[Slot, dict[str, Json]], origins: dict[str, str], override: str) -> None:
    where = f"--set {override}"
    key, equals, text = override.partition("=")
    first, *rest = key.strip().split(".")
    slot = next((slot for slot in SLOTS if slot == first), None)
    if slot is None:
        raise UserError(f"unknown slot {first!r}", where=where, mend=did_you_mean(first, SLOTS))
    if not equals or not all(rest):
        raise UserError(
            "not an override", where=where, mend="write slot=operator or slot.setting=value"
        )
    if not rest or rest == ["use"]:
        written[slot] = {"use": text.strip()}  # settings belong to the operator they were for
        origins[slot] = where
        return
    written[slot] = _with(written[slot], rest, strict_yaml.parse(text, where=where))
    origins[".".join((slot, *rest))] = where


def _with(data: Mapping[str, Json], path: Sequence[str], value: Json) -> dict[str, Json]:
    """A copy of `data` with `value` at `path`; mappings on the way are made as needed."""
    first, *rest = path
    if not rest:
        return {**data, first: value}
    inner = data.get(first)
    return {**data, first: _with(inner if isinstance(inner, Mapping) else {}, rest, value)}


def _resolve(
    slot: Slot,
    written: Mapping[str, Json],
    where: str,
    origins: Mapping[str, str],
    catalog: Catalog,
) -> Filled:
    def place(*path: str | int) -> str:
        """The override that set the nearest key at or above `path`, else the place in the file."""
        keys = [".".join(map(str, (slot, *path[:depth]))) for depth in range(len(path), -1, -1)]
        return next((origins[key] for key in keys if key in origins), _at(where, keys[0]))

    use = str(written["use"])
    operator = _operator(slot, use, place(), catalog)
    settings = {key: value for key, value in written.items() if key != "use"}
    try:
        # Through JSON, since only there does strict mean no coercion and yet lists for tuples.
        text = json.dumps(settings, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise UserError(f"settings are not plain data: {error}", where=place()) from None
    try:
        return Filled(use, operator.settings_type.model_validate_json(text, strict=True))
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
    setting = ".".join(map(str, first["loc"]))
    if first["type"] == "extra_forbidden":
        known = operator.settings_type.model_fields
        raise UserError(
            f"operator {use!r} has no setting {setting!r}",
            where=place(*first["loc"]),
            mend=did_you_mean(setting, known) if known else "it takes no settings",
        )
    raise UserError(f"bad value for {setting!r}: {first['msg']}", where=place(*first["loc"]))


def _operator(slot: Slot, use: str, where: str, catalog: Catalog) -> type[Operator]:
    known = catalog.operators[slot]
    elsewhere = [other for other in SLOTS if use in catalog.operators[other]]
    if use not in known and elsewhere:
        raise UserError(
            f"operator {use!r} fills the {' or '.join(elsewhere)} slot, not {slot}",
            where=where,
            mend=f"known for {slot}: {', '.join(sorted(known)) or 'none'}",
        )
    return find(f"{slot} operator", use, known, where=where)


def _made(kind: type[OperatorT], catalog: Catalog, slot: Slot, filled: Filled) -> OperatorT:
    operator = catalog.operators[slot][filled.use].value(filled.settings)
    if not isinstance(operator, kind):
        raise TypeError(f"{filled.use} is registered for {slot} but is no {kind.__name__}")
    return operator


def _cut(text: str) -> str:
    return text if len(text) <= 110 else f"{text[:107]}..."


def _at(where: str, key: str) -> str:
    return f"{where}: {key}" if where else key
