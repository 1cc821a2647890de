"""Skills for an edit request: taken from an attempt's own code where that has them, else asked of
the model with a template, and charged. What a model writes counts only if it is Python.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from auto_research.agent_research.agents.llm.attempt import Ask
from auto_research.agent_research.agents.llm.code import (
    Block,
    as_one_function,
    blocks_in,
    calls,
    defined,
    uses,
    written,
)
from auto_research.agent_research.agents.llm.context import trimmed
from auto_research.agent_research.agents.llm.prompts import Prompts
from auto_research.agent_research.budget import Meter
from auto_research.agent_research.operators import EditRequest, Episode
from auto_research.agent_research.similarity import query_text
from auto_research.agent_research.skill import Provenance, Skill, function_skill, text_skill
from auto_research.benchmarks.base import Json, Task

MAX_STORY = 20_000  # characters of an attempt that the model gets to read
MAX_VERSIONS = 8  # of a skill that is to shrink
_FENCED = re.compile(r"^[ \t]*```[^\n]*\n(.*?)^[ \t]*```", re.DOTALL | re.M)


def write(
    request: EditRequest, task: Task, ask: Ask, prompts: Prompts, meter: Meter
) -> Sequence[Skill]:
    """Skills for a request; empty when there is nothing to write. Raises BudgetExceeded.

    Every skill written costs a unit of ``write``.
    """
    skills = _Writer(request, task, ask, prompts).skills()
    meter.spend("write", len(skills))
    return skills


@dataclass
class _Writer:
    request: EditRequest
    task: Task
    ask: Ask
    prompts: Prompts

    def skills(self) -> Sequence[Skill]:
        request = self.request
        match request.kind:
            case "create":
                return self._created()
            case "trace":
                return self._trace()
            case "revise" if request.bases:
                return self._revised(request.bases[0])
            case "merge" if request.bases:
                return self._asked("merge", request.bases[0], bases=_sources(request.bases))
            case "adapt" if request.bases:
                told = {"bases": _sources(request.bases), "instruction": query_text(self.task)}
                return self._asked("adapt", None, **told)
            case "shrink" if request.bases:
                return self._shrunk(request.bases[0])
            case "rule":
                return self._rule()
        return []  # no action schemas are known to learn from

    def _created(self) -> list[Skill]:
        """What the attempt defined and ran; with a span, what makes one of its calls."""
        found: list[Skill] = []
        span = set(self.request.span)
        for name, source in self._written().items():
            if not span or span.intersection(calls(source)):
                found += self._function(source, name)
        return _distinct(found)

    def _trace(self) -> list[Skill]:
        source = as_one_function(self._blocks(), "earlier_work")
        return self._function(source, "earlier_work") if source else []

    def _revised(self, base: Skill) -> list[Skill]:
        """The base as the attempt itself defined it anew; else what the attempt wrote, where it
        succeeded without the base; else, where it failed, what the model proposes.
        """
        blocks = self._blocks()
        own = self._written()
        if base.kind == "function" and base.name in own:
            skills = self._function(own[base.name], base.name, base.interface)
            return [skill for skill in skills if skill.id != base.id]
        if self._finished() and base.kind == "function":
            return [] if uses(blocks, [base.name])[base.name] else self._created()
        if not blocks:
            return []
        told = {
            "base": base.source,
            "others": _sources(self.request.bases[1:]),
            "limit": self.request.limit,
            **self._story(self.request.episode),
        }
        return [skill for skill in self._asked("revise", base, **told) if skill.id != base.id]

    def _shrunk(self, base: Skill) -> list[Skill]:
        reply = self._reply("shrink", base=_source(base), kind=base.kind, most=MAX_VERSIONS)
        found: list[Skill] = []
        parts = _FENCED.findall(reply) if base.kind == "text" else blocks_in(reply)
        for part in parts[:MAX_VERSIONS]:
            found += self._version(part, base)
        return [skill for skill in _distinct(found) if skill.id != base.id]

    def _rule(self) -> list[Skill]:
        good, bad = self.request.episode, self.request.against
        if good is None:
            return []
        bases = self.request.bases
        base = bases[0] if bases and bases[0].kind == "text" else None
        if base is not None and base.interface.get("world") != self.task.kind:
            base = None
        text = self._reply(
            "rule",
            base=base.source if base else "",
            good=self._story(good),
            bad=self._story(bad) if bad else None,
        )
        if base is not None:
            return self._version(text, base)
        return self._text(text, "note", {"world": self.task.kind})

    def _asked(self, template: str, base: Skill | None, /, **values: object) -> list[Skill]:
        """One skill that the model writes, as a version of `base` if there is one."""
        reply = self._reply(template, kind=base.kind if base else "function", **values)
        if base is not None and base.kind == "text":
            return self._version(reply, base)
        code = blocks_in(reply)[:1]
        return [s for c in code for s in (self._version(c, base) if base else self._function(c))]

    def _reply(self, template: str, /, **values: object) -> str:
        answer = self.ask(
            [
                {"role": "system", "content": self.prompts.render("writer")},
                {"role": "user", "content": self.prompts.render(template, **values)},
            ]
        )
        return answer.text

    def _version(self, text: str, base: Skill) -> list[Skill]:
        """`text` as a version of `base`; under another name it stands by itself."""
        if base.kind == "text":
            return self._text(text, base.name, base.interface)
        own = base.name in defined(text)
        return self._function(text, base.name, base.interface) if own else self._function(text)

    def _function(
        self, source: str, name: str | None = None, interface: Mapping[str, Json] | None = None
    ) -> list[Skill]:
        names = list(defined(source))
        if not names:
            return []
        main = name or names[-1]
        try:
            skill = function_skill(
                source,
                main=main,
                interface=interface or {"world": self.task.kind, "function": main},
                provenance=self._provenance(),
            )
        except ValueError:
            return []
        return [skill]

    def _text(self, text: str, name: str, interface: Mapping[str, Json]) -> list[Skill]:
        words = "\n".join(_FENCED.findall(text)).strip() or text.strip()
        if not words:
            return []
        skill = text_skill(words, name=name, interface=interface, provenance=self._provenance())
        return [skill]

    def _provenance(self) -> Provenance:
        task = self.request.episode.task if self.request.episode else self.task
        return Provenance(scenario=task.scenario, task=task.id, query=query_text(task))

    def _evidence(self, episode: Episode | None) -> Mapping[str, Any]:
        evidence = episode.evidence if episode is not None else None
        return evidence if isinstance(evidence, Mapping) else {}

    def _blocks(self, episode: Episode | None = None) -> list[Block]:
        blocks = self._evidence(episode or self.request.episode).get("blocks", ())
        return [Block(str(b["code"]), bool(b["failed"]), str(b["output"])) for b in blocks]

    def _written(self) -> dict[str, str]:
        given = str(self._evidence(self.request.episode).get("given", ""))
        return written(self._blocks(), given)

    def _finished(self) -> bool:
        return self._evidence(self.request.episode).get("finished") is True

    def _story(self, episode: Episode | None) -> dict[str, object]:
        """An episode for a template: its task, its code with what came of it, and its outcome."""
        if episode is None:
            return {"instruction": "", "story": "", "outcome": "unknown"}
        parts = [
            f"```python\n{b.code.strip()}\n```\n{'Error' if b.failed else 'Output'}: {b.output}"
            for b in self._blocks(episode)
        ]
        return {
            "instruction": query_text(episode.task),
            "story": trimmed("\n\n".join(parts), MAX_STORY) or "(nothing)",
            "outcome": "it succeeded" if episode.success else "it did not succeed",
        }


def _source(skill: Skill) -> str:
    if skill.kind == "text":
        return skill.source.strip()
    return f"```python\n{skill.source.strip()}\n```"


def _sources(skills: Sequence[Skill]) -> list[str]:
    return [_source(skill) for skill in skills]


def _distinct(skills: Sequence[Skill]) -> list[Skill]:
    return list({skill.id: skill for skill in reversed(skills)}.values())[::-1]
