"""Skills, usage records and changes as plain JSON and back, without loss: the one wire format.

The store, the crash journal and worker processes all speak it. Key order is kept, because code
may iterate over an interface; a resumed run must see the same order as an uninterrupted one.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import cast, get_args

from auto_research.agent_research.library import Change, Create, Fork, Merge, Retire, Revise
from auto_research.agent_research.skill import Provenance, Skill, SkillKind, SkillStatus, Usage
from auto_research.benchmarks.base import Json

_OPS: Mapping[str, type[Change]] = {
    "create": Create,
    "revise": Revise,
    "fork": Fork,
    "merge": Merge,
    "retire": Retire,
}
_NAMES = {kind: op for op, kind in _OPS.items()}


def dumps(data: Json) -> str:
    """`data` as compact JSON in ASCII (so any text can be stored), keys in the order given."""
    return json.dumps(data, separators=(",", ":"))


def loads(text: str) -> Json:
    """The plain value that `dumps` wrote. Raises ValueError."""
    return cast(Json, json.loads(text))


def op_of(change: Change) -> str:
    """The lower-case name of a change: create, revise, fork, merge or retire."""
    return _NAMES[type(change)]


def usage_to_json(usage: Usage) -> dict[str, Json]:
    """A usage record as plain data."""
    return {
        "retrieved": usage.retrieved,
        "called": usage.called,
        "helped": usage.helped,
        "harmed": usage.harmed,
        "streak": usage.streak,
    }


def usage_from_json(data: Json) -> Usage:
    """The usage record of plain data. Raises ValueError."""
    fields = _Fields(data, "usage")
    usage = Usage(
        retrieved=fields.count("retrieved"),
        called=fields.count("called"),
        helped=fields.count("helped"),
        harmed=fields.count("harmed"),
        streak=fields.count("streak"),
    )
    fields.close()
    return usage


def provenance_to_json(origin: Provenance) -> dict[str, Json]:
    """A provenance as plain data."""
    return {
        "run": origin.run,
        "scenario": origin.scenario,
        "task": origin.task,
        "query": origin.query,
        "attempt": origin.attempt,
    }


def provenance_from_json(data: Json) -> Provenance:
    """The provenance of plain data. Raises ValueError."""
    fields = _Fields(data, "provenance")
    origin = Provenance(
        run=fields.text("run"),
        scenario=fields.text("scenario"),
        task=fields.text("task"),
        query=fields.text("query"),
        attempt=fields.count("attempt"),
    )
    fields.close()
    return origin


def skill_to_json(skill: Skill) -> dict[str, Json]:
    """A skill as plain data; `skill_from_json` gives an equal skill back."""
    return {
        "id": skill.id,
        "kind": skill.kind,
        "name": skill.name,
        "signature": skill.signature,
        "docstring": skill.docstring,
        "source": skill.source,
        "interface": skill.interface,
        "status": skill.status,
        "version": skill.version,
        "lineage": skill.lineage,
        "parents": skill.parents,
        "provenance": provenance_to_json(skill.provenance),
        "usage": usage_to_json(skill.usage),
    }


def skill_from_json(data: Json) -> Skill:
    """The skill of plain data. Raises ValueError that names the wrong field.

    The id is taken as given; `exchange.py` checks it against the content for skills of strangers.
    """
    fields = _Fields(data, "skill")
    skill = Skill(
        id=fields.text("id"),
        kind=fields.kind(),
        name=fields.text("name"),
        signature=fields.text("signature"),
        docstring=fields.text("docstring"),
        source=fields.text("source"),
        interface=fields.mapping("interface"),
        status=fields.status(),
        version=fields.count("version"),
        lineage=fields.text("lineage"),
        parents=fields.texts("parents"),
        provenance=provenance_from_json(fields.take("provenance")),
        usage=usage_from_json(fields.take("usage")),
    )
    fields.close()
    return skill


def change_to_json(change: Change) -> dict[str, Json]:
    """A change as plain data; `change_from_json` gives an equal change back."""
    data: dict[str, Json] = {"op": op_of(change), "cause": change.cause}
    if isinstance(change, Merge):
        data["bases"] = change.bases
    elif not isinstance(change, Create):
        data["base"] = change.base
    if isinstance(change, Retire):
        data["reason"] = change.reason
    else:
        data["skill"] = skill_to_json(change.skill)
    return data


def change_from_json(data: Json) -> Change:
    """The change of plain data. Raises ValueError that names the wrong field."""
    fields = _Fields(data, "change")
    op, cause = fields.text("op"), fields.texts("cause")
    change: Change
    if op == "create":
        change = Create(skill_from_json(fields.take("skill")), cause)
    elif op == "revise":
        change = Revise(fields.text("base"), skill_from_json(fields.take("skill")), cause)
    elif op == "fork":
        change = Fork(fields.text("base"), skill_from_json(fields.take("skill")), cause)
    elif op == "merge":
        change = Merge(fields.texts("bases"), skill_from_json(fields.take("skill")), cause)
    elif op == "retire":
        change = Retire(fields.text("base"), fields.text("reason"), cause)
    else:
        raise ValueError(f"change: op is {op!r}, not one of {', '.join(_OPS)}")
    fields.close()
    return change


class _Fields:
    """The fields of one JSON object, each taken once and with its type checked."""

    def __init__(self, data: Json, what: str) -> None:
        if not isinstance(data, Mapping):
            raise ValueError(f"{what}: not an object")
        self._left, self._what = dict(data), what

    def take(self, key: str) -> Json:
        if key not in self._left:
            raise ValueError(f"{self._what}: no {key}")
        return self._left.pop(key)

    def text(self, key: str) -> str:
        value = self.take(key)
        if not isinstance(value, str):
            raise ValueError(f"{self._what}: {key} is not text")
        return value

    def count(self, key: str) -> int:
        value = self.take(key)
        if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < 2**63:
            raise ValueError(f"{self._what}: {key} is not a whole number from 0 to 2**63")
        return value

    def texts(self, key: str) -> tuple[str, ...]:
        value = self.take(key)
        if isinstance(value, str) or not isinstance(value, list | tuple):
            raise ValueError(f"{self._what}: {key} is not a list")
        items = tuple(item for item in value if isinstance(item, str))
        if len(items) < len(value):
            raise ValueError(f"{self._what}: {key} holds something other than text")
        return items

    def mapping(self, key: str) -> dict[str, Json]:
        value = self.take(key)
        if not isinstance(value, Mapping):
            raise ValueError(f"{self._what}: {key} is not an object")
        return dict(value)

    def kind(self) -> SkillKind:
        return cast(SkillKind, self._one_of("kind", get_args(SkillKind)))

    def status(self) -> SkillStatus:
        return cast(SkillStatus, self._one_of("status", get_args(SkillStatus)))

    def _one_of(self, key: str, words: tuple[str, ...]) -> str:
        value = self.text(key)
        if value not in words:
            raise ValueError(f"{self._what}: {key} is {value!r}, not one of {', '.join(words)}")
        return value

    def close(self) -> None:
        """Refuse what was not taken."""
        if self._left:
            raise ValueError(f"{self._what}: unknown {', '.join(map(str, self._left))}")
