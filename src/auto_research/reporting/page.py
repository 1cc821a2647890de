"""What the HTML pages share: the template environment, and inline parts with their CSP hashes."""

from __future__ import annotations

import base64
import hashlib
from importlib import resources
from urllib.parse import quote

from jinja2 import Environment, PackageLoader, StrictUndefined

from auto_research.reporting.highlight import highlight
from auto_research.reporting.words import PHASE_NAMES, count


def environment() -> Environment:
    """Everything is escaped, and a name that a template lacks is an error."""
    made = Environment(
        loader=PackageLoader("auto_research.reporting"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters.update(
        highlight=highlight,
        count=count,
        episode_link=lambda episode: "#episode=" + quote(episode, safe=""),
        phase=lambda phase: PHASE_NAMES.get(phase, phase),
    )
    return made


def text_of(name: str) -> str:
    """The content of a file beside the templates."""
    return resources.files("auto_research.reporting").joinpath("templates", name).read_text("utf-8")


def csp_hash(text: str) -> str:
    """The content-security-policy name of an inline script or style."""
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
