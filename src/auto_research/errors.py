"""The error model: what a user did wrong is one clear line; what we did wrong keeps its traceback.

`UserError` carries what is wrong, where, and how to mend it; the command line prints it on one
line and exits with 2. `BudgetExceeded` ends an episode, never a run. Anything else is a bug.
"""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


class AutoResearchError(Exception):
    """Base of every error this project raises on purpose."""


class UserError(AutoResearchError):
    """Bad input: `what` is wrong, `where` it was found and the `mend`, in plain words."""

    def __init__(self, what: str, *, where: str = "", mend: str = "") -> None:
        self.what, self.where, self.mend = what, where, mend
        super().__init__(" ".join(self.line().split()))

    def line(self) -> str:
        """The whole message on one line."""
        where = f" ({self.where})" if self.where else ""
        mend = f"; {self.mend}" if self.mend else ""
        return f"{self.what}{where}{mend}"


class RunStopped(UserError):
    """The run cannot go on now, say because a model server is gone; no episode has failed by it."""


class BudgetExceeded(AutoResearchError):
    """Spending `asked` more of `resource` would pass `limit`; nothing was spent."""

    def __init__(self, resource: str, asked: int, spent: int, limit: int) -> None:
        self.resource, self.asked, self.spent, self.limit = resource, asked, spent, limit
        super().__init__(f"{resource}: {spent} spent, {asked} more asked, limit {limit}")


class EvaluatorError(AutoResearchError):
    """The sealed evaluator process died or answered nonsense; the episode cannot be judged."""


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """A mend for an unknown `word`: the nearest of `known`, or the whole list when none is near."""
    names = sorted(known)
    near = get_close_matches(word, names, n=1, cutoff=0.6)
    if near:
        return f"did you mean {near[0]!r}?"
    return "known: " + (", ".join(names) if names else "none")
