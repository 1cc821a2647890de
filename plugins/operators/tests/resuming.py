"""An operator as a resumed run would find it: made anew from its state, through JSON."""

from __future__ import annotations

import json
from typing import Any


def resumed(operator: Any) -> Any:
    """A fresh operator with the same settings and the same state; the states are equal."""
    fresh = type(operator)(operator.settings)
    fresh.restore(json.loads(json.dumps(operator.state())))
    assert json.dumps(fresh.state()) == json.dumps(operator.state())
    return fresh
