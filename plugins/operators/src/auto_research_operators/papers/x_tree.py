"""X-Tree (arXiv 2609.32993): spans of actions that are worth reusing, merged pair by pair.

Actions are canonicalised to verb<role>. As in byte-pair encoding, the pair of neighbours with the
greatest score is merged into one span, over and over:

    X = freq * len^p * (succ + eps)^ps ,  merge while  freq - 1 > eta(len)

freq counts the pair in all attempts so far, len its actions, succ is the share of its occurrences
that lie in a success. Spans that an episode shows become skills. A longer span forks from the
skill of its longest part and takes in what that part knows; so versions count the tree's levels.

Interpretation: p, ps, eps and eta are not known to us, eta(len) = eta * len; `search` reads a span
as the set of its actions. The paper's uses as node reward, as online bonus and as a teacher's
context need a policy that trains, and are left out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any, ClassVar

from pydantic import Field

from auto_research.agent_research.library import (
    Change,
    Create,
    Fork,
    LibraryView,
    apply_changes,
)
from auto_research.agent_research.operators import (
    Choice,
    Context,
    CreditedGroup,
    EditRequest,
    Episode,
    LibraryUpdate,
    RetrievalPolicy,
    Settings,
)
from auto_research.agent_research.skill import Skill
from auto_research.benchmarks.base import Json, Task
from auto_research_operators.shared.changes import is_active
from auto_research_operators.shared.relevance import certain, ranked

Span = tuple[str, ...]
Attempt = tuple[Span, bool]  # its actions, and whether it succeeded


class TreeSettings(Settings):
    """The score of a span, and when merging ends."""

    p: float = Field(default=1.0, ge=0, description="exponent of the length")
    ps: float = Field(default=1.0, ge=0, description="exponent of the success rate")
    eps: float = Field(default=0.05, gt=0)
    eta: float = Field(default=0.5, ge=0, description="merge while freq - 1 > eta * len")
    max_merges: int = Field(default=64, ge=0)


def merged_spans(attempts: Sequence[Attempt], settings: TreeSettings) -> dict[Span, float]:
    """The spans in the order in which they were merged, with their scores X."""
    rows: list[list[Span]] = [[(action,) for action in actions] for actions, _ in attempts]
    spans: dict[Span, float] = {}
    for _ in range(settings.max_merges):
        best = _best_pair(rows, attempts, settings)
        if best is None:
            break
        score, pair = best
        spans.setdefault(pair[0] + pair[1], score)
        rows = [_joined(row, pair) for row in rows]
    return spans


def _best_pair(
    rows: Sequence[Sequence[Span]], attempts: Sequence[Attempt], settings: TreeSettings
) -> tuple[float, tuple[Span, Span]] | None:
    """The pair with the greatest X that is frequent enough for its length; ties by its actions."""
    freq: dict[tuple[Span, Span], int] = {}
    wins: dict[tuple[Span, Span], int] = {}
    for row, (_, success) in zip(rows, attempts, strict=True):
        for pair in pairwise(row):
            freq[pair] = freq.get(pair, 0) + 1
            wins[pair] = wins.get(pair, 0) + success
    scored = [
        (-_score(count, len(pair[0] + pair[1]), wins[pair] / count, settings), pair)
        for pair, count in freq.items()
        if count - 1 > settings.eta * len(pair[0] + pair[1])
    ]
    if not scored:
        return None
    negative, pair = min(scored)
    return -negative, pair


def _score(freq: int, length: int, success: float, settings: TreeSettings) -> float:
    weight = length**settings.p * (success + settings.eps) ** settings.ps
    return round(float(freq * weight), 9)


def _joined(row: Sequence[Span], pair: tuple[Span, Span]) -> list[Span]:
    out: list[Span] = []
    i = 0
    while i < len(row):
        if i + 1 < len(row) and (row[i], row[i + 1]) == pair:
            out.append(pair[0] + pair[1])
            i += 2
        else:
            out.append(row[i])
            i += 1
    return out


class PrefixRetrieval(RetrievalPolicy):
    """The top of the task's tree: the longest spans that fit and their parts, put together.

    `search` runs one skill at a time, so the writer makes one for the task out of the
    `top_k` nodes; where it cannot, they are given as they are.
    """

    name = "x-tree.prefix"
    citation = "X-Tree, arXiv 2609.32993 (tree prefix; order and joining: interpretation)"
    summary = "the top of the span tree of the task's kind of world, joined into one skill"

    class Options(Settings):
        top_k: int = Field(default=8, ge=1)

    settings_type: ClassVar[type[Settings]] = Options
    settings: Options

    def choose(self, task: Task, library: LibraryView, ctx: Context) -> Choice:
        skills = library.active()
        ctx.spend("retrieve", len(skills))
        fit = {s.id: ctx.fit(task, s) for s in skills}
        most = max(fit.values(), default=0.0)
        nodes = [s for s in skills if fit[s.id] == most > 0]
        best = ranked(nodes, lambda s: s.version)[: self.settings.top_k]
        joined = ctx.write(EditRequest("adapt", task=task, bases=tuple(best))) if best else ()
        return certain(joined or best)


class SpanUpdate(LibraryUpdate):
    """Keeps the attempts, merges their spans anew after each group, writes the best as skills."""

    name = "x-tree.spans"
    citation = "X-Tree, arXiv 2609.32993 (X-score and stopping rule; constants: interpretation)"
    summary = "spans of actions merged by reusability become skills, longer ones out of shorter"

    class Options(TreeSettings):
        skills_per_group: int = Field(default=2, ge=1)

    settings_type: ClassVar[type[Settings]] = Options
    settings: Options

    def __init__(self, settings: Settings) -> None:
        super().__init__(settings)
        self.attempts: list[Attempt] = []
        self.written: dict[str, list[str]] = {}  # skill id: the actions of its span, sorted

    def state(self) -> Json:
        return {
            "attempts": [[list(actions), success] for actions, success in self.attempts],
            "written": {s: list(actions) for s, actions in self.written.items()},
        }

    def restore(self, state: Any) -> None:
        if state is not None:
            self.attempts = [(tuple(actions), bool(won)) for actions, won in state["attempts"]]
            self.written = {s: list(actions) for s, actions in state["written"].items()}

    def after_group(
        self, group: CreditedGroup, library: LibraryView, ctx: Context
    ) -> Sequence[Change]:
        if ctx.phase != "training":
            return ()
        episodes = [e for chain in group.chains for e in chain.episodes if not e.error]
        self.attempts += [(e.actions, e.success) for e in episodes if e.actions]
        spans = merged_spans(self.attempts, self.settings)
        changes: list[Change] = []
        for e in reversed(episodes):
            for span in _shown_by(e, spans) if e.success else ():
                if len(changes) == self.settings.skills_per_group:
                    return changes
                change = self._skill_of(span, e, library, ctx)
                if change is not None:
                    changes.append(change)
                    library = apply_changes(library, [change])
        return changes

    def _skill_of(
        self, span: Span, episode: Episode, library: LibraryView, ctx: Context
    ) -> Change | None:
        """What the episode shows of the span, together with the skill of its longest part."""
        actions = sorted(set(span))
        written = {s: a for s, a in self.written.items() if is_active(s, library)}
        if actions in written.values():
            return None
        made = ctx.write(EditRequest("create", episode=episode, span=span))
        if not made:
            return None
        base = _longest_part(actions, written, library)
        if base is not None:
            request = EditRequest("merge", task=episode.task, bases=(base, made[0]))
            made = ctx.write(request) or made
        if library.get(made[0].id) is not None:
            return None
        self.written[made[0].id] = actions
        cause = (episode.id,)
        return Create(made[0], cause) if base is None else Fork(base.id, made[0], cause)


def _shown_by(episode: Episode, spans: Mapping[Span, float]) -> list[Span]:
    """The spans that occur in the episode's actions, greatest score first."""
    actions = episode.actions
    found = [
        span
        for span in spans
        if any(actions[i : i + len(span)] == span for i in range(len(actions) - len(span) + 1))
    ]
    return sorted(found, key=lambda span: (-spans[span], span))


def _longest_part(
    actions: Sequence[str], written: Mapping[str, Sequence[str]], library: LibraryView
) -> Skill | None:
    """The skill whose span has the most of `actions`, and nothing else."""
    parts = [(-len(a), s) for s, a in written.items() if set(a) < set(actions)]
    return library.get(min(parts)[1]) if parts else None
