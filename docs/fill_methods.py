"""Writes a page for each method of plugins/operators, out of its operators' own words.

    python docs/fill_methods.py           write the pages and their place in mkdocs.yml
    python docs/fill_methods.py --check   exit 1 if any of them is out of date

What a page says comes from the method's YAML and from the operators' citation, summary, docstrings
and settings; to change a page, change those.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from inspect import cleandoc, getdoc
from pathlib import Path
from typing import Any

from blocks import ROOT

from auto_research.agent_research.method import Filled, Method, load_method
from auto_research.agent_research.operators import Operator, Slot
from auto_research.plugins import Registry, load_plugins

PLUGIN = "operators"
FOLDER = ROOT / "docs" / "methods" / "operators"
NAVIGATION = ROOT / "mkdocs.yml"
WRITTEN = "<!-- Written by docs/fill_methods.py: change the operators' docstrings instead. -->"
_NAV = re.compile(
    r"(\n *# operators: fill_methods\.py writes these\n).*?(\n? *# /operators\n)", re.S
)


def pages(registry: Registry) -> dict[Path, str]:
    """Every page by its path: one a method, and a table of them all."""
    methods = [
        load_method(name, registry)
        for name, entry in sorted(registry.methods.items())
        if entry.plugin == PLUGIN
    ]
    made = {FOLDER / f"{m.name}.md": _lines(_page(m, registry)) for m in methods}
    return {FOLDER / "index.md": _lines(_index(methods)), **made}


def navigation(old: str, methods: Iterable[Path]) -> str:
    """mkdocs.yml with the pages in the place that it keeps for them."""
    rows = "\n".join(f"          - {path.relative_to(ROOT / 'docs')}" for path in methods)
    return _NAV.sub(lambda found: f"{found[1]}{rows}\n{found[2].lstrip(chr(10))}", old)


def _index(methods: Sequence[Method]) -> Iterator[str]:
    yield from (WRITTEN, "", "# Operators of other papers", "")
    yield "One module a paper, in `plugins/operators`. Where a paper is silent, or no more than its"
    yield 'abstract is known, a page says "interpretation".'
    yield ""
    rows = [
        (
            f"[{m.name}]({m.name}.md)",
            m.summary,
            m.citation,
            *(f"`{f.use}`" for f in m.slots().values()),
        )
        for m in methods
    ]
    yield from _grid(
        ("method", "what it does", "source", "retrieval", "update", "reward", "rollout"), rows
    )


def _page(method: Method, registry: Registry) -> Iterator[str]:
    yield from (WRITTEN, "", f"# {method.name}", "", f"{_capital(method.summary)}.", "")
    yield f"**Source:** {method.citation}."
    kinds = {slot: registry.operators[slot][f.use] for slot, f in method.slots().items()}
    modules = dict.fromkeys(sys.modules[entry.value.__module__] for entry in kinds.values())
    for module in (m for m in modules if ".papers." in m.__name__):
        yield from ("", "## The rule", "", _marked(cleandoc(module.__doc__ or "")))
    yield from ("", "## Its operators", "", "```bash")
    yield from (
        f"auto-research agent-eval --method {method.name} --split validation --seed 7",
        "```",
    )
    for slot, filled in method.slots().items():
        yield from _operator(slot, filled, kinds[slot].value, kinds[slot].plugin)


def _operator(slot: Slot, filled: Filled, kind: type[Operator], plugin: str) -> Iterator[str]:
    yield from ("", f"### {slot}: {filled.use}", "", f"{_capital(kind.summary)}.", "")
    yield f"**Source:** {kind.citation}. **Plugin:** {plugin}."
    notes = vars(kind).get("__doc__")
    if notes:
        yield from ("", _marked(getdoc(kind) or ""))
    rows = [_setting(name, value, kind) for name, value in _settings(filled)]
    if rows:
        yield ""
        yield from _grid(("setting", "here", "default", "may be", "what it is"), rows)


def _settings(filled: Filled) -> list[tuple[str, object]]:
    return list(filled.settings.model_dump(mode="json").items())


def _setting(name: str, value: object, kind: type[Operator]) -> Sequence[str]:
    told: Mapping[str, Any] = kind.settings_type.model_json_schema()["properties"][name]
    return (
        f"`{name}`",
        f"`{value}`",
        f"`{told['default']}`" if "default" in told else "",
        _range(told),
        str(told.get("description", "")),
    )


def _range(told: Mapping[str, Any]) -> str:
    """What values a setting takes, in words."""
    if "enum" in told:
        return ", ".join(f"`{word}`" for word in told["enum"])
    words = {
        "minimum": "at least",
        "exclusiveMinimum": "above",
        "maximum": "at most",
        "exclusiveMaximum": "below",
    }
    bounds = [f"{words[key]} {told[key]:g}" for key in words if key in told]
    return ", ".join([str(told.get("type", "any")), *bounds])


def _marked(docstring: str) -> str:
    """A docstring as Markdown: indented lines become blocks, and what looks like a tag does not."""
    out: list[str] = []
    for part in re.split(r"((?:^ {4}.*\n?|^\n(?= {4}))+)", docstring, flags=re.MULTILINE):
        if re.match(r"\n* {4}", part):
            out.append("```text\n" + cleandoc("\n" + part).rstrip() + "\n```")
        elif part.strip():
            out.append(part.strip().replace("<", "&lt;"))
    return "\n\n".join(out)


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _grid(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    for line in [columns, ["---"] * len(columns), *rows]:
        yield "| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |"


def _lines(lines: Iterable[str]) -> str:
    return "\n".join(lines) + "\n"


def main(arguments: Sequence[str] | None = None) -> int:
    """Write what is out of date, or with ``--check`` only name it; the exit code."""
    parser = argparse.ArgumentParser(description="Write the pages of the methods of other papers.")
    parser.add_argument("--check", action="store_true", help="change nothing; exit 1 if stale")
    check = parser.parse_args(arguments).check
    wanted: dict[Path, str] = pages(load_plugins())
    wanted[NAVIGATION] = navigation(NAVIGATION.read_text(encoding="utf-8"), wanted)
    gone = [page for page in FOLDER.glob("*.md") if page not in wanted]
    stale = [p for p, text in wanted.items() if not p.exists() or p.read_text("utf-8") != text]
    for page in [*stale, *gone]:
        print(f"{'out of date' if check else 'written'}: {page.relative_to(ROOT)}", file=sys.stderr)
    if check:
        return int(bool(stale or gone))
    FOLDER.mkdir(parents=True, exist_ok=True)
    for page in stale:
        page.write_text(wanted[page], encoding="utf-8")
    for page in gone:
        page.unlink()
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
