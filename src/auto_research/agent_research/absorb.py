"""What a finished group leaves behind: skills with their records, and rows with their credit."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace

from auto_research.agent_research.budget import Spending
from auto_research.agent_research.chain import ChainOutcome, record_uses, retrieved
from auto_research.agent_research.episode import cost_of
from auto_research.agent_research.library import Change, LibraryView, apply_changes, bases_of
from auto_research.agent_research.operators import CreditedGroup, Episode
from auto_research.agent_research.rows import EpisodeRow, TranscriptLine, change_row


def adopt(
    library: LibraryView, changes: Sequence[Change], outcomes: Sequence[ChainOutcome]
) -> LibraryView:
    """The run's library after a group: its changes made, every use in its chains on record once.

    A skill's uses count before a change that starts from it, so that a new version inherits them.
    Uses of a skill that was not taken over go with it.
    """
    uses = [(e, i) for outcome in outcomes for e in outcome.episodes for i in retrieved(e)]
    counted: set[str] = set()
    for change in changes:
        library = _count(library, uses, bases_of(change), counted)
        library = apply_changes(library, (change,))
    return _count(library, uses, library.skills, counted)


def _count(
    library: LibraryView,
    uses: Iterable[tuple[Episode, str]],
    among: Collection[str],
    counted: set[str],
) -> LibraryView:
    fresh = {i for i in among if i in library.skills and i not in counted}
    counted |= fresh
    for episode, skill_id in uses:
        if skill_id in fresh:
            library = record_uses(library, episode, {skill_id})
    return library


def credited_rows(
    outcomes: Sequence[ChainOutcome], group: CreditedGroup, changes: Sequence[Change]
) -> list[EpisodeRow]:
    """The siblings' rows with rewards and advantages.

    The last one also tells those of the group's `changes` that no chain made before.
    """
    rows = [
        replace(row, reward=_rounded(reward), advantage=_rounded(advantage))
        for outcome, rewards, advantages in zip(
            outcomes, group.rewards, group.advantages, strict=True
        )
        for row, reward, advantage in zip(outcome.rows, rewards, advantages, strict=True)
    ]
    shown = [change for outcome in outcomes for change in outcome.changes]
    told = tuple(change_row(change) for change in changes if change not in shown)
    if told:
        rows[-1] = replace(rows[-1], changes=(*rows[-1].changes, *told))
    return rows


def charge_rows(
    rows: Sequence[EpisodeRow], spending: Spending, *, cap: int, full_cost: int
) -> list[EpisodeRow]:
    """`rows` with what the step after their group spent, filled into what each left of `cap`.

    So no row passes `cap` units, and the cost at test holds all that was spent at test.
    """
    left = Counter(spending.units_by_kind)
    charged: list[EpisodeRow] = []
    for row in rows:
        share = _take(left, cap - row.units)
        charged.append(_with_units(row, share, full_cost) if share else row)
    last = charged[-1]
    charged[-1] = replace(
        last,
        tokens=last.tokens + spending.totals.get("tokens", 0),
        generated=last.generated + spending.totals.get("generated", 0),
        model_calls=last.model_calls + spending.totals.get("model_calls", 0),
    )
    return charged


def spending_of(rows: Iterable[EpisodeRow]) -> Spending:
    """What the rows have spent, all together."""
    kinds: Counter[str] = Counter()
    totals: Counter[str] = Counter()
    for row in rows:
        kinds.update(row.units_by_kind)
        totals.update(units=row.units, tokens=row.tokens, model_calls=row.model_calls)
    return Spending(dict(kinds), dict(totals))


def mean_reward(group: CreditedGroup) -> float:
    """The mean over all that could be judged; 0 when nothing could."""
    known = [reward for row in group.rewards for reward in row if reward is not None]
    return round(sum(known) / len(known), 6) if known else 0.0


def _take(left: Counter[str], room: int) -> dict[str, int]:
    """Moves up to `room` units out of `left`, in order of kind."""
    taken: dict[str, int] = {}
    for kind in sorted(left):
        units = min(left[kind], room)
        if units > 0:
            taken[kind] = units
            left[kind] -= units
            room -= units
    return taken


def _with_units(row: EpisodeRow, share: dict[str, int], full_cost: int) -> EpisodeRow:
    kinds = Counter(row.units_by_kind)
    kinds.update(share)
    units = kinds.total()
    line = TranscriptLine("commit", f"{sum(share.values())} units of the step after its group")
    return replace(
        row,
        units=units,
        units_by_kind=dict(sorted(kinds.items())),
        cost=cost_of(units, full_cost),
        transcript=(*row.transcript, line),
    )


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 6)
