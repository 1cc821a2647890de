"""A task before it is written down: what is asked, what must come of it, and a program for it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Literal

from auto_research.benchmarks.appworld.inside.mini.plan import Person, World

Value = str | int | float

PRELUDE = '''\
def sign_in(app):
    """A token for the supervisor's account in an app."""
    rows = apis.supervisor.show_account_passwords()
    password = next(row["password"] for row in rows if row["account_name"] == app)
    me = apis.supervisor.show_profile()
    user = me["phone_number"] if app == "phone" else me["email"]
    return apis[app].login(username=user, password=password)["access_token"]


def every(api, **arguments):
    """All rows of an API that hands them out page by page."""
    rows, page = [], 0
    while True:
        more = api(page_index=page, page_limit=20, **arguments)
        if not more:
            return rows
        rows, page = rows + more, page + 1

'''


@dataclass(frozen=True)
class Change:
    """Records of a model that must have been changed, and no others of it.

    `rows` are the fields that count, by dotted name. A field named ``x:lines`` is compared line by
    line, in any order.
    """

    model: str
    kind: Literal["added", "updated", "removed"]
    rows: Sequence[Mapping[str, object]]


@dataclass(frozen=True)
class Draft:
    """One task. `side_effects` are models that the apps change along with what is asked for."""

    instruction: str
    program: str
    answer: Value | None = None
    changes: tuple[Change, ...] = ()
    side_effects: tuple[str, ...] = ()

    def requirements(self) -> list[dict[str, str]]:
        """The tests of the evaluation, with AppWorld's labels, in its order."""
        fail = [] if self.answer is None else ["The answer is right."]
        fail += [requirement(change.model, change.kind) for change in self.changes]
        told = [{"requirement": text, "label": "no_op_fail"} for text in fail]
        return [*told, {"requirement": "Nothing else was changed.", "label": "no_op_pass"}]

    def private_data(self) -> dict[str, object]:
        """What the evaluation compares with."""
        changes = [
            {"model": c.model, "kind": c.kind, "rows": [dict(row) for row in c.rows]}
            for c in self.changes
        ]
        return {"changes": changes, "side_effects": sorted(self.side_effects)}


def requirement(model: str, kind: str) -> str:
    """The text of the test of one change."""
    return f"The right records of {model} were {kind}, and no others."


@dataclass(frozen=True)
class Family:
    """A kind of task. `make` returns None where the person's things do not allow for it."""

    name: str
    difficulty: int
    apps: tuple[str, ...]
    make: Callable[[World, Person, Random], Draft | None]


def program(body: str, **values: object) -> str:
    """A reference program: the prelude, and `body` with ``$name`` replaced by Python literals."""
    for name, value in sorted(values.items(), key=lambda pair: -len(pair[0])):
        body = body.replace(f"${name}", repr(value))
    return PRELUDE + body


def money(amount: float) -> float:
    """Rounded to cents."""
    return round(amount, 2)
