"""Text rules for a search: written from what an attempt tried in vain, read as what to try first.

A rule reads "Prefer <action>; avoid <action>." with actions as ``verb<type,...>``. It is written
in the words of the world that it was learned in, carries that world's interface, and is read in
another world by analogy, as functions are.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from auto_research.agent_research.agents.search.analogy import (
    Analogy,
    find_analogy,
    interface_of,
    schemas_in,
)
from auto_research.agent_research.agents.search.forward import NEUTRAL
from auto_research.agent_research.agents.search.programs import label
from auto_research.agent_research.operators import EditRequest, Episode, Use
from auto_research.agent_research.rows import TranscriptLine
from auto_research.agent_research.skill import Provenance, Skill, text_skill
from auto_research.benchmarks.base import Json
from auto_research.pddl import Domain, read_domain

Charge = Callable[[str, int], None]
Leaning = Mapping[str, int]  # by action: 1 preferred, -1 avoided
_SIGN = {"prefer": 1, "avoid": -1}
_CLAUSE = re.compile(r"\s*(prefer|avoid)\s+(.+)", re.IGNORECASE | re.DOTALL)
_ACTION = re.compile(r"([^\s,<>]+)(?:<[^<>]*>)?")


# Reading.


@dataclass(frozen=True, slots=True)
class Counsel:
    """The rules that an attempt was given: what the actions weigh, and which could be read."""

    weights: Mapping[str, int] = field(default_factory=dict)
    heard: tuple[str, ...] = ()
    unread: tuple[str, ...] = ()
    lines: tuple[TranscriptLine, ...] = ()

    def uses(self, *, searched: bool, solved: bool) -> list[Use]:
        """A rule that could be read has a say once a search runs."""
        return [
            *(Use(i, searched, searched and solved) for i in self.heard),
            *(Use(i, False, False, detail="cannot be read for the task") for i in self.unread),
        ]


def heed(
    texts: Iterable[Skill],
    analogy: Callable[[Skill], Analogy | None],
    domain: Domain,
    charge: Charge,
) -> Counsel:
    """What `texts` advise in `domain`; one ``rule`` each. Raises BudgetExceeded.

    Each rule has one vote on an action: more for it than against make it weigh 0, more against
    than for twice the neutral weight.
    """
    votes: Counter[str] = Counter()
    heard, unread, lines = list[str](), list[str](), list[TranscriptLine]()
    for text in texts:
        charge("rule", 1)
        leaning = _in_words_of(domain, leaning_of(text.source), text, analogy)
        votes.update(leaning)
        (heard if leaning else unread).append(text.id)
        told = _told(leaning, domain) if leaning else "cannot be read for the task"
        lines.append(TranscriptLine("advice", f"{text.name}: {told}"))
    weights = {a: 0 if n > 0 else 2 * NEUTRAL for a, n in sorted(votes.items()) if n}
    return Counsel(weights, tuple(heard), tuple(unread), tuple(lines))


def leaning_of(text: str) -> Leaning:
    """The clauses of `text` that begin with "prefer" or "avoid"; all others are passed over."""
    found: dict[str, int] = {}
    for part in re.split(r"[;\n]|\.(?:\s|$)", text):
        clause = _CLAUSE.fullmatch(part)
        if clause is not None:
            sign = _SIGN[clause[1].lower()]
            found |= {m[1]: sign for m in _ACTION.finditer(clause[2]) if m[1] != "and"}
    return found


def _in_words_of(
    domain: Domain,
    leaning: Leaning,
    text: Skill,
    analogy: Callable[[Skill], Analogy | None],
) -> Leaning:
    """By analogy where the text has an interface; without one its words are the task's own."""
    if text.interface:
        found = analogy(text) if leaning else None
        names = found.actions if found is not None else {}
        leaning = {names[a]: sign for a, sign in leaning.items() if a in names}
    return {a: sign for a, sign in leaning.items() if a in domain.schemas}


# Writing.


def advise(request: EditRequest, charge: Charge) -> Sequence[Skill]:
    """A text rule on what sets a success apart; empty if it shows nothing. Raises BudgetExceeded.

    The action that takes a larger share of the plan than of the states tried, in this attempt and
    in the failure `against`, by the largest factor is preferred; the one with the smallest factor
    below 1 is avoided. Where the first of the `bases` is a rule for the same kind of world, its
    next version is given: both together, less what they do not agree on. Each action compared
    costs one ``rule``, each one named one ``write``.
    """
    episode = request.episode
    if episode is None or "domain" not in episode.task.observation:
        return []
    domain = read_domain(episode.task.observation["domain"])
    leaning = _learned(episode, request.against, domain, charge)
    base = request.bases[0] if request.bases and request.bases[0].kind == "text" else None
    analogy = find_analogy(base.interface, domain, charge) if base is not None else None
    interface = interface_of(domain)
    if base is not None and analogy is not None and analogy.exact:
        back = analogy.back().actions
        leaning = _agreed(leaning_of(base.source), {back[a]: n for a, n in leaning.items()})
        interface = dict(base.interface)
        domain = Domain("", {}, {}, {s.name: s for s in schemas_in(interface)})
    if not leaning:
        return []
    charge("write", len(leaning))
    task = episode.task
    query = f"{task.observation['domain']}\n{task.observation.get('problem', '')}"
    return [
        text_skill(
            _told(leaning, domain),
            name=_name(leaning),
            interface=interface,
            provenance=Provenance(scenario=task.scenario, task=task.id, query=query),
        )
    ]


def _learned(
    episode: Episode, against: Episode | None, domain: Domain, charge: Charge
) -> dict[str, int]:
    done = Counter(a for a in _plan(episode) if a in domain.schemas)
    tried = Counter(_tried(episode))
    if against is not None and _world(against) == _world(episode):
        tried.update(_tried(against))
    tried = Counter({a: n for a, n in tried.items() if a in domain.schemas and n > 0})
    if not done or not tried:
        return {}
    charge("rule", len(tried))
    # How many times larger the share of the plan is than the share of what was tried.
    lift = {a: done[a] * tried.total() / (done.total() * tried[a]) for a in sorted(tried)}
    best, worst = max(lift, key=lambda a: lift[a]), min(lift, key=lambda a: lift[a])
    leaning: dict[str, int] = {}
    if lift[best] > 1:
        leaning[best] = 1
    if lift[worst] < 1:
        leaning[worst] = -1
    return leaning


def _agreed(old: Leaning, new: Leaning) -> dict[str, int]:
    both = {**new, **old}
    return {a: sign for a, sign in both.items() if new.get(a, sign) == old.get(a, sign)}


def _told(leaning: Leaning, domain: Domain) -> str:
    clauses = []
    for verb, sign in _SIGN.items():
        names = sorted(label((a,), domain) for a, s in leaning.items() if s == sign)
        if names:
            clauses.append(f"{verb} {', '.join(names)}")
    told = "; ".join(clauses)
    return f"{told[:1].upper()}{told[1:]}."


def _name(leaning: Leaning) -> str:
    verb, sign = next((v, s) for v, s in _SIGN.items() if s in leaning.values())
    action = min(a for a, s in leaning.items() if s == sign)
    return re.sub(r"\W+", "_", f"{verb}_{action}")


def _world(episode: Episode) -> str | None:
    return episode.task.observation.get("domain")


def _evidence(episode: Episode, key: str) -> Json:
    return episode.evidence.get(key) if isinstance(episode.evidence, Mapping) else None


def _plan(episode: Episode) -> Iterable[str]:
    """The names of the plan's actions."""
    rows = _evidence(episode, "plan")
    steps = rows if isinstance(rows, Sequence) and not isinstance(rows, str) else ()
    return [str(s[0]) for s in steps if isinstance(s, Sequence) and s]


def _tried(episode: Episode) -> dict[str, int]:
    """By action, how many states the searches of the attempt have made."""
    counts = _evidence(episode, "tried")
    pairs = counts.items() if isinstance(counts, Mapping) else ()
    return {a: n for a, n in pairs if isinstance(n, int)}
