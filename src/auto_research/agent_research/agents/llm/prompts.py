"""The prompts: templates in one folder, versioned by the hash of all of them."""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined

FOLDER = Path(__file__).parent / "templates"


class Prompts:
    """Renders the templates of a folder."""

    def __init__(self, folder: Path = FOLDER) -> None:
        self._folder = folder
        self._templates = _templates(folder)

    def render(self, name: str, /, **values: object) -> str:
        """The template `name` filled in, without blank lines at its ends."""
        return self._templates.get_template(f"{name}.j2").render(**values).strip()

    def guide(self, kind: str) -> str:
        """What to know of a kind of world; empty where there is nothing to say."""
        known = {path.name for path in self._folder.glob("guide-*.j2")}
        return self.render(f"guide-{kind}") if f"guide-{kind}.j2" in known else ""

    def content_hash(self) -> str:
        """16 hex digits of a hash of every template."""
        digest = hashlib.sha256()
        for path in sorted(self._folder.glob("*.j2")):
            content = path.read_bytes()
            digest.update(f"{path.name} {len(content)}\n".encode() + content)
        return digest.hexdigest()[:16]


@cache
def _templates(folder: Path) -> Environment:
    """The templates of a folder: compiled once for all agents of this process."""
    return Environment(
        loader=FileSystemLoader(folder),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        autoescape=False,  # these are no web pages
    )
