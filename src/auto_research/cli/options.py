"""What the options of several commands have in common: their bounds, and a run's directory."""

from __future__ import annotations

from pathlib import Path

from auto_research.errors import UserError

RESUME = "the same command with --resume goes on from there"
# What each number may be; beyond the upper ends lies no use, only a machine brought to its knees.
BOUNDS = {
    "--episodes": (1, 100_000),
    "--seed": (0, 2**63),
    "--train-seed": (0, 2**63),
    "--train-scenarios": (0, 100_000),
    "--units": (1, 10**12),
    "--max-units": (0, 10**15),
    "--workers": (1, 256),
    "--limit": (1, 2**63),
}


def check_number(option: str, number: int | None) -> None:
    """Raises UserError if `number` lies outside the bounds of `option`."""
    least, most = BOUNDS[option]
    if number is not None and not least <= number <= most:
        raise UserError(f"{number} is out of range", where=option, mend=f"from {least} to {most}")


def check_word(option: str, word: str, known: tuple[str, str]) -> None:
    """Raises UserError if `word` is none of the `known` ones."""
    if word not in known:
        raise UserError(f"unknown value {word!r}", where=option, mend=" or ".join(known))


def check_name(name: str) -> None:
    """Raises UserError if a run of that name would stand elsewhere than in its folder."""
    if Path(name).name != name or name == "..":
        raise UserError(f"a run's name is no path: {name!r}", where="--name")


def run_path(out: Path, stem: str, resume: bool) -> Path:
    """A fresh directory for the run, or with `resume` the newest that there is."""
    check_name(stem)
    newest, path, number = None, out / stem, 1
    try:
        while path.exists():
            number += 1
            newest, path = path, out / f"{stem}-{number}"
    except OSError as error:
        raise UserError(f"cannot look there: {error.strerror}", where=str(path)) from None
    if not resume:
        return path
    if newest is None:
        raise UserError(
            f"there is no run {stem!r} to resume", where=str(out), mend="check --out and --name"
        )
    return newest
