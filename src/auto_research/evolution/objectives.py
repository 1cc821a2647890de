"""Whether a direction asks for what a search does: more joint success at less total cost."""

from __future__ import annotations

from collections.abc import Sequence

from auto_research.errors import UserError
from auto_research.evolution.words import Word


def check_objectives(words: Sequence[Word]) -> None:
    """Raises UserError where the direction asks for less success or for more cost.

    "up" and "down" words belong to the objective right beside them, to the one where they make
    sense if there is one on both sides; further off they go forward. Denied, each is the other:
    "never lower success" asks for nothing that a search would not do.
    """
    said = _undenied([word for word in words if word.kind != "stop"])
    good = {"success": "up", "cost": "down"}
    for number, word in enumerate(said):
        if word.kind not in ("up", "down"):
            continue
        beside = said[max(0, number - 1) : number] + said[number + 1 : number + 2]
        near = [w.value for w in beside if w.kind == "objective" and w.value in good]
        if near and not any(good[objective] == word.kind for objective in near):
            raise UserError(
                f"the direction asks for {near[0]} {word.kind}",
                where="--direction",
                mend="a search raises joint success and lowers total cost",
            )


def _undenied(said: Sequence[Word]) -> list[Word]:
    """The words with "no higher" and "no cost increase" turned into what they say."""
    found: list[Word] = []
    for number, word in enumerate(said):
        denies = [number - 1, *([number - 2] if said[number - 1].kind == "objective" else [])]
        denied = [at for at in denies if at >= 0 and said[at].kind == "exclude"]
        if denied and word.kind == "up":
            found.append(Word("down", ""))
        elif denied and word.kind == "down":
            found.append(Word("up", ""))
        else:
            found.append(word)
    return [word for word in found if word.kind not in ("exclude", "unknown")]
