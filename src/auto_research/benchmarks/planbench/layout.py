"""Where the PDDL files of a folder are: a PlanBench checkout, or any domain file with problems."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from auto_research.errors import UserError

_PLANBENCH_DOMAIN = "generated_domain.pddl"
_PLANBENCH_PROBLEMS = ("generated_basic", "generated")  # t1 and t7, t5
_PLANBENCH_WORLDS = (
    "blocksworld",
    "blocksworld/mystery",
    "depots",
    "logistics",
    "obfuscated_deceptive_logistics",
    "obfuscated_randomized_logistics",
)
_MEND = "name a PlanBench checkout, or a folder with a domain file and its problem files"


@dataclass(frozen=True)
class DomainFiles:
    """One domain file and its problem files; `name` is its folder under the data folder."""

    name: str
    domain: Path
    problems: tuple[Path, ...]


def find_domains(data_dir: Path) -> list[DomainFiles]:
    """The domains under `data_dir` by name. Raises UserError if there is none or a file lacks."""
    if not data_dir.is_dir():
        raise UserError("no such folder", where=str(data_dir), mend=_MEND)
    root = _root(data_dir)
    planbench = [root / w for w in _PLANBENCH_WORLDS if (root / w / _PLANBENCH_DOMAIN).is_file()]
    if planbench:
        return [_planbench(root, folder) for folder in planbench]
    found = [_plain(root, folder) for folder in _folders(root) if _domain_files(folder)]
    if not found:
        raise UserError("no PDDL domain file here", where=str(data_dir), mend=_MEND)
    return found


def _root(data_dir: Path) -> Path:
    for inner in ("plan-bench/instances", "instances"):
        if (data_dir / inner).is_dir() and not _domain_files(data_dir):
            return data_dir / inner
    return data_dir


def _planbench(root: Path, folder: Path) -> DomainFiles:
    problems = [
        path for sub in _PLANBENCH_PROBLEMS for path in sorted((folder / sub).glob("*.pddl"))
    ]
    return _named(root, folder, folder / _PLANBENCH_DOMAIN, problems)


def _plain(root: Path, folder: Path) -> DomainFiles:
    domains = _domain_files(folder)
    if len(domains) > 1:
        names = ", ".join(path.name for path in domains)
        raise UserError(
            f"{len(domains)} domain files in one folder: {names}",
            where=str(folder),
            mend="keep one domain file a folder",
        )
    inner = [f for f in _folders(folder) if f == folder or not _owned(folder, f)]
    problems = [path for f in inner for path in sorted(f.glob("*.pddl")) if path not in domains]
    return _named(root, folder, domains[0], problems)


def _named(root: Path, folder: Path, domain: Path, problems: list[Path]) -> DomainFiles:
    if not problems:
        raise UserError(
            "a domain file without problem files",
            where=str(domain),
            mend="put problem files (*.pddl) beside it or in a folder below",
        )
    name = folder.relative_to(root).as_posix()
    return DomainFiles(
        folder.name if name == "." else name, domain, tuple(sorted(problems, key=_by_number))
    )


def _owned(folder: Path, inner: Path) -> bool:
    """Whether `inner` or a folder between it and `folder` has a domain file of its own."""
    between = [inner, *inner.parents]
    return any(_domain_files(f) for f in between[: between.index(folder)])


def _domain_files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.glob("*.pddl") if "domain" in path.stem.lower())


def _folders(folder: Path) -> Iterator[Path]:
    yield folder
    yield from sorted(path for path in folder.rglob("*") if path.is_dir())


def _by_number(path: Path) -> list[tuple[int, str]]:
    """Order in which instance-3 comes before instance-17."""
    parts = re.split(r"(\d+)", path.as_posix())
    return [(int(part), "") if part.isdigit() else (0, part) for part in parts]
