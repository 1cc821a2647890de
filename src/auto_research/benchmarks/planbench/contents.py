"""A hash of everything that defines the tasks: this package's sources, sizes and B, and data."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path

import auto_research.pddl
from auto_research import rng

_HERE = Path(__file__).parent


def contents_hash(data: Mapping[str, Path] | None = None) -> str:
    """Hash of the generator's and judge's sources and of `data` files by name, 16 hex digits."""
    pddl = Path(auto_research.pddl.__file__).parent
    digest = hashlib.sha256()
    roots = ((_HERE, "planbench"), (pddl, "pddl"))
    sources = [(p, f"{name}/{p.relative_to(r)}") for r, name in roots for p in r.rglob("*.py")]
    sources += [(Path(rng.__file__), "rng.py")]
    sources += [(path, f"data/{name}") for name, path in (data or {}).items()]
    for path, name in sorted(sources, key=lambda source: source[1]):
        content = path.read_bytes()
        digest.update(f"{name} {len(content)}\n".encode() + content)
    return digest.hexdigest()[:16]
